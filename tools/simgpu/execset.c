/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of executable graphs. A node is named by the graph that the executable was made of, or
 * last updated to. */
#include <stdlib.h>

#include "exec.h"

/* Its counterpart in EXEC, if NODE is of TYPE. */
static struct simgpu_node *node_in(CUgraphExec exec, CUgraphNode node, CUgraphNodeType type)
{
    const struct simgpu_exec *e = simgpu_exec_of(exec);
    const struct simgpu_node *n = simgpu_node_of(node);
    if (e == NULL || n == NULL || n->graph != e->origin || n->index >= e->graph->count ||
        n->type != type)
        return NULL;
    return e->graph->nodes[n->index];
}

/* NODE gets a new operation, which FILL makes of PARAMS. */
static CUresult set_params(struct simgpu_node *node, const void *params,
                           CUresult (*fill)(struct simgpu_op *op, const void *params))
{
    struct simgpu_op *op = node == NULL ? NULL : simgpu_template_new();
    if (op == NULL)
        return node == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    return simgpu_node_replace(node, op, fill(op, params));
}

static CUresult fill_kernel(struct simgpu_op *op, const void *params)
{
    return simgpu_launch_fill(op, params, false);
}

static CUresult fill_copy(struct simgpu_op *op, const void *params)
{
    return simgpu_copy_fill(op, params);
}

static CUresult fill_set(struct simgpu_op *op, const void *params)
{
    return simgpu_set_fill(op, params);
}

CUresult simgpu_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS *params)
{
    return set_params(node_in(exec, node, CU_GRAPH_NODE_TYPE_KERNEL), params, fill_kernel);
}

CUresult simgpu_cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_MEMCPY3D *params, CUcontext ctx)
{
    (void)ctx;
    return set_params(node_in(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY), params, fill_copy);
}

CUresult simgpu_cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                               const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
    (void)ctx;
    return set_params(node_in(exec, node, CU_GRAPH_NODE_TYPE_MEMSET), params, fill_set);
}

static bool same_edges(const struct simgpu_node *a, const struct simgpu_node *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->before[i]->index != b->before[i]->index)
            return false;
    return true;
}

/* The first node of NOW that is not as in BEFORE; NULL if there is none. */
static const struct simgpu_node *difference(const struct simgpu_graph *before,
                                            const struct simgpu_graph *now,
                                            CUgraphExecUpdateResult *why)
{
    *why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    for (size_t i = 0; i < now->count; i++) {
        if (now->nodes[i]->type != before->nodes[i]->type)
            return now->nodes[i];
        if (!same_edges(now->nodes[i], before->nodes[i])) {
            *why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
            return now->nodes[i];
        }
    }
    return NULL;
}

CUresult simgpu_cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   CUgraph child)
{
    struct simgpu_node *n = node_in(exec, node, CU_GRAPH_NODE_TYPE_GRAPH);
    const struct simgpu_graph *g = simgpu_graph_of(child);
    CUgraphExecUpdateResult why;
    if (n == NULL || g == NULL || g->count != n->child->count ||
        difference(n->child, g, &why) != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_graph *copy = simgpu_graph_copy(g);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    copy->child = true;
    simgpu_graph_free(n->child);
    n->child = copy;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                         CUgraphNodeParams *params)
{
    if (params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
        const CUDA_KERNEL_NODE_PARAMS_v3 *p = &params->kernel;
        const CUDA_KERNEL_NODE_PARAMS kernel = {p->func,      p->gridDimX,       p->gridDimY,
                                                p->gridDimZ,  p->blockDimX,      p->blockDimY,
                                                p->blockDimZ, p->sharedMemBytes, p->kernelParams,
                                                p->extra,     p->kern,           p->ctx};
        return simgpu_cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return simgpu_cuGraphExecMemcpyNodeSetParams(exec, node, &params->memcpy.copyParams, NULL);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
        const CUDA_MEMSET_NODE_PARAMS_v2 *p = &params->memset;
        const CUDA_MEMSET_NODE_PARAMS set = {p->dst,         p->pitch, p->value,
                                             p->elementSize, p->width, p->height};
        return simgpu_cuGraphExecMemsetNodeSetParams(exec, node, &set, NULL);
    }
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return simgpu_cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/* As documented: kernels, copies and memsets only. */
static struct simgpu_node *node_to_enable(CUgraphExec exec, CUgraphNode node)
{
    struct simgpu_node *n = node_in(exec, node, CU_GRAPH_NODE_TYPE_KERNEL);
    if (n == NULL)
        n = node_in(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY);
    return n != NULL ? n : node_in(exec, node, CU_GRAPH_NODE_TYPE_MEMSET);
}

CUresult simgpu_cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
    struct simgpu_node *n = node_to_enable(exec, node);
    if (n == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    n->disabled = enabled == 0;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
    const struct simgpu_node *n = node_to_enable(exec, node);
    if (n == NULL || enabled == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *enabled = !n->disabled;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                     CUgraphExecUpdateResultInfo *info)
{
    struct simgpu_exec *e = simgpu_exec_of(exec);
    const struct simgpu_graph *g = simgpu_graph_of(graph);
    if (e == NULL || g == NULL || info == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_SUCCESS};
    CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    const struct simgpu_node *other =
        g->count != e->graph->count ? NULL : difference(e->graph, g, &why);
    if (g->count != e->graph->count || other != NULL) {
        info->result = why;
        info->errorNode = (CUgraphNode)(uintptr_t)other;
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    struct simgpu_graph *copy = simgpu_graph_copy(g);
    if (copy == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    simgpu_graph_free(e->graph);
    e->graph = copy;
    e->origin = g;
    return CUDA_SUCCESS;
}
