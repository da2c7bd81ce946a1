/* SPDX-License-Identifier: Apache-2.0 */
/* Names of trace files: the pattern that the library expands, and the files that came of it. */
#ifndef SPILL_TRACENAME_H
#define SPILL_TRACENAME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#define SPILL_TRACENAME_MAX (PATH_MAX + 64)

/* Fills PATTERN with an absolute pattern: OUTPUT, or "spillway.PROGRAM.%p.trace" when that is NULL.
 * The program may change its folder before it writes. False, after one line, if that is impossible.
 */
bool spill_tracename_pattern(const char *output, const char *program,
                             char pattern[SPILL_TRACENAME_MAX]);

/* False, after one line, if the folder of PATTERN is not there to be written, or if PATTERN names
 * one fixed file that exists already and FORCE is not set. */
bool spill_tracename_check(const char *pattern, bool force);

/* PATTERN with PID for each %p. */
void spill_tracename_expand(const char *pattern, pid_t pid, char path[SPILL_TRACENAME_MAX]);

/* Fills PATH with the first existing one, not older than SINCE: the file of PID, else that of any
 * other process (a script that started the real program). False: none. */
bool spill_tracename_find(const char *pattern, pid_t pid, const struct timespec *since,
                          char path[SPILL_TRACENAME_MAX]);

#endif
