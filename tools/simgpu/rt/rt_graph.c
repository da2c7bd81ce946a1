/* SPDX-License-Identifier: Apache-2.0 */
/* Capture and graphs. */
#include <stddef.h>

#include "rt.h"

SIMGPU_RT_EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                                    enum cudaStreamCaptureMode mode)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamEndCapture(stream, graph));
}

SIMGPU_RT_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)(void *)mode));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphCreate(graph, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphDestroy(graph));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphClone(clone, graph));
}

static cudaError_t to_driver(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *q)
{
    CUfunction f;
    if (p == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = simgpu_rt_function(p->func, &f);
    if (error != cudaSuccess)
        return error;
    *q = (CUDA_KERNEL_NODE_PARAMS){.func = f,
                                   .gridDimX = p->gridDim.x,
                                   .gridDimY = p->gridDim.y,
                                   .gridDimZ = p->gridDim.z,
                                   .blockDimX = p->blockDim.x,
                                   .blockDimY = p->blockDim.y,
                                   .blockDimZ = p->blockDim.z,
                                   .sharedMemBytes = p->sharedMemBytes,
                                   .kernelParams = p->kernelParams,
                                   .extra = p->extra};
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                    const cudaGraphNode_t *before, size_t count,
                                                    const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS q;
    SIMGPU_RT_READY(true);
    cudaError_t error = to_driver(params, &q);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuGraphAddKernelNode(node, graph, before, count, &q));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                  const cudaGraphNode_t *before, size_t count,
                                                  const struct cudaHostNodeParams *params)
{
    SIMGPU_RT_READY(true);
    if (params == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUDA_HOST_NODE_PARAMS q = {.fn = params->fn, .userData = params->userData};
    return SIMGPU_RT_CALL(cuGraphAddHostNode(node, graph, before, count, &q));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                   const cudaGraphNode_t *before, size_t count)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphAddEmptyNode(node, graph, before, count));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph,
                                                        const cudaGraphNode_t *before, size_t count,
                                                        cudaGraph_t child)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphAddChildGraphNode(node, graph, before, count, child));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node,
                                                             cudaGraph_t *graph)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphChildGraphNodeGetGraph(node, graph));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                               size_t *count)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphGetNodes(graph, nodes, count));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                                                   size_t *count)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphGetRootNodes(graph, nodes, count));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                                  enum cudaGraphNodeType *type)
{
    CUgraphNodeType t;
    SIMGPU_RT_READY(true);
    if (type == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuGraphNodeGetType(node, &t);
    if (result == CUDA_SUCCESS)
        *type = (enum cudaGraphNodeType)t;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                          struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS q;
    SIMGPU_RT_READY(true);
    if (params == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    CUresult result = DRV.cuGraphKernelNodeGetParams(node, &q);
    if (result != CUDA_SUCCESS)
        return simgpu_rt_done(simgpu_rt_result(result));
    const dim3 grid = {q.gridDimX, q.gridDimY, q.gridDimZ};
    const dim3 block = {q.blockDimX, q.blockDimY, q.blockDimZ};
    params->func = (void *)(uintptr_t)simgpu_rt_stub(q.func);
    params->gridDim = grid;
    params->blockDim = block;
    params->sharedMemBytes = q.sharedMemBytes;
    params->kernelParams = q.kernelParams;
    params->extra = q.extra;
    return cudaSuccess;
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                          const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS q;
    SIMGPU_RT_READY(true);
    cudaError_t error = to_driver(params, &q);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuGraphKernelNodeSetParams(node, &q));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                           unsigned long long flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphInstantiateWithFlags(exec, graph, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                                  unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphExecDestroy(exec));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphExecKernelNodeSetParams(
    cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS q;
    SIMGPU_RT_READY(true);
    cudaError_t error = to_driver(params, &q);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuGraphExecKernelNodeSetParams(exec, node, &q));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                                 cudaGraphExecUpdateResultInfo *info)
{
    CUgraphExecUpdateResultInfo i = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    SIMGPU_RT_READY(true);
    CUresult result = DRV.cuGraphExecUpdate(exec, graph, &i);
    if (info != NULL) {
        info->result = (int)i.result;
        info->errorNode = i.errorNode;
        info->errorFromNode = i.errorFromNode;
    }
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphLaunch(exec, stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuGraphUpload(exec, stream));
}
