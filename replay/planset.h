/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of an engine: a program that trains and evaluates, or whose sequences have several
 * lengths, has an iteration of each kind. One plan is in force at a time. Another one takes over
 * where an iteration of its kind begins, or where two kinds that begin alike part; frames and
 * address ranges serve all of them. */
#ifndef SPILL_PLANSET_H
#define SPILL_PLANSET_H

#include "preload/base/sink.h"
#include "profiler/recorder.h"
#include "replay/perform.h"

#define SPILL_PLANS 4

struct spill_planned {
    struct spill_perform perform; /* script NULL: a free place */
    uint64_t sum;                 /* spill_border_sum of its iteration */
    uint64_t used;                /* when it was last taken up: the least goes first */
    uint32_t stat;                /* its number in the account */
    uint64_t expected_ns;         /* a step: as predicted, or by what was measured since */
    uint32_t rounds;              /* of feedback */
    uint32_t common[SPILL_PLANS]; /* events that it and another plan of the set begin with */
    uint32_t cursor;              /* while another one, or none, is in force: events seen of it */
    bool hit;                     /* the event that happens now is the next of these */
    bool wary; /* it was left in its first iteration: it is to be seen from end to end, first */
};

/* What the program does, beyond what the plans have in common with the log. */
struct spill_event {
    enum spill_log_kind kind;
    const struct spill_opcall *op; /* OP: what it touches is in the engine's touches */
    uint64_t bytes;                /* ALLOC */
    uint32_t slot;                 /* FREE: of the buffer table */
};

struct spill_engine;

/* Is OP, whatever it touches, as PLANNED? */
static inline bool spill_planset_same_op(const struct spill_script_op *planned,
                                         const struct spill_opcall *op, uint32_t touches)
{
    if (planned->function != op->function || planned->stream != op->stream ||
        planned->kind != op->kind || planned->bytes != op->bytes ||
        planned->touches.count != touches)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (planned->grid[i] != op->grid[i] || planned->block[i] != op->block[i])
            return false;
    return true;
}

/* EVENT comes. True: a plan is in force that expects it, maybe another than before. False: none is;
 * it is watched for where it may lead. */
bool spill_planset_expects(struct spill_engine *e, const struct spill_event *event);
/* What was watched for happened, or FAILED. At the end of an iteration its plan may be taken up. */
void spill_planset_happened(struct spill_engine *e, bool failed);
/* The iteration SUM has repeated up to here. True: its plan is there already, and in force again.
 */
bool spill_planset_resume(struct spill_engine *e, uint64_t sum);
/* Nothing that was seen so far leads anywhere. */
void spill_planset_restart(struct spill_engine *e);

/* The buffer of the plan that the allocation watched for now would be, and whose; NULL: none. */
const struct spill_script_buffer *spill_planset_alloc(const struct spill_engine *e,
                                                      const struct spill_script **script);

/* A place for a plan of the iteration SUM: a free one, or that of a plan that is no longer needed.
 */
struct spill_planned *spill_planset_place(struct spill_engine *e, uint64_t sum);
/* Before PLAN is placed: buffers that it and another plan allocate alike get the same addresses. */
void spill_planset_share(struct spill_engine *e, struct spill_planned *plan,
                         struct spill_script *script);
/* Gives up the plan that was not used for longest, KEPT apart; false: there is none. */
bool spill_planset_shed(struct spill_engine *e, const struct spill_planned *kept);
void spill_planset_end(struct spill_engine *e);

#endif
