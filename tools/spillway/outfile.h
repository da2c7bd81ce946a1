/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's data goes: standard output, or a file that appears whole or not at all. */
#ifndef SPILL_OUTFILE_H
#define SPILL_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct spill_outfile {
    FILE *out;
    char path[PATH_MAX];
    char *temporary; /* renamed to path in the end; NULL: written directly */
};

/* NAME NULL or "-" is standard output; otherwise %p, %h, %r and %q{NAME} in it are replaced (see
 * preload/base/outname.h). False, after one line, when it cannot be written, or
 * exists and FORCE is not set. */
bool spill_outfile_open(struct spill_outfile *file, const char *name, bool force);

/* Completes the file. If WRITTEN is false, or the rest cannot be written, it does not appear;
 * false, after one line. */
bool spill_outfile_close(struct spill_outfile *file, bool written);

/* Gives the file up without a word: what was to be written is not there. */
void spill_outfile_discard(struct spill_outfile *file);

#endif
