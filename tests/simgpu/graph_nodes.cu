// SPDX-License-Identifier: Apache-2.0
// What the nodes of a graph hold, changes of executable graphs, and what a capture forbids.
#include "simtest.h"

#include "cells.h"

__global__ void add_to(int *p, int v)
{
    *p += v;
}

static CUDA_MEMCPY3D copy_of(int *to, const int *from)
{
    CUDA_MEMCPY3D p = {};
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = (CUdeviceptr)from;
    p.dstDevice = (CUdeviceptr)to;
    p.WidthInBytes = 4;
    p.Height = p.Depth = 1;
    return p;
}

static CUDA_MEMSET_NODE_PARAMS set_of(int *p, unsigned v)
{
    CUDA_MEMSET_NODE_PARAMS set = {};
    set.dst = (CUdeviceptr)p;
    set.value = v;
    set.elementSize = 4;
    set.width = set.height = 1;
    return set;
}

static CUcontext context()
{
    CUcontext c = nullptr;
    OK(cuCtxGetCurrent(&c));
    return c;
}

/* A captured graph's only node. */
static CUgraphNode only(cudaGraph_t g)
{
    CUgraphNode node = nullptr;
    size_t count = 1;
    OK(cuGraphGetNodes(g, &node, &count));
    EQUAL(count, 1);
    return node;
}

CASE(a_captured_copy_tells_its_two_sides)
{
    int *p = cell(3), *q = cell(4), host = 5;
    cudaStream_t s = stream();
    cudaGraph_t g, h;
    CUDA_MEMCPY3D got = {};
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(q, p, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cuGraphMemcpyNodeGetParams(only(g), &got));
    CHECK(got.srcMemoryType != CU_MEMORYTYPE_HOST && got.dstMemoryType != CU_MEMORYTYPE_HOST);
    CHECK(got.srcDevice == (CUdeviceptr)p && got.dstDevice == (CUdeviceptr)q);
    EQUAL(got.WidthInBytes * got.Height * got.Depth, 4);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(q, &host, 4, cudaMemcpyHostToDevice, s));
    OK(cudaStreamEndCapture(s, &h));
    OK(cuGraphMemcpyNodeGetParams(only(h), &got));
    CHECK(got.srcMemoryType == CU_MEMORYTYPE_HOST ? got.srcHost == &host
                                                  : got.srcDevice == (CUdeviceptr)&host);
    CHECK(got.dstDevice == (CUdeviceptr)q);
}

CASE(a_captured_memset_tells_where)
{
    int *p = cell(0);
    cudaStream_t s = stream();
    cudaGraph_t g;
    CUDA_MEMSET_NODE_PARAMS got = {};
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 7, 4, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cuGraphMemsetNodeGetParams(only(g), &got));
    CHECK(got.dst == (CUdeviceptr)p);
    EQUAL(got.width * got.elementSize * got.height, 4);
}

CASE(a_node_is_asked_for_what_it_is)
{
    int *p = cell(0);
    cudaStream_t s = stream();
    cudaGraph_t g;
    CUDA_MEMCPY3D copy = {};
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 7, 4, s));
    OK(cudaStreamEndCapture(s, &g));
    GIVES(cuGraphMemcpyNodeGetParams(only(g), &copy), CUDA_ERROR_INVALID_VALUE);
}

CASE(copies_and_memsets_of_an_executable_can_change)
{
    int *from = cell(11), *other = cell(22), *to = cell(0), *set = cell(0);
    CUgraph g;
    CUgraphExec e;
    CUgraphNode copy, fill;
    CUDA_MEMCPY3D c = copy_of(to, from);
    CUDA_MEMSET_NODE_PARAMS m = set_of(set, 1);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemcpyNode(&copy, g, nullptr, 0, &c, context()));
    OK(cuGraphAddMemsetNode(&fill, g, nullptr, 0, &m, context()));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    c = copy_of(to, other);
    m = set_of(set, 2);
    OK(cuGraphExecMemcpyNodeSetParams(e, copy, &c, context()));
    OK(cuGraphExecMemsetNodeSetParams(e, fill, &m, context()));
    OK(cuGraphLaunch(e, nullptr));
    EQUAL(read(to), 22);
    EQUAL(read(set), 2);
    /* The graph itself has not changed. */
    OK(cuGraphMemcpyNodeGetParams(copy, &c));
    CHECK(c.srcDevice == (CUdeviceptr)from);
}

CASE(a_child_graph_of_an_executable_can_change)
{
    int *p = cell(0);
    CUgraph g, one, two;
    CUgraphExec e;
    CUgraphNode child, node;
    CUDA_MEMSET_NODE_PARAMS m = set_of(p, 1);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphCreate(&one, 0));
    OK(cuGraphCreate(&two, 0));
    OK(cuGraphAddMemsetNode(&node, one, nullptr, 0, &m, context()));
    m = set_of(p, 2);
    OK(cuGraphAddMemsetNode(&node, two, nullptr, 0, &m, context()));
    OK(cuGraphAddChildGraphNode(&child, g, nullptr, 0, one));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphExecChildGraphNodeSetParams(e, child, two));
    OK(cuGraphLaunch(e, nullptr));
    EQUAL(read(p), 2);
}

CASE(a_disabled_node_does_nothing)
{
    int *p = cell(5);
    unsigned int enabled = 9;
    CUgraph g;
    CUgraphExec e;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS m = set_of(p, 1);
    OK(cuGraphCreate(&g, 0));
    OK(cuGraphAddMemsetNode(&node, g, nullptr, 0, &m, context()));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphNodeSetEnabled(e, node, 0));
    OK(cuGraphNodeGetEnabled(e, node, &enabled));
    EQUAL(enabled, 0);
    OK(cuGraphLaunch(e, nullptr));
    EQUAL(read(p), 5);
    OK(cuGraphNodeSetEnabled(e, node, 1));
    OK(cuGraphLaunch(e, nullptr));
    EQUAL(read(p), 1);
}

/* While a stream captures in global mode, calls that may wait are refused in every thread. */
static void forbidden(cudaStreamCaptureMode mode, cudaError_t (*call)(), bool refused)
{
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, mode));
    CHECK((call() == cudaErrorStreamCaptureUnsupported) == refused);
    CHECK((cudaStreamEndCapture(s, &g) != cudaSuccess) == refused);
}

static cudaEvent_t event;
static void *memory;

static cudaError_t query_event()
{
    return cudaEventQuery(event);
}

static cudaError_t free_memory()
{
    cudaError_t error = cudaFree(memory);
    OK(error == cudaErrorStreamCaptureUnsupported ? cudaSuccess : cudaMalloc(&memory, 4096));
    return error;
}

static cudaError_t wait_for_device()
{
    return cudaDeviceSynchronize();
}

CASE(calls_that_may_wait_are_refused_during_a_global_capture)
{
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event));
    OK(cudaDeviceSynchronize());
    OK(cudaMalloc(&memory, 4096));
    forbidden(cudaStreamCaptureModeGlobal, query_event, true);
    forbidden(cudaStreamCaptureModeGlobal, free_memory, true);
    forbidden(cudaStreamCaptureModeGlobal, wait_for_device, true);
}

CASE(and_but_for_the_device_not_during_a_relaxed_one)
{
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event));
    OK(cudaDeviceSynchronize());
    OK(cudaMalloc(&memory, 4096));
    forbidden(cudaStreamCaptureModeRelaxed, query_event, false);
    forbidden(cudaStreamCaptureModeRelaxed, free_memory, false);
    forbidden(cudaStreamCaptureModeRelaxed, wait_for_device, true);
}

CASE(asking_about_the_legacy_stream_harms_no_capture)
{
    cudaStream_t s;
    cudaStreamCaptureStatus status;
    cudaGraph_t g;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GIVES(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
    OK(cudaStreamEndCapture(s, &g));
}
