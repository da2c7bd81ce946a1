/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that must be ordered when a script runs, as pairs (consumer, source):
 *   - an op that touches a moved buffer after the gap comes after the copy in;
 *   - a copy out comes after the ops that touched the buffer before the gap;
 *   - a copy in comes after its own copy out (the data), and after the frame's previous stay;
 *   - the first ops of a newborn buffer come after the previous stays of its frames;
 *   - a copy out comes after the copies in that read what its place in host memory held before.
 * Consumers and sources share one numbering: ops, then copies out, then copies in. */
#ifndef SPILL_ORDERING_H
#define SPILL_ORDERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/script.h"

struct spill_ordering_pair {
    uint32_t consumer;
    uint32_t source;
    uint64_t age; /* of the source when the consumer comes, in host-order positions */
    bool wait;    /* chosen by waits.c */
};

struct spill_ordering {
    const struct spill_script *script;
    const struct spill_problem *problem;
    uint32_t op_count, move_count;
    uint32_t streams;                  /* the program's, then ours: out, in */
    struct spill_ordering_pair *pairs; /* by consumer; the youngest source first, each pair once */
    size_t pair_count, pair_cap;
};

/* Lists the pairs of SCRIPT. Release with spill_ordering_free, also after a failure. */
enum spill_status spill_ordering_build(struct spill_ordering *ordering,
                                       const struct spill_script *script,
                                       const struct spill_problem *problem);
void spill_ordering_free(struct spill_ordering *ordering);

/* The stream on which ID is enqueued. */
uint32_t spill_ordering_stream(const struct spill_ordering *ordering, uint32_t id);

#endif
