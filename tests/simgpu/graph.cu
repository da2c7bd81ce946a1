// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#include "simtest.h"

__global__ void add_to(int *p, int v)
{
    *p += v;
}
__global__ void times(int *p, int v)
{
    *p *= v;
}

static int *cell()
{
    int *p;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    OK(cudaDeviceSynchronize());
    return p;
}

static int read(const int *p)
{
    int v = -1;
    OK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    return v;
}

static cudaStream_t stream()
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
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
