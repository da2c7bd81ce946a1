/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/textscan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TIME_MOST_US UINT64_C(1000000000000) /* eleven days */

enum { SHOWN = 24 };

void spill_textscan_open(struct spill_textscan *scan, const char *text, size_t length,
                         char *complaint, size_t complaint_len)
{
    *scan = (struct spill_textscan){.next = text,
                                    .text_end = text + length,
                                    .complaint = complaint,
                                    .complaint_len = complaint_len};
    if (complaint != NULL && complaint_len > 0)
        complaint[0] = '\0';
}

enum spill_status spill_textscan_complain(struct spill_textscan *scan, const char *format, ...)
{
    va_list args;
    int used;

    if (scan->complaint == NULL || scan->complaint_len == 0)
        return SPILL_ERR_FORMAT;
    used = snprintf(scan->complaint, scan->complaint_len, "line %u: ", scan->line);
    va_start(args, format);
    if (used >= 0 && (size_t)used < scan->complaint_len)
        vsnprintf(scan->complaint + used, scan->complaint_len - (size_t)used, format, args);
    va_end(args);
    return SPILL_ERR_FORMAT;
}

enum spill_status spill_textscan_reject(struct spill_textscan *scan, const char *why)
{
    char shown[SHOWN + 4];
    size_t length = scan->word_len < SHOWN ? scan->word_len : SHOWN;

    for (size_t i = 0; i < length; i++)
        shown[i] = scan->word[i] > ' ' && scan->word[i] < 127 ? scan->word[i] : '?';
    strcpy(shown + length, length < scan->word_len ? "..." : "");
    return spill_textscan_complain(scan, "'%s' %s", shown, why);
}

static void skip_blanks(struct spill_textscan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r'))
        scan->at++;
}

enum spill_status spill_textscan_line(struct spill_textscan *scan)
{
    while (scan->next < scan->text_end) {
        size_t left = (size_t)(scan->text_end - scan->next);
        const char *feed = memchr(scan->next, '\n', left);

        scan->line++;
        scan->at = scan->next;
        scan->end = feed != NULL ? feed : scan->text_end;
        scan->next = feed != NULL ? feed + 1 : scan->text_end;
        for (const char *c = scan->at; c < scan->end; c++)
            if (((unsigned char)*c < ' ' && *c != '\t' && *c != '\r') || *c == 127)
                return spill_textscan_complain(scan, "it has control characters: not text");
        skip_blanks(scan);
        if (scan->at < scan->end && *scan->at != '#')
            return SPILL_OK;
    }
    return SPILL_ERR_NOT_FOUND;
}

enum spill_status spill_textscan_word(struct spill_textscan *scan, const char *what)
{
    skip_blanks(scan);
    scan->word = scan->at;
    while (scan->at < scan->end && *scan->at != ' ' && *scan->at != '\t' && *scan->at != '\r')
        scan->at++;
    scan->word_len = (size_t)(scan->at - scan->word);
    if (scan->word_len == 0)
        return spill_textscan_complain(scan, "%s is missing", what);
    return SPILL_OK;
}

char spill_textscan_letter(struct spill_textscan *scan)
{
    return spill_textscan_word(scan, "a letter") == SPILL_OK && scan->word_len == 1 ? *scan->word
                                                                                    : '\0';
}

const char *spill_textscan_digits(const char *at, const char *end, uint64_t most, uint64_t *value)
{
    const char *first = at;

    for (*value = 0; at < end && *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (*value > (most - (digit <= most ? digit : most)) / 10 || digit > most)
            return NULL;
        *value = *value * 10 + digit;
    }
    return at == first ? NULL : at;
}

enum spill_status spill_textscan_number(struct spill_textscan *scan, const char *what,
                                        uint64_t most, uint64_t *value)
{
    enum spill_status status = spill_textscan_word(scan, what);
    char why[96];

    if (status != SPILL_OK || spill_textscan_digits(scan->word, scan->at, most, value) == scan->at)
        return status;
    snprintf(why, sizeof(why), "is not %s: a whole number up to %llu", what,
             (unsigned long long)most);
    return spill_textscan_reject(scan, why);
}

enum spill_status spill_textscan_time(struct spill_textscan *scan, const char *what, uint64_t *ns)
{
    enum spill_status status = spill_textscan_word(scan, what);
    const char *at;
    uint64_t us, unit = 100;
    char why[96];

    if (status != SPILL_OK)
        return status;
    at = spill_textscan_digits(scan->word, scan->at, TIME_MOST_US, &us);
    *ns = us * 1000;
    if (at != NULL && at < scan->at && *at == '.')
        for (at++; at < scan->at && *at >= '0' && *at <= '9'; at++, unit /= 10)
            *ns += unit * (uint64_t)(*at - '0');
    if (at == scan->at)
        return SPILL_OK;
    snprintf(why, sizeof(why), "is not %s: microseconds up to %llu", what,
             (unsigned long long)TIME_MOST_US);
    return spill_textscan_reject(scan, why);
}

enum spill_status spill_textscan_end(struct spill_textscan *scan)
{
    skip_blanks(scan);
    if (scan->at == scan->end)
        return SPILL_OK;
    scan->word = scan->at;
    scan->word_len = (size_t)(scan->end - scan->at);
    return spill_textscan_reject(scan, "does not belong at the end of the line");
}
