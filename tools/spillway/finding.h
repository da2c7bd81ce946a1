/* SPDX-License-Identifier: Apache-2.0 */
/* What an examination found: a list of lines, each fine, noteworthy or a problem, with its cure. */
#ifndef SPILL_FINDING_H
#define SPILL_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/spillway/outoptions.h"

enum spill_finding_level {
    SPILL_FINDING_OK,
    SPILL_FINDING_WARN, /* works, but worse than it could */
    SPILL_FINDING_BAD   /* does not work */
};

struct spill_finding {
    enum spill_finding_level level;
    const char *topic; /* one word, of static lifetime */
    char *text;
    char *cure; /* NULL: needs none */
};

struct spill_findings {
    struct spill_finding *list;
    size_t count;
    bool lost; /* memory ran out: the list is not complete */
};

/* Adds a finding; FORMAT and what follows say what was found. CURE may be NULL. */
void spill_finding_add(struct spill_findings *all, enum spill_finding_level level,
                       const char *topic, const char *cure, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

enum spill_finding_level spill_finding_worst(const struct spill_findings *all);

/* A line a finding, its cure below, and a line that counts them; in colours if OUT is a terminal
 * and NO_COLOR is not set (https://no-color.org). False if OUT could not be written. */
bool spill_finding_print(const struct spill_findings *all, FILE *out);

/* {"schema": 1, "worst": ..., "findings": [{"level", "topic", "text", "cure"}]} */
bool spill_finding_json(const struct spill_findings *all, FILE *out);

/* Writes ALL to where OUT says, in the form it says, and frees it. The exit status that follows: 2
 * not written, 1 a problem is among them, 0. */
int spill_finding_answer(struct spill_findings *all, const struct spill_outoptions *out);

void spill_finding_free(struct spill_findings *all);

#endif
