/* SPDX-License-Identifier: Apache-2.0 */
/* What each link, and the GPU's waiting, do over the time of one iteration under a plan. */
#ifndef SPILL_LANES_H
#define SPILL_LANES_H

#include "tools/spillway/planrow.h"

enum { SPILL_LANES_SPANS = 1000 }; /* most a lane has */

struct spill_lanespan {
    uint64_t from_ns, to_ns;
    uint32_t permille; /* of the span in which the lane is busy */
};

struct spill_lane {
    struct spill_lanespan *spans;
    uint32_t count;
    bool decimated; /* the spans are slices of the iteration, not single copies */
    uint64_t busy_ns;
};

/* Copies to the host, copies to the GPU, and when no op runs because it waits. */
enum spill_lanes_which { SPILL_LANES_OUT, SPILL_LANES_IN, SPILL_LANES_WAIT, SPILL_LANES_COUNT };

/* Releases what it has built when it fails; otherwise spill_lanes_free does. */
enum spill_status spill_lanes_build(const struct spill_keptplan *planned,
                                    struct spill_lane lanes[SPILL_LANES_COUNT]);
void spill_lanes_free(struct spill_lane lanes[SPILL_LANES_COUNT]);

#endif
