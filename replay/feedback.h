/* SPDX-License-Identifier: Apache-2.0 */
/* From what a plan achieves back to the plan. Steps that take longer than predicted, several in a
 * row, have two iterations sampled; what ops and copies took there corrects durations and link
 * rates, and with these the helper thread plans anew while the old plan goes on. The new plan
 * replaces it at a border if, under the same corrected figures, it is enough better to pay soon for
 * its coming into force. Each time the next one needs longer, and after a few there is none. */
#ifndef SPILL_FEEDBACK_H
#define SPILL_FEEDBACK_H

#include "replay/sample.h"

struct spill_engine;

enum spill_feedback_phase {
    SPILL_FEEDBACK_WATCHING, /* step times against the expected one */
    SPILL_FEEDBACK_SAMPLING, /* the iteration that goes on is sampled */
    SPILL_FEEDBACK_READING,  /* it is over on the host, perhaps not on the device */
    SPILL_FEEDBACK_PLANNING
};

struct spill_feedback {
    enum spill_feedback_phase phase;
    uint32_t rest;   /* iterations that do not count yet */
    uint32_t timed;  /* steps that were timed, */
    uint64_t sum_ns; /* and what they took together */
    uint64_t achieved_ns;
    uint32_t tries; /* borders at which the sample was not all there; the answer was waited for */
    bool asked;     /* the planner works for this; also when nobody wants the answer any more */
    struct spill_sample sample;
};

/* A plan came into force, or was left: what was begun is of no use. */
void spill_feedback_restart(struct spill_engine *e);
/* A replayed iteration ended. The plan may be another one afterwards. */
void spill_feedback_border(struct spill_engine *e);
/* Nobody wants the answer any more. False: the planner is still busy with it. */
bool spill_feedback_drop(struct spill_engine *e);

#endif
