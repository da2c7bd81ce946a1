/* SPDX-License-Identifier: Apache-2.0 */
/* A row of numbers, one an op: add to a range, ask for the largest of a range or the last that is
 * too large, and take out the entries that have sunk to zero or below. All in logarithmic time
 * (segment tree with pending additions). */
#ifndef SPILL_RANGES_H
#define SPILL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "solver/arena.h"

struct spill_ranges {
    uint32_t count, leaves; /* leaves: a power of two */
    int64_t *most, *least, *pending;
};

#define SPILL_RANGES_NONE (INT64_MIN / 4)

/* All entries 0. */
bool spill_ranges_open(struct spill_ranges *ranges, uint32_t count, struct spill_arena *arena);
/* Adds DELTA to COUNT entries from FIRST, wrapping round at the end. */
void spill_ranges_add(struct spill_ranges *ranges, uint32_t first, uint32_t count, int64_t delta);
/* The largest of those entries that have not been taken out; SPILL_RANGES_NONE when there is none.
 */
int64_t spill_ranges_most(struct spill_ranges *ranges, uint32_t first, uint32_t count);
/* The last of entries [FIRST, END), END <= count, that is above LIMIT; UINT32_MAX when none is. */
uint32_t spill_ranges_last_above(struct spill_ranges *ranges, uint32_t first, uint32_t end,
                                 int64_t limit);
/* Takes out an entry that is zero or less and says which; UINT32_MAX when there is none. */
uint32_t spill_ranges_take_low(struct spill_ranges *ranges);

#endif
