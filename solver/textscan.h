/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines of words and numbers, and says in one line what is wrong with one of them. */
#ifndef SPILL_TEXTSCAN_H
#define SPILL_TEXTSCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/base/status.h"

struct spill_textscan {
    const char *at, *end; /* what is left of the line */
    const char *next;     /* the line after it */
    const char *text_end; /* of the text, which needs no terminator */
    const char *word;     /* the last word read, */
    size_t word_len;      /* not terminated */
    uint32_t line;        /* its number, from 1 */
    char *complaint;      /* what was wrong first; may be NULL */
    size_t complaint_len;
};

void spill_textscan_open(struct spill_textscan *scan, const char *text, size_t length,
                         char *complaint, size_t complaint_len);

/* Notes "line N: ..." and is SPILL_ERR_FORMAT. */
enum spill_status spill_textscan_complain(struct spill_textscan *scan, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with the last word before the text, its unprintable bytes as '?'. */
enum spill_status spill_textscan_reject(struct spill_textscan *scan, const char *why);

/* The next line that has a word and is no comment (#). SPILL_ERR_NOT_FOUND at the end of the text,
 * SPILL_ERR_FORMAT where a line has control characters. */
enum spill_status spill_textscan_line(struct spill_textscan *scan);

/* The first word of a line, if it is one letter; else '\0'. */
char spill_textscan_letter(struct spill_textscan *scan);
/* The next word of the line; WHAT is its name in the complaint that it is missing. */
enum spill_status spill_textscan_word(struct spill_textscan *scan, const char *what);
/* A whole number of at most MOST. */
enum spill_status spill_textscan_number(struct spill_textscan *scan, const char *what,
                                        uint64_t most, uint64_t *value);
/* A time in microseconds with up to any number of decimals, of which three count. */
enum spill_status spill_textscan_time(struct spill_textscan *scan, const char *what, uint64_t *ns);
/* That the line ends here. */
enum spill_status spill_textscan_end(struct spill_textscan *scan);

/* Digits from AT on, before END, as a number of at most MOST; NULL when there are none or it is
 * larger. */
const char *spill_textscan_digits(const char *at, const char *end, uint64_t most, uint64_t *value);

#endif
