/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs. A node holds an operation that is never queued itself: its type and payload are copied
 * into a fresh operation at each launch. Capture makes nodes of operations in place of queueing
 * them. */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

#include "op.h"

struct simgpu_graph;

struct simgpu_node {
    uint64_t magic;
    struct simgpu_graph *graph;
    CUgraphNodeType type;
    struct simgpu_op *op; /* a template; NULL for an empty node and for a child graph */
    struct simgpu_graph *child;
    struct simgpu_node **before;
    size_t count, room;
    void **params; /* what cuGraphKernelNodeGetParams or cuGraphBatchMemOpNodeGetParams shows */
    int updatable; /* an attribute of kernels, without effect */
    bool disabled; /* in an executable graph */
    size_t index;  /* among the nodes of its graph */
};
#define SIMGPU_NODE_MAGIC 0x53494d5f4e4f4431ull

struct simgpu_graph {
    uint64_t magic;
    bool child; /* owned by a node: not the program's to destroy */
    struct simgpu_node **nodes;
    size_t count, room;
};
#define SIMGPU_GRAPH_MAGIC 0x53494d5f47525031ull

struct simgpu_graph *simgpu_graph_new(void);
void simgpu_graph_free(struct simgpu_graph *graph);
struct simgpu_graph *simgpu_graph_copy(const struct simgpu_graph *graph);
/* Whether any node, in child graphs too, is of TYPE. */
bool simgpu_graph_has(const struct simgpu_graph *graph, CUgraphNodeType type);
/* A copy of the graph that was instantiated, for a launch into a capturing stream. */
struct simgpu_graph *simgpu_exec_graph(CUgraphExec exec);
/* A node after COUNT others. Takes OP over. NULL if memory ran out. */
struct simgpu_node *simgpu_graph_add(struct simgpu_graph *graph, CUgraphNodeType type,
                                     struct simgpu_op *op, struct simgpu_node *const *before,
                                     size_t count);
bool simgpu_graph_order(struct simgpu_node *node, struct simgpu_node *earlier);
struct simgpu_graph *simgpu_graph_of(CUgraph handle);
struct simgpu_node *simgpu_node_of(CUgraphNode handle);
/* An operation outside of any stream, to be filled as a node's template. */
struct simgpu_op *simgpu_template_new(void);
void simgpu_template_free(struct simgpu_op *op);
/* NODE does OP from now on, if that could be FILLED; takes OP over. */
CUresult simgpu_node_replace(struct simgpu_node *node, struct simgpu_op *op, CUresult filled);
struct simgpu_op *simgpu_template_copy(const struct simgpu_op *from);

/* capture.c: what a capturing stream does with an operation and with events. */
struct simgpu_capture;
struct simgpu_stream;
struct simgpu_event;
void simgpu_capture_op(struct simgpu_op *op);
/* A node of a type that is not told by its operation. Takes OP and CHILD over, on failure too. */
CUresult simgpu_capture_node(struct simgpu_stream *stream, CUgraphNodeType type,
                             struct simgpu_op *op, struct simgpu_graph *child);
CUresult simgpu_capture_record(struct simgpu_stream *stream, struct simgpu_event *event);
CUresult simgpu_capture_wait(struct simgpu_stream *stream, struct simgpu_event *event);
/* An error if a capture forbids a call that would wait or allocate now. */
CUresult simgpu_capture_forbids(struct simgpu_stream *stream);
CUresult simgpu_capture_forbids_legacy(struct simgpu_stream *legacy);
CUresult simgpu_capture_forbids_context(struct simgpu_ctx *ctx);

/* Payload makers of the explicit node functions. */
CUresult simgpu_launch_fill(struct simgpu_op *op, const CUDA_KERNEL_NODE_PARAMS *params,
                            bool cooperative);
CUresult simgpu_launch_show(const struct simgpu_op *op, void **pointers,
                            CUDA_KERNEL_NODE_PARAMS *params);
size_t simgpu_launch_count(const struct simgpu_op *op);
CUresult simgpu_copy_fill(struct simgpu_op *op, const CUDA_MEMCPY3D *params);
void simgpu_copy_show(const struct simgpu_op *op, CUDA_MEMCPY3D *params);
void simgpu_value_show(const struct simgpu_op *op, CUstreamBatchMemOpParams *params);
/* BYTES in a line; staged now if the source is pageable. PAGEABLE: the destination is. */
CUresult simgpu_copy_fill_line(struct simgpu_op *op, uint64_t dst, uint64_t src, size_t bytes,
                               bool *pageable);
CUresult simgpu_set_fill(struct simgpu_op *op, const CUDA_MEMSET_NODE_PARAMS *params);
/* Allocation nodes (pool.c): the memory is taken when the node is made. */
CUresult simgpu_pool_fill_alloc(struct simgpu_op *op, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult simgpu_pool_fill_free(struct simgpu_op *op, CUdeviceptr ptr);
void simgpu_pool_show_alloc(const struct simgpu_op *op, CUDA_MEM_ALLOC_NODE_PARAMS *params);
/* Before a launch: whether the allocations of OP's node, if it is one, still live. */
bool simgpu_pool_lives(const struct simgpu_op *op);
void simgpu_host_fill(struct simgpu_op *op, CUhostFn fn, void *data);

#endif
