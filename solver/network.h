/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum-cost flow by the network simplex method (Dantzig; block pricing as in Király and Kovács,
 * "Efficient implementations of minimum-cost flow algorithms", 2012, arXiv:1207.6381). Costs may be
 * changed between calls: the last basis is kept, so a few pivots repair the optimum. */
#ifndef SPILL_NETWORK_H
#define SPILL_NETWORK_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"

struct spill_network {
    uint32_t node_count, arc_count, arc_room;
    uint32_t *from, *to;
    int64_t *capacity, *cost; /* capacity >= 0; SPILL_NETWORK_OPEN is no limit */
    int64_t *flow;            /* after spill_network_solve */
    int64_t *supply;          /* of each node; their sum is 0 */
    int64_t *potential; /* of each node: cost + potential[from] - potential[to] >= 0 off bound */
    /* the spanning tree; node_count is the root, arcs from arc_count on are artificial */
    uint32_t *parent, *pred, *depth, *child, *next, *prev;
    int8_t *state; /* of an arc: at 0, in the tree, at capacity */
    int64_t pivots;
    uint32_t cursor;
    int ready;
};

#define SPILL_NETWORK_OPEN (INT64_MAX / 4)

enum spill_status spill_network_init(struct spill_network *network, uint32_t nodes,
                                     uint32_t arcs_most, struct spill_arena *arena);
/* Index of the new arc. */
uint32_t spill_network_add(struct spill_network *network, uint32_t from, uint32_t to,
                           int64_t capacity, int64_t cost);
/* Optimises, with at most PIVOTS_MOST pivots. SPILL_ERR_INFEASIBLE: supplies cannot be met (or
 * pivots ran out before they were). The potentials are always those of the last tree, so a bound
 * from them by weak duality holds whether or not the optimum was reached. */
enum spill_status spill_network_solve(struct spill_network *network, int64_t pivots_most);

#endif
