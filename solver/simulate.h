/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the referee: plays a plan's event order until its timing repeats. */
#ifndef SPILL_SIMULATE_H
#define SPILL_SIMULATE_H

#include <stdint.h>

#include "solver/check.h"
#include "solver/prep.h"
#include "solver/stays.h"

/* What happens when in one steady iteration, counted from the start of its op 0. Copies are those
 * that the iteration launches: one with in_op near the start may belong to an out_op of the one
 * before. */
struct spill_timeline {
    uint64_t *op_start;                                /* op_count entries */
    uint64_t *out_start, *out_end, *in_start, *in_end; /* by move index */
};

/* What each item of the three queues waits for. Queues are FIFO, so a wait on several copies is a
 * wait on the last of them. An index counts from the item's own iteration (negative: the one
 * before). */
#define SPILL_NO_WAIT INT64_MIN
struct spill_waits {
    int64_t *op_in;  /* op k: last copy in it needs */
    int64_t *op_out; /* op k: last copy out whose memory it needs */
    int64_t *in_out; /* copy in i (in in_order's order): last copy out it needs */
    int64_t *in_op;  /* ... and the last op whose end it needs */
};

/* Allocates WAITS and enters the waits that data alone makes: a copy in after its copy out, an op
 * after its copies in. The waits for memory are the caller's to raise. */
bool spill_waits_of_data(struct spill_waits *waits, const struct spill_prep *prep,
                         const struct spill_plan *plan, struct spill_arena *arena);

/* Index of copy out M as seen by an item of op AT that comes DELTA ops after M's out_op. */
int64_t spill_waits_index(const struct spill_plan *plan, uint32_t m, uint32_t at, uint32_t delta);
void spill_waits_raise(int64_t *slot, int64_t value);

/* Allocates the tables of TIMELINE, which the simulators then fill. */
bool spill_timeline_open(struct spill_timeline *timeline, uint32_t ops, uint32_t moves,
                         struct spill_arena *arena);

/* Plays PLAN under WAITS until the timing repeats; see spill_simulate. */
enum spill_status spill_simulate_waits(const struct spill_prep *prep, const struct spill_plan *plan,
                                       const struct spill_waits *waits,
                                       struct spill_timeline *timeline,
                                       struct spill_outcome *outcome, struct spill_arena *arena);

/* Simulates PLAN, whose STAYS are disjoint in every frame. Fills TIMELINE and the times of
 * OUTCOME; ARENA is for scratch. SPILL_ERR_INFEASIBLE: a wait never ends, which the rules on moves
 * should have excluded. */
enum spill_status spill_simulate(const struct spill_prep *prep, const struct spill_plan *plan,
                                 const struct spill_stays *stays, struct spill_timeline *timeline,
                                 struct spill_outcome *outcome, struct spill_arena *arena);

#endif
