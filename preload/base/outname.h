/* SPDX-License-Identifier: Apache-2.0 */
/* Names of output files, in which the library and the command put
 *   %p        the process number
 *   %h        the machine's name
 *   %r        the rank (rank.h), 0 when there is none
 *   %q{NAME}  the value of the environment variable NAME, with _ for each /
 *   %%        %
 * Any other % stays as it is. */
#ifndef SPILL_OUTNAME_H
#define SPILL_OUTNAME_H

#include <stdbool.h>
#include <stddef.h>

enum spill_outname_kind {
    SPILL_OUTNAME_LETTER, /* stands for itself; of "%%", for % */
    SPILL_OUTNAME_PROCESS,
    SPILL_OUTNAME_HOST,
    SPILL_OUTNAME_RANK,
    SPILL_OUTNAME_VARIABLE
};

/* What PATTERN begins with; *LEN: its bytes there. */
enum spill_outname_kind spill_outname_next(const char *pattern, size_t *len);

/* Writes PATTERN for the process PID into OUT. False: OUT_LEN bytes are too few. */
bool spill_outname_expand(const char *pattern, int pid, char *out, size_t out_len);

/* The same for a file that each process of a job writes: one of several ranks whose PATTERN tells
 * no two of them apart (no %p, %r or %q) gets its rank before the last dot: x.trace, x.3.trace. */
bool spill_outname_expand_ranked(const char *pattern, int pid, char *out, size_t out_len);

#endif
