// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#include "simtest.h"

#include "cells.h"

__global__ void add_to(int *p, int v)
{
    *p += v;
}
__global__ void times(int *p, int v)
{
    *p *= v;
}

CASE(captured_work_does_not_run)
{
    int *p = cell();
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaDeviceSynchronize());
    EQUAL(read(p), 0);
}

CASE(a_graph_runs_as_often_as_it_is_launched)
{
    int *p = cell();
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 3);
    times<<<1, 1, 0, s>>>(p, 2);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphDestroy(g));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(read(p), ((3 * 2 + 3) * 2 + 3) * 2);
    OK(cudaGraphExecDestroy(e));
}

CASE(capture_status)
{
    cudaStream_t s = stream();
    cudaStreamCaptureStatus status;
    cudaGraph_t g;
    OK(cudaStreamIsCapturing(s, &status));
    EQUAL(status, cudaStreamCaptureStatusNone);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaStreamIsCapturing(s, &status));
    EQUAL(status, cudaStreamCaptureStatusActive);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaStreamIsCapturing(s, &status));
    EQUAL(status, cudaStreamCaptureStatusNone);
}

CASE(fork_and_join_across_streams)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t fork, join;
    cudaGraph_t g;
    cudaGraphExec_t e;
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 5);
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork, 0));
    OK(cudaMemcpyAsync(q, p, 4, cudaMemcpyDeviceToDevice, t));
    OK(cudaEventRecord(join, t));
    OK(cudaStreamWaitEvent(s, join, 0));
    times<<<1, 1, 0, s>>>(q, 10);
    OK(cudaStreamEndCapture(s, &g));
    size_t n = 0;
    OK(cudaGraphGetNodes(g, nullptr, &n));
    EQUAL(n, 3);
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(read(q), 50);
}

CASE(an_unjoined_stream_is_an_error)
{
    cudaStream_t s = stream(), t = stream();
    cudaEvent_t fork;
    cudaGraph_t g;
    int *p = cell();
    OK(cudaEventCreate(&fork));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaEventRecord(fork, s));
    OK(cudaStreamWaitEvent(t, fork, 0));
    add_to<<<1, 1, 0, t>>>(p, 5);
    GIVES(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureUnjoined);
}

CASE(synchronizing_a_capturing_stream_is_an_error)
{
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GIVES(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    GIVES(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
}

CASE(the_legacy_stream_cannot_be_captured)
{
    OK(cudaFree(nullptr));
    GIVES(cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeGlobal),
          cudaErrorStreamCaptureUnsupported);
}

CASE(ending_without_beginning_is_an_error)
{
    cudaGraph_t g;
    GIVES(cudaStreamEndCapture(stream(), &g), cudaErrorIllegalState);
}

CASE(explicit_nodes_with_dependencies)
{
    int *p = cell(), three = 3, four = 4;
    cudaGraph_t g;
    cudaGraphNode_t a, b;
    cudaGraphExec_t e;
    void *add_args[] = {&p, &three}, *times_args[] = {&p, &four};
    cudaKernelNodeParams k = {};
    k.func = (void *)add_to;
    k.gridDim = dim3(1);
    k.blockDim = dim3(1);
    k.kernelParams = add_args;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&a, g, nullptr, 0, &k));
    k.func = (void *)times;
    k.kernelParams = times_args;
    OK(cudaGraphAddKernelNode(&b, g, &a, 1, &k));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, 0));
    EQUAL(read(p), 12);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(a, &type));
    EQUAL(type, cudaGraphNodeTypeKernel);
    cudaKernelNodeParams got = {};
    OK(cudaGraphKernelNodeGetParams(b, &got));
    CHECK(got.func == (void *)times);
    EQUAL(*(int *)got.kernelParams[1], 4);
}

CASE(parameters_of_an_instantiated_node_can_change)
{
    int *p = cell(), three = 3, five = 5;
    cudaGraph_t g;
    cudaGraphNode_t a;
    cudaGraphExec_t e;
    void *args[] = {&p, &three};
    cudaKernelNodeParams k = {};
    k.func = (void *)add_to;
    k.gridDim = dim3(1);
    k.blockDim = dim3(1);
    k.kernelParams = args;
    OK(cudaGraphCreate(&g, 0));
    OK(cudaGraphAddKernelNode(&a, g, nullptr, 0, &k));
    OK(cudaGraphInstantiate(&e, g, 0));
    args[1] = &five;
    OK(cudaGraphExecKernelNodeSetParams(e, a, &k));
    OK(cudaGraphLaunch(e, 0));
    EQUAL(read(p), 5);
}

CASE(update_takes_new_parameters_of_the_same_topology)
{
    int *p = cell();
    cudaStream_t s = stream();
    cudaGraph_t g, h;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 100);
    OK(cudaStreamEndCapture(s, &h));
    cudaGraphExecUpdateResultInfo info;
    OK(cudaGraphExecUpdate(e, h, &info));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(read(p), 100);
}

CASE(update_refuses_another_topology)
{
    int *p = cell();
    cudaStream_t s = stream();
    cudaGraph_t g, h;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    add_to<<<1, 1, 0, s>>>(p, 1);
    add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaStreamEndCapture(s, &h));
    cudaGraphExecUpdateResultInfo info;
    GIVES(cudaGraphExecUpdate(e, h, &info), cudaErrorGraphExecUpdateFailure);
}

static void bump(void *p)
{
    ++*(int *)p;
}
CASE(host_nodes_run_in_order)
{
    static int count;
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchHostFunc(s, bump, &count));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, s));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(count, 2);
}

static cudaGraphNode_t kernel_node(cudaGraph_t g, const cudaGraphNode_t *before,
                                   void (*f)(int *, int), int *p, int v)
{
    cudaGraphNode_t node = nullptr;
    void *args[] = {&p, &v};
    cudaKernelNodeParams k = {};
    k.func = (void *)f;
    k.gridDim = dim3(1);
    k.blockDim = dim3(1);
    k.kernelParams = args;
    OK(cudaGraphAddKernelNode(&node, g, before, before != nullptr, &k));
    return node;
}

CASE(a_child_graph_is_one_node)
{
    int *p = cell();
    cudaGraph_t g, inner, held;
    cudaGraphNode_t child;
    cudaGraphExec_t e;
    OK(cudaGraphCreate(&inner, 0));
    cudaGraphNode_t first = kernel_node(inner, nullptr, add_to, p, 2);
    kernel_node(inner, &first, times, p, 3);
    OK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t before = kernel_node(g, nullptr, add_to, p, 1);
    OK(cudaGraphAddChildGraphNode(&child, g, &before, 1, inner));
    kernel_node(g, &child, times, p, 10);
    cudaGraphNodeType type;
    OK(cudaGraphNodeGetType(child, &type));
    EQUAL(type, cudaGraphNodeTypeGraph);
    OK(cudaGraphChildGraphNodeGetGraph(child, &held));
    CHECK(held != inner);
    size_t n = 0;
    OK(cudaGraphGetNodes(held, nullptr, &n));
    EQUAL(n, 2);
    OK(cudaGraphDestroy(inner)); // "a clone of the child graph"
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, 0));
    EQUAL(read(p), (1 + 2) * 3 * 10);
    OK(cudaGraphLaunch(e, 0));
    EQUAL(read(p), (90 + 1 + 2) * 3 * 10);
}

CASE(a_clone_is_a_graph_of_its_own)
{
    int *p = cell();
    cudaGraph_t g, copy;
    cudaGraphExec_t e;
    OK(cudaGraphCreate(&g, 0));
    kernel_node(g, nullptr, add_to, p, 4);
    OK(cudaGraphClone(&copy, g));
    kernel_node(g, nullptr, add_to, p, 100);
    OK(cudaGraphDestroy(g));
    OK(cudaGraphInstantiate(&e, copy, 0));
    OK(cudaGraphDestroy(copy));
    OK(cudaGraphLaunch(e, 0));
    EQUAL(read(p), 4);
}

CASE(roots_are_nodes_without_dependencies)
{
    int *p = cell();
    cudaGraph_t g;
    cudaGraphNode_t roots[3] = {};
    size_t n = 0;
    OK(cudaGraphCreate(&g, 0));
    cudaGraphNode_t a = kernel_node(g, nullptr, add_to, p, 1);
    kernel_node(g, &a, add_to, p, 1);
    cudaGraphNode_t c = kernel_node(g, nullptr, add_to, p, 1);
    OK(cudaGraphGetRootNodes(g, nullptr, &n));
    EQUAL(n, 2);
    n = 3;
    OK(cudaGraphGetRootNodes(g, roots, &n));
    EQUAL(n, 2);
    CHECK((roots[0] == a && roots[1] == c) || (roots[0] == c && roots[1] == a));
    CHECK(roots[2] == nullptr); // what is left of the array is set to NULL
}

static int count_of(cudaGraph_t g, cudaGraphNodeType wanted)
{
    cudaGraphNode_t nodes[16];
    size_t n = 16;
    int count = 0;
    OK(cudaGraphGetNodes(g, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        cudaGraphNodeType type;
        OK(cudaGraphNodeGetType(nodes[i], &type));
        count += type == wanted;
    }
    return count;
}

CASE(capture_makes_nodes_of_each_kind)
{
    int *p = cell(), *q = cell();
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 0, 4, s));
    OK(cudaMemcpyAsync(q, p, 4, cudaMemcpyDeviceToDevice, s));
    add_to<<<1, 1, 0, s>>>(p, 1);
    OK(cudaLaunchHostFunc(s, bump, p));
    OK(cudaStreamEndCapture(s, &g));
    EQUAL(count_of(g, cudaGraphNodeTypeMemset), 1);
    EQUAL(count_of(g, cudaGraphNodeTypeMemcpy), 1);
    EQUAL(count_of(g, cudaGraphNodeTypeKernel), 1);
    EQUAL(count_of(g, cudaGraphNodeTypeHost), 1);
}

// Allocation in a capture: the address is fixed, the memory lives from the node to its free.
CASE(memory_allocated_and_freed_within_a_graph)
{
    int *p = nullptr, *result = cell();
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&p, 1 << 20, s));
    CHECK(p != nullptr);
    OK(cudaMemsetAsync(p, 0, 4, s));
    add_to<<<1, 1, 0, s>>>(p, 21);
    times<<<1, 1, 0, s>>>(p, 2);
    OK(cudaMemcpyAsync(result, p, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamEndCapture(s, &g));
    EQUAL(count_of(g, cudaGraphNodeTypeMemAlloc), 1);
    EQUAL(count_of(g, cudaGraphNodeTypeMemFree), 1);
    OK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < 3; i++) {
        OK(cudaMemset(result, 0, 4));
        OK(cudaDeviceSynchronize());
        OK(cudaGraphLaunch(e, s));
        OK(cudaStreamSynchronize(s));
        EQUAL(read(result), 42);
    }
}

static cudaGraph_t unfreed(cudaStream_t s, int **p)
{
    cudaGraph_t g = nullptr;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)p, 4096, s));
    OK(cudaMemsetAsync(*p, 0, 4, s));
    add_to<<<1, 1, 0, s>>>(*p, 5);
    OK(cudaStreamEndCapture(s, &g));
    return g;
}

CASE(memory_that_a_graph_leaves_is_used_and_freed_outside)
{
    int *p;
    cudaStream_t s = stream();
    cudaGraphExec_t e;
    OK(cudaGraphInstantiate(&e, unfreed(s, &p), 0));
    for (int i = 0; i < 2; i++) {
        int v = 0;
        OK(cudaGraphLaunch(e, s));
        add_to<<<1, 1, 0, s>>>(p, 1);
        OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, s));
        OK(cudaFreeAsync(p, s));
        OK(cudaStreamSynchronize(s));
        EQUAL(v, 6);
    }
}

CASE(a_graph_with_unfreed_memory_cannot_run_again)
{
    int *p;
    cudaStream_t s = stream();
    cudaGraphExec_t e;
    OK(cudaGraphInstantiate(&e, unfreed(s, &p), 0));
    OK(cudaGraphLaunch(e, s));
    GIVES(cudaGraphLaunch(e, s), cudaErrorInvalidValue);
}

CASE(unless_it_frees_at_its_launch)
{
    int *p, v = 0;
    cudaStream_t s = stream();
    cudaGraphExec_t e;
    OK(cudaGraphInstantiate(&e, unfreed(s, &p), cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(e, s));
    OK(cudaGraphLaunch(e, s));
    OK(cudaMemcpyAsync(&v, p, 4, cudaMemcpyDeviceToHost, s));
    OK(cudaStreamSynchronize(s));
    EQUAL(v, 5);
}

CASE(a_cycle_cannot_be_instantiated)
{
    int *p = cell();
    CUgraph g;
    CUgraphExec e;
    OK(cuGraphCreate(&g, 0));
    CUgraphNode a = kernel_node(g, nullptr, add_to, p, 1), b = kernel_node(g, &a, add_to, p, 1);
    CUgraphNode_st *from = b, *to = a;
#if CUDA_VERSION >= 13000
    CUresult linked = cuGraphAddDependencies(g, &from, &to, nullptr, 1);
#else
    CUresult linked = cuGraphAddDependencies(g, &from, &to, 1);
#endif
    CHECK(linked != CUDA_SUCCESS || cuGraphInstantiateWithFlags(&e, g, 0) != CUDA_SUCCESS);
}

CASE(malloc_during_a_global_capture_is_an_error)
{
    int *p;
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GIVES(cudaMalloc((void **)&p, 4), cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(s, &g) != cudaSuccess);
}

CASE(malloc_during_a_relaxed_capture_is_fine)
{
    int *p;
    cudaStream_t s = stream();
    cudaGraph_t g;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc((void **)&p, 4));
    OK(cudaStreamEndCapture(s, &g));
}

CASE(a_thread_may_lift_the_ban_on_unsafe_calls)
{
    int *p;
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQUAL(mode, cudaStreamCaptureModeGlobal);
    OK(cudaMalloc((void **)&p, 4));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    EQUAL(mode, cudaStreamCaptureModeRelaxed);
    OK(cudaStreamEndCapture(s, &g));
}

CASE(edges_are_listed)
{
    int *p = cell();
    CUgraph g;
    OK(cuGraphCreate(&g, 0));
    CUgraphNode a = kernel_node(g, nullptr, add_to, p, 1), b = kernel_node(g, &a, add_to, p, 1);
    CUgraphNode from[2] = {}, to[2] = {};
    size_t n = 2;
#if CUDA_VERSION >= 13000
    OK(cuGraphGetEdges(g, from, to, nullptr, &n));
#else
    OK(cuGraphGetEdges(g, from, to, &n));
#endif
    EQUAL(n, 1);
    CHECK(from[0] == a && to[0] == b);
}
