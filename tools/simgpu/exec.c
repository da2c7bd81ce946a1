/* SPDX-License-Identifier: Apache-2.0 */
/* Executable graphs: a private copy of a graph in an order that respects its edges, launched as
 * operations that only the graph's edges order among each other. */
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "stream.h"

struct simgpu_exec *simgpu_exec_of(CUgraphExec handle)
{
    struct simgpu_exec *e = (struct simgpu_exec *)handle;
    return e != NULL && e->magic == SIMGPU_EXEC_MAGIC ? e : NULL;
}

/* An order that respects the edges; false if there is none, or no memory. */
static bool sort_nodes(const struct simgpu_graph *g, size_t *order)
{
    char *placed = calloc(g->count + 1, 1);
    size_t n = 0, before = 1;
    while (placed != NULL && n < g->count && before != n) {
        before = n;
        for (size_t i = 0; i < g->count; i++) {
            const struct simgpu_node *node = g->nodes[i];
            bool ready = !placed[i];
            for (size_t k = 0; ready && k < node->count; k++)
                ready = placed[node->before[k]->index];
            if (ready) {
                placed[i] = 1;
                order[n++] = i;
            }
        }
        if (before == n)
            break; /* a cycle */
    }
    free(placed);
    return n == g->count;
}

static bool can_be_sorted(const struct simgpu_graph *g)
{
    size_t *order = calloc(g->count + 1, sizeof *order);
    bool sorted = order != NULL && sort_nodes(g, order);
    for (size_t i = 0; sorted && i < g->count; i++)
        sorted = g->nodes[i]->child == NULL || can_be_sorted(g->nodes[i]->child);
    free(order);
    return sorted;
}

struct simgpu_graph *simgpu_exec_graph(CUgraphExec exec)
{
    const struct simgpu_exec *e = simgpu_exec_of(exec);
    return e != NULL ? simgpu_graph_copy(e->graph) : NULL;
}

static CUresult instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    if (exec == NULL || g == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_exec *e = calloc(1, sizeof *e);
    if (e == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    e->magic = SIMGPU_EXEC_MAGIC;
    e->graph = simgpu_graph_copy(g);
    e->origin = g;
    e->auto_free = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    if (e->graph == NULL || !can_be_sorted(e->graph)) {
        CUresult result = e->graph == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
        if (e->graph != NULL)
            simgpu_graph_free(e->graph);
        free(e);
        return result;
    }
    *exec = (CUgraphExec)e;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                            unsigned long long flags)
{
    const unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if ((flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return instantiate(exec, graph, flags);
}

CUresult simgpu_cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
                                             CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = instantiate(exec, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
}

CUresult simgpu_cuGraphExecDestroy(CUgraphExec exec)
{
    struct simgpu_exec *e = simgpu_exec_of(exec);
    if (e == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    simgpu_op_release(e->last);
    simgpu_graph_free(e->graph);
    e->magic = 0;
    free(e);
    return CUDA_SUCCESS;
}

static CUresult run_nothing(struct simgpu_op *op, uint64_t *duration_ns)
{
    (void)op;
    *duration_ns = 0;
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type edge_type = {"graph edge", run_nothing, NULL, NULL};

/* One operation a node, all after BEGIN; returns one after all of them, held. */
static struct simgpu_op *launch_nodes(const struct simgpu_graph *g, struct simgpu_stream *s,
                                      struct simgpu_op *begin, uint32_t *number)
{
    struct simgpu_op **ops = calloc(g->count + 1, sizeof(struct simgpu_op *));
    size_t *order = calloc(g->count + 1, sizeof *order);
    if (ops == NULL || order == NULL || !sort_nodes(g, order))
        abort(); /* half a graph cannot be taken back */
    for (size_t i = 0; i < g->count; i++) {
        const struct simgpu_node *n = g->nodes[order[i]];
        const struct simgpu_op *does = n->disabled ? NULL : n->op;
        struct simgpu_op *op =
            simgpu_op_new_apart(s, does != NULL ? does->type : &edge_type,
                                does != NULL ? does->engine : SIMGPU_ENGINE_NONE, (*number)++);
        if (op != NULL && does != NULL) {
            op->u = does->u;
            op->launch_name = does->launch_name;
            if (does->type->copy != NULL && !does->type->copy(op, does))
                op = NULL;
        }
        if (op == NULL)
            abort();
        simgpu_op_after(op, begin);
        for (size_t k = 0; k < n->count; k++)
            simgpu_op_after(op, ops[n->before[k]->index]);
        ops[n->index] = simgpu_op_hold(op);
        simgpu_op_submit(op);
        if (n->child != NULL) {
            ops[n->index] = launch_nodes(n->child, s, op, number);
            simgpu_op_release(op);
        }
    }
    /* The end of the outermost graph is in the stream's own order again. */
    struct simgpu_op *end =
        begin->apart ? simgpu_op_new_apart(s, &edge_type, SIMGPU_ENGINE_NONE, (*number)++)
                     : simgpu_op_new(s, &edge_type, SIMGPU_ENGINE_NONE);
    if (end == NULL)
        abort();
    simgpu_op_after(end, begin);
    for (size_t i = 0; i < g->count; i++) {
        simgpu_op_after(end, ops[i]);
        simgpu_op_release(ops[i]);
    }
    simgpu_op_hold(end);
    simgpu_op_submit(end);
    free(order);
    free(ops);
    return end;
}

CUresult simgpu_cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct simgpu_exec *e = simgpu_exec_of(exec);
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (e == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture != NULL) {
        struct simgpu_graph *child = simgpu_exec_graph(exec);
        return child != NULL ? simgpu_capture_node(s, CU_GRAPH_NODE_TYPE_GRAPH, NULL, child)
                             : CUDA_ERROR_OUT_OF_MEMORY;
    }
    /* What the graph allocates and does not free has to be freed before it runs again. */
    if (simgpu_graph_has(e->graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) && !e->auto_free) {
        simgpu_op_wait(e->last);
        for (size_t i = 0; i < e->graph->count; i++)
            if (e->graph->nodes[i]->op != NULL && simgpu_pool_lives(e->graph->nodes[i]->op))
                return CUDA_ERROR_INVALID_VALUE;
    }
    struct simgpu_op *begin = simgpu_op_new(s, &edge_type, SIMGPU_ENGINE_NONE);
    if (begin == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    simgpu_op_after(begin, e->last);
    simgpu_op_hold(begin);
    simgpu_op_submit(begin);
    uint32_t number = 0; /* tells the nodes apart, of child graphs too */
    struct simgpu_op *end = launch_nodes(e->graph, s, begin, &number);
    simgpu_op_release(begin);
    simgpu_op_release(e->last);
    e->last = end;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    if (simgpu_stream_of(stream) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    return simgpu_exec_of(exec) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
