/* SPDX-License-Identifier: Apache-2.0 */
/* What single nodes hold: asked for, and changed before a graph is instantiated. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"

/* The node of HANDLE if it is of TYPE. */
static struct simgpu_node *node_of(CUgraphNode handle, CUgraphNodeType type)
{
    struct simgpu_node *n = simgpu_node_of(handle);
    return n != NULL && n->type == type ? n : NULL;
}

CUresult simgpu_node_replace(struct simgpu_node *node, struct simgpu_op *op, CUresult filled)
{
    if (filled != CUDA_SUCCESS) {
        simgpu_template_free(op);
        return filled;
    }
    simgpu_template_free(node->op);
    node->op = op;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_KERNEL);
    if (n == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    free(n->params);
    n->params = calloc(simgpu_launch_count(n->op) + 1, sizeof(void *));
    if (n->params == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return simgpu_launch_show(n->op, n->params, params);
}

CUresult simgpu_cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                              const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_KERNEL);
    struct simgpu_op *op = n == NULL ? NULL : simgpu_template_new();
    if (op == NULL)
        return n == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    return simgpu_node_replace(n, op, simgpu_launch_fill(op, params, false));
}

/* The only attribute that is kept. Nothing of a device changes nodes here. */
CUresult simgpu_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                              CUkernelNodeAttrValue *value)
{
    const struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_KERNEL);
    if (n == NULL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    if (attribute == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
        value->deviceUpdatableKernelNode.deviceUpdatable = n->updatable;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                              const CUkernelNodeAttrValue *value)
{
    struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_KERNEL);
    if (n == NULL || value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
        n->updatable = value->deviceUpdatableKernelNode.deviceUpdatable;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
    const struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_MEMCPY);
    if (n == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    simgpu_copy_show(n->op, params);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
    const struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_MEMSET);
    if (n == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    const struct simgpu_set *s = &n->op->u.set;
    *params = (CUDA_MEMSET_NODE_PARAMS){.dst = s->dst,
                                        .pitch = s->pitch,
                                        .value = s->value,
                                        .elementSize = s->element,
                                        .width = s->width,
                                        .height = s->height};
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                               CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    struct simgpu_node *n = node_of(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    if (n == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    free(n->params);
    n->params = calloc(1, sizeof(CUstreamBatchMemOpParams));
    if (n->params == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *params = (CUDA_BATCH_MEM_OP_NODE_PARAMS){.count = 1, .paramArray = (void *)n->params};
    simgpu_value_show(n->op, params->paramArray);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    const struct simgpu_node *n = simgpu_node_of(node);
    if (n == NULL || n->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    simgpu_pool_show_alloc(n->op, params);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *ptr)
{
    const struct simgpu_node *n = simgpu_node_of(node);
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    if (n == NULL || n->type != CU_GRAPH_NODE_TYPE_MEM_FREE || ptr == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    simgpu_pool_show_alloc(n->op, &params);
    *ptr = params.dptr;
    return CUDA_SUCCESS;
}
