/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the program's executable graphs, by their handle: the addresses that their nodes
 * hold, as the hook layer read them when the graph was instantiated, updated or changed. Addresses,
 * not buffers: whose they are is looked up at each launch, for memory may be freed and given out
 * again meanwhile. Inside the turnstile only. */
#ifndef SPILL_GRAPHS_H
#define SPILL_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/sink.h"

/* An address in managed memory that nodes hold; one for each of its pages. */
struct spill_graph_word {
    uint64_t addr;
    uint32_t mode; /* enum spill_access_mode */
    uint32_t held; /* SPILLWAY_PIN: what it is of stays on the GPU */
};

/* What a graph does, whatever to: equal ones are the same op when they come again, though the graph
 * was instantiated anew. Stays valid. */
struct spill_graph_shape {
    uint64_t hash; /* of its nodes: kinds, functions, sizes */
    uint32_t nodes;
    char name[32]; /* "graph, N nodes" */
};

/* EXEC was made and does nothing so far. Without memory it is not known. */
void spill_graphs_made(CUgraphExec exec);
/* NODE of EXEC does what OP says, instead of what it did; it lies in the child graph of OWNER
 * (NULL: in none, or that is known). PAGE_OF: the start of the managed page of an address; 0: it is
 * in no managed span. */
void spill_graphs_node(CUgraphExec exec, CUgraphNode node, CUgraphNode owner,
                       const struct spill_opcall *op, uint64_t (*page_of)(uint64_t addr));
/* The nodes in the child graph of OWNER are gone. */
void spill_graphs_emptied(CUgraphExec exec, CUgraphNode owner);
void spill_graphs_end(CUgraphExec exec);

/* Completes OP, a launch: shape, host_pending. If the graph is not known, or not all of it is
 * understood, it becomes SPILL_OPKIND_ALL. */
void spill_graphs_launch(struct spill_opcall *op);

/* The COUNT addresses of a graph that was completed so. */
const struct spill_graph_word *spill_graphs_words(CUgraphExec exec, uint32_t *count);

/* Calls WITH for what its copies read from host memory now, in pieces; of sources above MOST bytes
 * nothing. */
void spill_graphs_sources(CUgraphExec exec, uint64_t most,
                          void (*with)(void *arg, const void *data, uint64_t bytes), void *arg);

#endif
