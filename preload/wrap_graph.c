/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of captures and graphs. What is captured or built runs when it is launched: until then
 * the sink is told what the nodes are, whenever an executable graph is made or changed. The calls
 * that build and change graphs themselves need no wrapper: an executable one is a copy. */
#include "preload/around.h"
#include "preload/graphwalk.h"
#include "preload/opcalls.h"

/* CALL may begin a capture of STREAM. Expands to the wrapper's body. */
#define AROUND_BEGIN(stream, call)                                                                 \
    do {                                                                                           \
        if (!spill_guard_enter())                                                                  \
            return call;                                                                           \
        spill_guard_sink->capture_begins();                                                        \
        CUresult result = call;                                                                    \
        spill_guard_sink->capture_changed(stream, result == CUDA_SUCCESS);                         \
        spill_guard_leave();                                                                       \
        return result;                                                                             \
    } while (0)

#define BEGIN_CAPTURE(symbol, home)                                                                \
    CUresult symbol(CUstream stream, CUstreamCaptureMode mode)                                     \
    {                                                                                              \
        AROUND_BEGIN(spill_around_stream(stream, home), SPILL_REAL(symbol)(stream, mode));         \
    }
BEGIN_CAPTURE(cuStreamBeginCapture_v2, SPILL_STREAM_L)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, SPILL_STREAM_T)

#define BEGIN_CAPTURE_OLD(symbol, home)                                                            \
    CUresult symbol(CUstream stream)                                                               \
    {                                                                                              \
        AROUND_BEGIN(spill_around_stream(stream, home), SPILL_REAL(symbol)(stream));               \
    }
BEGIN_CAPTURE_OLD(cuStreamBeginCapture, SPILL_STREAM_L)
BEGIN_CAPTURE_OLD(cuStreamBeginCapture_ptsz, SPILL_STREAM_T)

#define BEGIN_CAPTURE_TO(symbol, home)                                                             \
    CUresult symbol(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,               \
                    const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)           \
    {                                                                                              \
        AROUND_BEGIN(spill_around_stream(stream, home),                                            \
                     SPILL_REAL(symbol)(stream, graph, dependencies, data, count, mode));          \
    }
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph, SPILL_STREAM_L)
BEGIN_CAPTURE_TO(cuStreamBeginCaptureToGraph_ptsz, SPILL_STREAM_T)

#define END_CAPTURE(symbol, home)                                                                  \
    CUresult symbol(CUstream stream, CUgraph *graph)                                               \
    {                                                                                              \
        CUresult result = SPILL_REAL(symbol)(stream, graph);                                       \
        if (spill_guard_enter()) {                                                                 \
            spill_guard_sink->capture_changed(spill_around_stream(stream, home),                   \
                                              result != CUDA_SUCCESS);                             \
            spill_guard_leave();                                                                   \
        }                                                                                          \
        return result;                                                                             \
    }
END_CAPTURE(cuStreamEndCapture, SPILL_STREAM_L)
END_CAPTURE(cuStreamEndCapture_ptsz, SPILL_STREAM_T)

/* --- executable graphs --- */

static struct spill_opcall launch(CUstream stream, CUgraphExec exec)
{
    struct spill_opcall op = spill_opcalls_plain(SPILL_OPKIND_GRAPH, stream);
    op.graph = exec;
    return op;
}

#define LAUNCH(symbol, home)                                                                       \
    CUresult symbol(CUgraphExec exec, CUstream stream)                                             \
    {                                                                                              \
        SPILL_AROUND(launch(spill_around_stream(stream, home), exec),                              \
                     SPILL_REAL(symbol)(exec, stream));                                            \
    }
LAUNCH(cuGraphLaunch, SPILL_STREAM_L)
LAUNCH(cuGraphLaunch_ptsz, SPILL_STREAM_T)

/* Once the device may launch a graph, nothing tells when it runs. */
static CUresult before_instantiation(unsigned long long flags)
{
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) == 0 || !spill_guard_enter())
        return CUDA_SUCCESS;
    CUresult result = spill_guard_sink->unseen();
    spill_guard_leave();
    return result;
}

static CUresult instantiated(CUresult result, const CUgraphExec *exec, CUgraph graph)
{
    if (result == CUDA_SUCCESS && exec != NULL && spill_guard_enter()) {
        spill_graphwalk_made(*exec, graph);
        spill_guard_leave();
    }
    return result;
}

#define INSTANTIATE_OLD(symbol)                                                                    \
    CUresult symbol(CUgraphExec *exec, CUgraph graph, CUgraphNode *failed, char *log,              \
                    size_t log_bytes)                                                              \
    {                                                                                              \
        return instantiated(SPILL_REAL(symbol)(exec, graph, failed, log, log_bytes), exec, graph); \
    }
INSTANTIATE_OLD(cuGraphInstantiate)
INSTANTIATE_OLD(cuGraphInstantiate_v2)

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    CUresult result = before_instantiation(flags);
    return result != CUDA_SUCCESS
               ? result
               : instantiated(SPILL_REAL(cuGraphInstantiateWithFlags)(exec, graph, flags), exec,
                              graph);
}

#define INSTANTIATE(symbol)                                                                        \
    CUresult symbol(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)       \
    {                                                                                              \
        CUresult result = before_instantiation(params == NULL ? 0 : params->flags);                \
        return result != CUDA_SUCCESS                                                              \
                   ? result                                                                        \
                   : instantiated(SPILL_REAL(symbol)(exec, graph, params), exec, graph);           \
    }
INSTANTIATE(cuGraphInstantiateWithParams)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz)

/* Forgotten first: the driver may give the handle to another thread at once. */
CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    if (spill_guard_enter()) {
        spill_guard_sink->graph_end(exec);
        spill_guard_leave();
    }
    return SPILL_REAL(cuGraphExecDestroy)(exec);
}

/* CALL changes an executable graph, and NOTE tells what it does then. */
#define CHANGED(call, note)                                                                        \
    do {                                                                                           \
        CUresult result = call;                                                                    \
        if (result == CUDA_SUCCESS && spill_guard_enter()) {                                       \
            note;                                                                                  \
            spill_guard_leave();                                                                   \
        }                                                                                          \
        return result;                                                                             \
    } while (0)

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CHANGED(SPILL_REAL(cuGraphExecKernelNodeSetParams)(exec, node, params),
            spill_graphwalk_kernel_v1(exec, node, params));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    CHANGED(SPILL_REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, params),
            spill_graphwalk_kernel(exec, node, params));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext context)
{
    CHANGED(SPILL_REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, copy, context),
            spill_graphwalk_copy(exec, node, copy));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *set, CUcontext context)
{
    CHANGED(SPILL_REAL(cuGraphExecMemsetNodeSetParams)(exec, node, set, context),
            spill_graphwalk_set(exec, node, set->dst));
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *params)
{
    CHANGED(SPILL_REAL(cuGraphExecBatchMemOpNodeSetParams)(exec, node, params),
            spill_graphwalk_values(params->paramArray, params->count));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    CHANGED(SPILL_REAL(cuGraphExecChildGraphNodeSetParams)(exec, node, child),
            spill_graphwalk_child(exec, node, child));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    CHANGED(SPILL_REAL(cuGraphExecNodeSetParams)(exec, node, params),
            spill_graphwalk_any(exec, node, params));
}

/* What a failed update did change is not known: the old nodes and the new ones count. */
static CUresult updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
    if ((result == CUDA_SUCCESS || result == CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) &&
        spill_guard_enter()) {
        if (result == CUDA_SUCCESS)
            spill_graphwalk_made(exec, graph);
        else
            spill_graphwalk_more(exec, graph);
        spill_guard_leave();
    }
    return result;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *failed,
                           CUgraphExecUpdateResult *outcome)
{
    return updated(SPILL_REAL(cuGraphExecUpdate)(exec, graph, failed, outcome), exec, graph);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    return updated(SPILL_REAL(cuGraphExecUpdate_v2)(exec, graph, info), exec, graph);
}
