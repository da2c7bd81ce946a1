/* SPDX-License-Identifier: Apache-2.0 */
/* Shell patterns with * and ?, without libc's fnmatch, which may allocate. */
#ifndef SPILL_GLOB_H
#define SPILL_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Does NAME match the LENGTH letters of PATTERN, as a whole? */
bool spill_glob(const char *pattern, size_t length, const char *name);

/* Does NAME match one of the patterns of LIST, which are separated by commas? */
bool spill_glob_list(const char *list, const char *name);

#endif
