/* SPDX-License-Identifier: Apache-2.0 */
/* Where things are: programs, and our own library. */
#ifndef SPILL_LOCATE_H
#define SPILL_LOCATE_H

#include <limits.h>
#include <stdbool.h>

extern const char spill_locate_library_name[];

/* Fills PATH with the file that execvp would run for NAME. 0, or the errno it would fail with. */
int spill_locate_program(const char *name, char path[PATH_MAX]);

/* Finds the library: beside this executable (a build folder), else in ../lib/spillway (installed).
 * Fills DIR with the folder that holds it. False, after one line, when it is nowhere. */
bool spill_locate_library(char dir[PATH_MAX]);

#endif
