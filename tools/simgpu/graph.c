/* SPDX-License-Identifier: Apache-2.0 */
/* Building and reading graphs. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

struct simgpu_graph *simgpu_graph_of(CUgraph handle)
{
    struct simgpu_graph *g = (struct simgpu_graph *)handle;
    return g != NULL && g->magic == SIMGPU_GRAPH_MAGIC ? g : NULL;
}

struct simgpu_node *simgpu_node_of(CUgraphNode handle)
{
    struct simgpu_node *n = (struct simgpu_node *)handle;
    return n != NULL && n->magic == SIMGPU_NODE_MAGIC ? n : NULL;
}

struct simgpu_op *simgpu_template_new(void)
{
    return calloc(1, sizeof(struct simgpu_op));
}

void simgpu_template_free(struct simgpu_op *op)
{
    if (op != NULL && op->type != NULL && op->type->drop != NULL)
        op->type->drop(op);
    free(op);
}

struct simgpu_op *simgpu_template_copy(const struct simgpu_op *from)
{
    struct simgpu_op *op = simgpu_template_new();
    if (op == NULL)
        return NULL;
    op->type = from->type;
    op->engine = from->engine;
    op->launch_name = from->launch_name;
    op->u = from->u;
    if (from->type->copy != NULL && !from->type->copy(op, from)) {
        free(op);
        return NULL;
    }
    return op;
}

struct simgpu_graph *simgpu_graph_new(void)
{
    struct simgpu_graph *g = calloc(1, sizeof *g);
    if (g != NULL)
        g->magic = SIMGPU_GRAPH_MAGIC;
    return g;
}

static void node_free(struct simgpu_node *n)
{
    simgpu_template_free(n->op);
    if (n->child != NULL)
        simgpu_graph_free(n->child);
    free(n->before);
    free(n->params);
    n->magic = 0;
    free(n);
}

void simgpu_graph_free(struct simgpu_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        node_free(g->nodes[i]);
    free(g->nodes);
    g->magic = 0;
    free(g);
}

bool simgpu_graph_order(struct simgpu_node *node, struct simgpu_node *earlier)
{
    for (size_t i = 0; i < node->count; i++)
        if (node->before[i] == earlier)
            return true;
    if (node->count == node->room) {
        size_t room = node->room != 0 ? node->room * 2 : 4;
        struct simgpu_node **grown = realloc(node->before, room * sizeof(struct simgpu_node *));
        if (grown == NULL)
            return false;
        node->before = grown;
        node->room = room;
    }
    node->before[node->count++] = earlier;
    return true;
}

struct simgpu_node *simgpu_graph_add(struct simgpu_graph *g, CUgraphNodeType type,
                                     struct simgpu_op *op, struct simgpu_node *const *before,
                                     size_t count)
{
    if (g->count == g->room) {
        size_t room = g->room != 0 ? g->room * 2 : 16;
        struct simgpu_node **grown = realloc(g->nodes, room * sizeof(struct simgpu_node *));
        if (grown == NULL)
            return NULL;
        g->nodes = grown;
        g->room = room;
    }
    struct simgpu_node *n = calloc(1, sizeof *n);
    if (n == NULL)
        return NULL;
    *n = (struct simgpu_node){
        .magic = SIMGPU_NODE_MAGIC, .graph = g, .type = type, .op = op, .index = g->count};
    for (size_t i = 0; i < count; i++) {
        if (!simgpu_graph_order(n, before[i])) {
            n->op = NULL;
            node_free(n);
            return NULL;
        }
    }
    g->nodes[g->count++] = n;
    return n;
}

struct simgpu_graph *simgpu_graph_copy(const struct simgpu_graph *from)
{
    struct simgpu_graph *g = simgpu_graph_new();
    if (g == NULL)
        return NULL;
    for (size_t i = 0; i < from->count; i++) {
        const struct simgpu_node *n = from->nodes[i];
        struct simgpu_op *op = n->op != NULL ? simgpu_template_copy(n->op) : NULL;
        struct simgpu_node *to =
            n->op == NULL || op != NULL ? simgpu_graph_add(g, n->type, op, NULL, 0) : NULL;
        if (to != NULL && n->child != NULL)
            to->child = simgpu_graph_copy(n->child);
        if (to == NULL || (to->child == NULL && n->child != NULL)) {
            if (to == NULL)
                simgpu_template_free(op);
            simgpu_graph_free(g);
            return NULL;
        }
        if (to->child != NULL)
            to->child->child = true;
        to->updatable = n->updatable;
    }
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; k < from->nodes[i]->count; k++)
            simgpu_graph_order(g->nodes[i], g->nodes[from->nodes[i]->before[k]->index]);
    return g;
}

CUresult simgpu_cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    if (graph == NULL || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_graph *g = simgpu_graph_new();
    if (g == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *graph = (CUgraph)g;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphDestroy(CUgraph graph)
{
    struct simgpu_graph *g = simgpu_graph_of(graph);
    if (g == NULL || g->child)
        return CUDA_ERROR_INVALID_VALUE;
    simgpu_graph_free(g);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphClone(CUgraph *clone, CUgraph graph)
{
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    if (g == NULL || clone == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_graph *copy = simgpu_graph_copy(g);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *clone = (CUgraph)copy;
    return CUDA_SUCCESS;
}

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *before, size_t count,
                    CUgraphNodeType type, struct simgpu_op *op, CUresult filled)
{
    struct simgpu_graph *g = simgpu_graph_of(graph);
    CUresult result = filled;
    if (g == NULL || node == NULL || (count != 0 && before == NULL))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        struct simgpu_node *n = simgpu_node_of(before[i]);
        if (n == NULL || n->graph != g)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    struct simgpu_node *n = NULL;
    if (result == CUDA_SUCCESS) {
        n = simgpu_graph_add(g, type, op, (struct simgpu_node *const *)(const void *)before, count);
        result = n != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS) {
        simgpu_template_free(op);
        return result;
    }
    *node = (CUgraphNode)n;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                        size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : simgpu_launch_fill(op, params, false);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_KERNEL, op, filled);
}

CUresult simgpu_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                     size_t count, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    (void)ctx;
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : simgpu_copy_fill(op, params);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_MEMCPY, op, filled);
}

CUresult simgpu_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                     size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                                     CUcontext ctx)
{
    (void)ctx;
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : simgpu_set_fill(op, params);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_MEMSET, op, filled);
}

CUresult simgpu_cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                   size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL                             ? CUDA_ERROR_OUT_OF_MEMORY
                      : params == NULL || params->fn == NULL ? CUDA_ERROR_INVALID_VALUE
                                                             : CUDA_SUCCESS;
    if (filled == CUDA_SUCCESS)
        simgpu_host_fill(op, params->fn, params->userData);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_HOST, op, filled);
}

CUresult simgpu_cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                    size_t count)
{
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_EMPTY, NULL, CUDA_SUCCESS);
}

CUresult simgpu_cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *before, size_t count, CUgraph child)
{
    const struct simgpu_graph *c = simgpu_graph_of(child);
    /* As documented: a graph with allocation nodes cannot be a child. */
    if (c == NULL || simgpu_graph_has(c, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
        simgpu_graph_has(c, CU_GRAPH_NODE_TYPE_MEM_FREE))
        return c == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    struct simgpu_graph *copy = simgpu_graph_copy(c);
    CUresult result = add(node, graph, before, count, CU_GRAPH_NODE_TYPE_GRAPH, NULL,
                          copy != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
    if (result != CUDA_SUCCESS) {
        if (copy != NULL)
            simgpu_graph_free(copy);
        return result;
    }
    copy->child = true;
    simgpu_node_of(*node)->child = copy;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    const struct simgpu_node *n = simgpu_node_of(node);
    if (n == NULL || n->child == NULL || graph == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *graph = (CUgraph)n->child;
    return CUDA_SUCCESS;
}

bool simgpu_graph_has(const struct simgpu_graph *g, CUgraphNodeType type)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->type == type ||
            (g->nodes[i]->child != NULL && simgpu_graph_has(g->nodes[i]->child, type)))
            return true;
    return false;
}

CUresult simgpu_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                       size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL       ? CUDA_ERROR_OUT_OF_MEMORY
                      : params == NULL ? CUDA_ERROR_INVALID_VALUE
                                       : simgpu_pool_fill_alloc(op, params);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_MEM_ALLOC, op, filled);
}

CUresult simgpu_cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *before,
                                      size_t count, CUdeviceptr ptr)
{
    struct simgpu_op *op = simgpu_template_new();
    CUresult filled = op == NULL ? CUDA_ERROR_OUT_OF_MEMORY : simgpu_pool_fill_free(op, ptr);
    return add(node, graph, before, count, CU_GRAPH_NODE_TYPE_MEM_FREE, op, filled);
}

CUresult simgpu_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                       const CUgraphNode *to, size_t count)
{
    struct simgpu_graph *g = simgpu_graph_of(graph);
    if (g == NULL || (count != 0 && (from == NULL || to == NULL)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct simgpu_node *a = simgpu_node_of(from[i]), *b = simgpu_node_of(to[i]);
        if (a == NULL || b == NULL || a->graph != g || b->graph != g || a == b)
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < b->count; k++)
            if (b->before[k] == a)
                return CUDA_ERROR_INVALID_VALUE; /* it exists already */
        if (!simgpu_graph_order(b, a))
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* The usual protocol of lists: without an array the count is told; else filled, and padded with
 * NULL. */
static CUresult list(struct simgpu_node *const *from, size_t have, CUgraphNode *to, size_t *count)
{
    if (count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; to != NULL && i < *count; i++)
        to[i] = i < have ? (CUgraphNode)from[i] : NULL;
    if (to == NULL || *count > have)
        *count = have;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    return g != NULL ? list(g->nodes, g->count, nodes, count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult simgpu_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    if (g == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_node **roots = malloc((g->count + 1) * sizeof(struct simgpu_node *));
    if (roots == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->count == 0)
            roots[n++] = g->nodes[i];
    CUresult result = list(roots, n, nodes, count);
    free(roots);
    return result;
}

CUresult simgpu_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    if (g == NULL || count == NULL || (from == NULL) != (to == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    size_t n = 0;
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->nodes[i]->count; k++, n++)
            if (from != NULL && n < *count) {
                from[n] = (CUgraphNode)g->nodes[i]->before[k];
                to[n] = (CUgraphNode)g->nodes[i];
            }
    for (size_t i = n; from != NULL && i < *count; i++)
        from[i] = to[i] = NULL;
    if (from == NULL || *count > n)
        *count = n;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    const struct simgpu_node *n = simgpu_node_of(node);
    if (n == NULL || type == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *type = n->type;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *before, size_t *count)
{
    const struct simgpu_node *n = simgpu_node_of(node);
    return n != NULL ? list(n->before, n->count, before, count) : CUDA_ERROR_INVALID_VALUE;
}
