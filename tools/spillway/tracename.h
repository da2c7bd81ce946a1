/* SPDX-License-Identifier: Apache-2.0 */
/* Names of trace files: the pattern that the library expands, and the files that came of it. */
#ifndef SPILL_TRACENAME_H
#define SPILL_TRACENAME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define SPILL_TRACENAME_MAX (PATH_MAX + 64)

/* Fills PATTERN with an absolute pattern: OUTPUT, or "spillway.PROGRAM.%p.trace" when that is NULL
 * (of one of several ranks "spillway.PROGRAM.%r.%p.trace"). The program may change its folder
 * before it writes. False, after one line, if that is impossible.
 */
bool spill_tracename_pattern(const char *output, const char *program,
                             char pattern[SPILL_TRACENAME_MAX]);

/* False, after one line, if the folder of PATTERN is not there to be written, or if PATTERN names
 * one fixed file that exists already and FORCE is not set. */
bool spill_tracename_check(const char *pattern, bool force);

struct spill_tracename_list {
    char **paths;
    size_t count;
};

/* Fills LIST with the files not older than SINCE that can have come of PATTERN: that of PID, and
 * those of other processes (a script's child that was the real program, ranks), by name. False:
 * none. Free it with spill_tracename_free in either case. */
bool spill_tracename_find(const char *pattern, pid_t pid, const struct timespec *since,
                          struct spill_tracename_list *list);
void spill_tracename_free(struct spill_tracename_list *list);

#endif
