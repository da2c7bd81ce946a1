/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/network.h"

#include <stdbool.h>
#include <string.h>

#define NONE UINT32_MAX

enum { AT_CAPACITY = -1, IN_TREE = 0, AT_ZERO = 1 };

enum spill_status spill_network_init(struct spill_network *network, uint32_t nodes,
                                     uint32_t arcs_most, struct spill_arena *arena)
{
    size_t arcs = (size_t)arcs_most + nodes, all = (size_t)nodes + 1;

    memset(network, 0, sizeof(*network));
    network->node_count = nodes;
    network->arc_room = arcs_most;
    network->from = spill_arena_alloc(arena, arcs, sizeof(uint32_t));
    network->to = spill_arena_alloc(arena, arcs, sizeof(uint32_t));
    network->capacity = spill_arena_alloc(arena, arcs, sizeof(int64_t));
    network->cost = spill_arena_alloc(arena, arcs, sizeof(int64_t));
    network->flow = spill_arena_alloc(arena, arcs, sizeof(int64_t));
    network->state = spill_arena_alloc(arena, arcs, sizeof(int8_t));
    network->supply = spill_arena_alloc(arena, all, sizeof(int64_t));
    network->potential = spill_arena_alloc(arena, all, sizeof(int64_t));
    network->parent = spill_arena_alloc(arena, all, sizeof(uint32_t));
    network->pred = spill_arena_alloc(arena, all, sizeof(uint32_t));
    network->depth = spill_arena_alloc(arena, all, sizeof(uint32_t));
    network->child = spill_arena_alloc(arena, all, sizeof(uint32_t));
    network->next = spill_arena_alloc(arena, all, sizeof(uint32_t));
    network->prev = spill_arena_alloc(arena, all, sizeof(uint32_t));
    return arena->failed ? SPILL_ERR_NOMEM : SPILL_OK;
}

uint32_t spill_network_add(struct spill_network *network, uint32_t from, uint32_t to,
                           int64_t capacity, int64_t cost)
{
    uint32_t arc = network->arc_count++;

    network->from[arc] = from;
    network->to[arc] = to;
    network->capacity[arc] = capacity;
    network->cost[arc] = cost;
    return arc;
}

static void attach(struct spill_network *n, uint32_t node, uint32_t parent)
{
    n->parent[node] = parent;
    n->prev[node] = NONE;
    n->next[node] = n->child[parent];
    if (n->child[parent] != NONE)
        n->prev[n->child[parent]] = node;
    n->child[parent] = node;
}

static void detach(struct spill_network *n, uint32_t node)
{
    if (n->prev[node] != NONE)
        n->next[n->prev[node]] = n->next[node];
    else
        n->child[n->parent[node]] = n->next[node];
    if (n->next[node] != NONE)
        n->prev[n->next[node]] = n->prev[node];
}

/* All arcs empty, every node hangs on the root by an artificial arc that carries its supply. */
static void start(struct spill_network *n)
{
    uint32_t root = n->node_count;
    int64_t dear = 1;

    for (uint32_t a = 0; a < n->arc_count; a++) {
        int64_t cost = n->cost[a] < 0 ? -n->cost[a] : n->cost[a];

        dear = cost > dear ? cost : dear;
        n->flow[a] = 0;
        n->state[a] = AT_ZERO;
    }
    dear = dear * 4096 * (n->node_count + 1); /* above any path, though costs may yet grow */
    n->parent[root] = NONE;
    n->child[root] = NONE;
    n->depth[root] = 0;
    for (uint32_t v = 0; v < n->node_count; v++) {
        uint32_t arc = n->arc_count + v;
        bool gives = n->supply[v] >= 0;

        n->from[arc] = gives ? v : root;
        n->to[arc] = gives ? root : v;
        n->flow[arc] = gives ? n->supply[v] : -n->supply[v];
        n->capacity[arc] = SPILL_NETWORK_OPEN;
        n->cost[arc] = dear;
        n->state[arc] = IN_TREE;
        n->child[v] = NONE;
        n->pred[v] = arc;
        n->depth[v] = 1;
        attach(n, v, root);
    }
    n->cursor = 0;
    n->ready = 1;
}

/* Walks the subtree of TOP in preorder and sets potential and depth from the parents. */
static void refresh(struct spill_network *n, uint32_t top)
{
    uint32_t v = top;

    for (;;) {
        uint32_t p = n->parent[v], arc = n->pred[v];

        n->potential[v] =
            n->from[arc] == v ? n->potential[p] - n->cost[arc] : n->potential[p] + n->cost[arc];
        n->depth[v] = n->depth[p] + 1;
        if (n->child[v] != NONE) {
            v = n->child[v];
            continue;
        }
        while (v != top && n->next[v] == NONE)
            v = n->parent[v];
        if (v == top)
            return;
        v = n->next[v];
    }
}

static void refresh_all(struct spill_network *n)
{
    n->potential[n->node_count] = 0;
    for (uint32_t v = n->child[n->node_count]; v != NONE; v = n->next[v])
        refresh(n, v);
}

static int64_t reduced(const struct spill_network *n, uint32_t arc)
{
    return n->cost[arc] + n->potential[n->from[arc]] - n->potential[n->to[arc]];
}

/* The worst violated arc of the next block that has one. */
static uint32_t find_entering(struct spill_network *n)
{
    uint32_t block = 64, in_block = 0, best = NONE, a = n->cursor;
    int64_t worst = 0;

    while ((uint64_t)block * block < n->arc_count)
        block *= 2;
    for (uint32_t i = 0; i < n->arc_count; i++) {
        if (n->state[a] != IN_TREE) {
            int64_t gain = n->state[a] * reduced(n, a);

            if (gain < worst) {
                worst = gain;
                best = a;
            }
        }
        a = a + 1 == n->arc_count ? 0 : a + 1;
        if (++in_block == block) {
            in_block = 0;
            if (best != NONE)
                break;
        }
    }
    n->cursor = a;
    return best;
}

/* Pushes flow round the cycle that ARC closes and exchanges it for an arc that blocks. */
static void pivot(struct spill_network *n, uint32_t arc)
{
    bool forward = n->state[arc] == AT_ZERO;
    uint32_t first = forward ? n->from[arc] : n->to[arc];  /* flow runs first -> second on ARC */
    uint32_t second = forward ? n->to[arc] : n->from[arc]; /* and back through the tree */
    uint32_t u = first, v = second, leaving = NONE;
    int64_t delta = n->capacity[arc];
    bool leaves_first_side = false;

    /* On first's side the cycle runs down the tree to FIRST, on second's side up from SECOND. The
     * last blocking arc in the cycle's direction leaves (Cunningham's rule: no cycling). */
    while (u != v) {
        if (n->depth[u] >= n->depth[v]) {
            uint32_t e = n->pred[u];
            int64_t room = n->from[e] == u ? n->flow[e] : n->capacity[e] - n->flow[e];

            if (room < delta) {
                delta = room;
                leaving = u;
                leaves_first_side = true;
            }
            u = n->parent[u];
        } else {
            uint32_t e = n->pred[v];
            int64_t room = n->to[e] == v ? n->flow[e] : n->capacity[e] - n->flow[e];

            if (room <= delta) {
                delta = room;
                leaving = v;
                leaves_first_side = false;
            }
            v = n->parent[v];
        }
    }
    if (delta > 0) {
        n->flow[arc] += forward ? delta : -delta;
        for (uint32_t w = first; w != u; w = n->parent[w])
            n->flow[n->pred[w]] += n->from[n->pred[w]] == w ? -delta : delta;
        for (uint32_t w = second; w != u; w = n->parent[w])
            n->flow[n->pred[w]] += n->to[n->pred[w]] == w ? -delta : delta;
    }
    if (leaving == NONE) { /* the arc itself blocks: it only changes sides */
        n->state[arc] = forward ? AT_CAPACITY : AT_ZERO;
        return;
    }
    {
        uint32_t out = n->pred[leaving];
        uint32_t below = leaves_first_side ? first : second;
        uint32_t above = leaves_first_side ? second : first;
        uint32_t node = below, parent = above, through = arc;

        n->state[out] = n->flow[out] == 0 ? AT_ZERO : AT_CAPACITY;
        n->state[arc] = IN_TREE;
        /* Turn the path below .. leaving round. */
        for (;;) {
            uint32_t up = n->parent[node], old = n->pred[node];
            bool done = node == leaving;

            detach(n, node);
            attach(n, node, parent);
            n->pred[node] = through;
            if (done)
                break;
            parent = node;
            through = old;
            node = up;
        }
        refresh(n, below);
    }
}

enum spill_status spill_network_solve(struct spill_network *network, int64_t pivots_most)
{
    uint32_t arc;

    if (!network->ready)
        start(network);
    refresh_all(network);
    for (network->pivots = 0; network->pivots < pivots_most; network->pivots++) {
        arc = find_entering(network);
        if (arc == NONE)
            break;
        pivot(network, arc);
    }
    for (uint32_t v = 0; v < network->node_count; v++)
        if (network->flow[network->arc_count + v] != 0)
            return SPILL_ERR_INFEASIBLE;
    return SPILL_OK;
}
