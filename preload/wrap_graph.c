/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of captures and graphs. What is captured or built runs later, at addresses that must
 * then hold data, and nothing says which: everything is brought back and stays. The calls that
 * build and change graphs need no wrapper, because nothing runs before one of these. */
#include "preload/around.h"

static struct spill_opcall everything(CUstream stream)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_ALL, .stream = stream};
}

#define GRAPH_ON(symbol, home)                                                                     \
    CUresult symbol(CUgraphExec graph, CUstream stream)                                            \
    {                                                                                              \
        SPILL_AROUND(everything(spill_around_stream(stream, home)),                                \
                     SPILL_REAL(symbol)(graph, stream));                                           \
    }
GRAPH_ON(cuGraphLaunch, SPILL_STREAM_L)
GRAPH_ON(cuGraphLaunch_ptsz, SPILL_STREAM_T)
/* Once uploaded, a graph can be launched by the device. */
GRAPH_ON(cuGraphUpload, SPILL_STREAM_L)
GRAPH_ON(cuGraphUpload_ptsz, SPILL_STREAM_T)

/* CALL may begin a capture of STREAM. Expands to the wrapper's body. */
#define AROUND_BEGIN(stream, call)                                                                 \
    do {                                                                                           \
        if (!spill_guard_enter())                                                                  \
            return call;                                                                           \
        spill_guard_sink->capture_begins();                                                        \
        CUresult result = call;                                                                    \
        spill_guard_sink->capture_changed(stream);                                                 \
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
            spill_guard_sink->capture_changed(spill_around_stream(stream, home));                  \
            spill_guard_leave();                                                                   \
        }                                                                                          \
        return result;                                                                             \
    }
END_CAPTURE(cuStreamEndCapture, SPILL_STREAM_L)
END_CAPTURE(cuStreamEndCapture_ptsz, SPILL_STREAM_T)

/* May the graph start without a further call, from the device? */
static bool self_starting(unsigned long long flags)
{
    return (flags &
            (CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)) != 0;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    if (!self_starting(flags))
        return SPILL_REAL(cuGraphInstantiateWithFlags)(exec, graph, flags);
    SPILL_AROUND(everything(SPILL_STREAM_L),
                 SPILL_REAL(cuGraphInstantiateWithFlags)(exec, graph, flags));
}

#define INSTANTIATE(symbol, home)                                                                  \
    CUresult symbol(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)       \
    {                                                                                              \
        if (params == NULL || !self_starting(params->flags))                                       \
            return SPILL_REAL(symbol)(exec, graph, params);                                        \
        SPILL_AROUND(everything(home), SPILL_REAL(symbol)(exec, graph, params));                   \
    }
INSTANTIATE(cuGraphInstantiateWithParams, SPILL_STREAM_L)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, SPILL_STREAM_T)
