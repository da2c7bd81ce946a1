/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/jsoncheck.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 32 };

/* Each of these takes what it is named after off *AT; false: it is not there. */
static bool take_value(const char **at, int depth);

static void take_space(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool take_text(const char **at)
{
    if (**at != '"')
        return false;
    (*at)++;
    for (; **at != '"'; (*at)++) {
        if ((unsigned char)**at < 0x20)
            return false; /* the end, too */
        if (**at != '\\')
            continue;
        (*at)++;
        if (**at == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++(*at)))
                    return false;
        } else if (**at == '\0' || strchr("\"\\/bfnrt", **at) == NULL) {
            return false;
        }
    }
    (*at)++;
    return true;
}

static bool take_digits(const char **at)
{
    size_t digits = strspn(*at, "0123456789");
    *at += digits;
    return digits > 0;
}

static bool take_number(const char **at)
{
    *at += **at == '-';
    bool zero = **at == '0';
    const char *from = *at;
    if (!take_digits(at) || (zero && *at - from > 1))
        return false;
    if (**at == '.') {
        (*at)++;
        if (!take_digits(at))
            return false;
    }
    if (**at != 'e' && **at != 'E')
        return true;
    (*at)++;
    *at += **at == '+' || **at == '-';
    return take_digits(at);
}

/* An object or an array, which ends in CLOSING. */
static bool take_list(const char **at, char closing, int depth)
{
    (*at)++;
    take_space(at);
    if (**at == closing) {
        (*at)++;
        return true;
    }
    for (;;) {
        if (closing == '}') {
            take_space(at);
            if (!take_text(at))
                return false;
            take_space(at);
            if (**at != ':')
                return false;
            (*at)++;
        }
        if (!take_value(at, depth + 1))
            return false;
        char next = **at;
        if (next != closing && next != ',')
            return false;
        (*at)++;
        if (next == closing)
            return true;
    }
}

static bool take_value(const char **at, int depth)
{
    static const char *const words[] = {"true", "false", "null"};
    bool good = false;
    take_space(at);
    if (depth > DEEPEST)
        return false;
    if (**at == '{')
        good = take_list(at, '}', depth);
    else if (**at == '[')
        good = take_list(at, ']', depth);
    else if (**at == '"')
        good = take_text(at);
    else if (**at == '-' || isdigit((unsigned char)**at))
        good = take_number(at);
    for (int i = 0; !good && i < 3; i++)
        if (strncmp(*at, words[i], strlen(words[i])) == 0) {
            *at += strlen(words[i]);
            good = true;
        }
    if (good)
        take_space(at);
    return good;
}

bool spill_jsoncheck(const char *text)
{
    return take_value(&text, 0) && *text == '\0';
}
