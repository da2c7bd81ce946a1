/* SPDX-License-Identifier: Apache-2.0 */
/* Linear programs by an interior-point method: least COST x with A x = RHS, 0 <= x <= UPPER. */
#ifndef SPILL_INTERIOR_H
#define SPILL_INTERIOR_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"

#define SPILL_INTERIOR_OPEN 1e300 /* upper bound of a variable that has none */

struct spill_interior {
    uint32_t row_count, col_count;
    uint32_t *col_first; /* col_count + 1 entries into row and value */
    uint32_t *row;       /* each at most once a column */
    double *value;
    double *cost, *upper; /* upper > 0 */
    double *rhs;
    double *x; /* out */
    double *y; /* out: price of each row */
    uint32_t rounds;
};

/* Opens an empty program with room for COLS columns of ENTRIES entries together. */
enum spill_status spill_interior_open(struct spill_interior *lp, uint32_t rows, uint32_t cols,
                                      uint32_t entries, struct spill_arena *arena);
/* Begins the next column; its entries follow. Returns its number. */
uint32_t spill_interior_column(struct spill_interior *lp, double cost, double upper);
void spill_interior_entry(struct spill_interior *lp, uint32_t row, double value);

/* Solves to a relative ACCURACY in at most ROUNDS_MOST rounds; x and y are those of the last. They
 * are near the optimum, not at it: a bound must be computed from y by weak duality.
 * SPILL_ERR_NOMEM: also when the rows are too entangled to be worth it. */
enum spill_status spill_interior_solve(struct spill_interior *lp, double accuracy,
                                       uint32_t rounds_most, struct spill_arena *arena);

#endif
