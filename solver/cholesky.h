/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse Cholesky factors of one symmetric positive definite pattern with many sets of values. */
#ifndef SPILL_CHOLESKY_H
#define SPILL_CHOLESKY_H

#include <stdbool.h>
#include <stdint.h>

#include "solver/arena.h"

struct spill_cholesky {
    uint32_t count;      /* rows */
    uint32_t *place;     /* of each row in the order of elimination */
    uint32_t *order;     /* the row at each place */
    uint64_t *col_first; /* count + 1 entries into below and lower: column of the row at a place */
    uint32_t *below;     /* places below the diagonal, ascending */
    double *lower;       /* and their values: the matrix's before spill_cholesky_factor */
    double *diagonal;    /* of each place, likewise */
    uint32_t *head, *next;
    uint64_t *cursor;
    double *column;
};

/* Orders COUNT rows by least degree, the matrix being non-zero at PAIRS[0..PAIR_COUNT) and on the
 * diagonal, and makes room for the factor. False when memory ran out, or the factor would have more
 * than FILL_MOST entries. */
bool spill_cholesky_open(struct spill_cholesky *c, uint32_t count, const uint32_t (*pairs)[2],
                         size_t pair_count, uint64_t fill_most, struct spill_arena *arena);

/* Where the value for rows A and B lies: in lower, or for A == B in diagonal. */
double *spill_cholesky_at(const struct spill_cholesky *c, uint32_t a, uint32_t b);

void spill_cholesky_clear(struct spill_cholesky *c);
/* Replaces the matrix by its factor. Rows that depend on others are left out: their unknown is 0.
 */
void spill_cholesky_factor(struct spill_cholesky *c);
/* Solves for RHS, by row, in place. */
void spill_cholesky_solve(const struct spill_cholesky *c, double *rhs);

#endif
