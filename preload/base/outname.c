/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/outname.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/rank.h"

enum { NAME_ROOM = 128, HOST_ROOM = 65 };

enum spill_outname_kind spill_outname_next(const char *pattern, size_t *len)
{
    *len = 1;
    if (pattern[0] != '%')
        return SPILL_OUTNAME_LETTER;
    *len = 2;
    switch (pattern[1]) {
    case '%':
        return SPILL_OUTNAME_LETTER;
    case 'p':
        return SPILL_OUTNAME_PROCESS;
    case 'h':
        return SPILL_OUTNAME_HOST;
    case 'r':
        return SPILL_OUTNAME_RANK;
    case 'q': {
        const char *end = pattern[2] == '{' ? strchr(pattern, '}') : NULL;
        if (end == NULL || end == pattern + 3 || end - pattern > NAME_ROOM)
            break;
        *len = (size_t)(end - pattern) + 1;
        return SPILL_OUTNAME_VARIABLE;
    }
    default:
        break;
    }
    *len = 1;
    return SPILL_OUTNAME_LETTER;
}

static bool append(char *out, size_t out_len, size_t *used, const char *text, size_t len)
{
    if (len >= out_len - *used)
        return false;
    memcpy(out + *used, text, len);
    *used += len;
    out[*used] = '\0';
    return true;
}

/* A value may hold anything, also a way out of the folder that was meant. */
static bool append_variable(char *out, size_t out_len, size_t *used, const char *name, size_t len)
{
    char text[NAME_ROOM + 1];
    size_t from = *used;
    memcpy(text, name, len);
    text[len] = '\0';
    const char *value = secure_getenv(text);
    if (value != NULL && !append(out, out_len, used, value, strlen(value)))
        return false;
    for (size_t i = from; i < *used; i++)
        if (out[i] == '/')
            out[i] = '_';
    return true;
}

static bool insert_rank(char *out, size_t out_len, const char *rank)
{
    size_t used = strlen(out), len = strlen(rank) + 1;
    if (used + len >= out_len)
        return false;
    char *slash = strrchr(out, '/'), *dot = strrchr(out, '.');
    if (dot == NULL || dot == out || (slash != NULL && dot <= slash + 1))
        dot = out + used;
    memmove(dot + len, dot, strlen(dot) + 1);
    *dot = '.';
    memcpy(dot + 1, rank, len - 1);
    return true;
}

bool spill_outname_expand(const char *pattern, int pid, char *out, size_t out_len)
{
    char number[24], host[HOST_ROOM] = "";
    const char *rank = spill_rank_text();
    size_t used = 0, len;
    bool fits = true;
    out[0] = '\0';
    for (; fits && *pattern != '\0'; pattern += len) {
        enum spill_outname_kind kind = spill_outname_next(pattern, &len);
        if (kind == SPILL_OUTNAME_LETTER) {
            fits = append(out, out_len, &used, pattern, 1);
        } else if (kind == SPILL_OUTNAME_PROCESS) {
            fits =
                append(out, out_len, &used, number, spill_fmt(number, sizeof(number), "%d", pid));
        } else if (kind == SPILL_OUTNAME_HOST) {
            (void)gethostname(host, sizeof(host) - 1);
            fits = append(out, out_len, &used, host, strlen(host));
        } else if (kind == SPILL_OUTNAME_RANK) {
            fits = append(out, out_len, &used, rank != NULL ? rank : "0",
                          rank != NULL ? strlen(rank) : 1);
        } else {
            fits = append_variable(out, out_len, &used, pattern + 3, len - 4);
        }
    }
    return fits;
}

static bool is_distinct(const char *pattern)
{
    for (size_t len; *pattern != '\0'; pattern += len) {
        enum spill_outname_kind kind = spill_outname_next(pattern, &len);
        if (kind != SPILL_OUTNAME_LETTER && kind != SPILL_OUTNAME_HOST)
            return true;
    }
    return false;
}

bool spill_outname_expand_ranked(const char *pattern, int pid, char *out, size_t out_len)
{
    const char *rank = spill_rank_text();
    if (!spill_outname_expand(pattern, pid, out, out_len))
        return false;
    return rank == NULL || spill_rank_world() < 2 || is_distinct(pattern) ||
           insert_rank(out, out_len, rank);
}
