/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, captured and built by hand, whose buffers were out when they were made: what they do
 * later shows in no call. Prints what a program sees. */
#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>

#include "must.h"

enum { BUFFERS = 6, KEPT = 3 };
#define BYTES ((size_t)4 << 20)

static CUdeviceptr buffer[BUFFERS];
static unsigned char host[4096];

static void show(const char *what)
{
    MUST(cuCtxSynchronize());
    printf("%s:", what);
    for (int b = 0; b < KEPT; b++) {
        unsigned long s = 0;
        MUST(cuMemcpyDtoH_v2(host, buffer[b] + BYTES / 2, sizeof(host)));
        for (size_t i = 0; i < sizeof(host); i++)
            s = s * 31 + host[i];
        printf(" %016lx", s);
    }
    printf("\n");
}

static CUgraphExec captured(CUstream stream)
{
    CUgraph graph;
    CUgraphExec exec;
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemcpyDtoDAsync_v2(buffer[1], buffer[0], BYTES, stream));
    MUST(cuMemsetD8Async(buffer[2], 0x77, BYTES, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static CUgraphExec built(CUcontext context)
{
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    CUDA_MEMSET_NODE_PARAMS set = {
        .dst = buffer[0], .value = 0x42, .elementSize = 1, .width = BYTES, .height = 1};
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

int main(void)
{
    CUcontext context;
    CUstream stream;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int b = 0; b < BUFFERS; b++) {
        MUST(cuMemAlloc_v2(&buffer[b], BYTES));
        MUST(cuMemsetD8_v2(buffer[b], (unsigned char)(b + 1), BYTES));
    }
    CUgraphExec by_hand = built(context); /* while they are out */
    for (int b = KEPT; b < BUFFERS; b++)
        MUST(cuMemFree_v2(buffer[b]));    /* all that is left can be there at once */
    MUST(cuGraphLaunch(by_hand, stream)); /* nothing was captured yet */
    show("built");
    CUgraphExec by_capture = captured(stream);
    show("made");
    MUST(cuGraphLaunch(by_capture, stream));
    show("captured");
    MUST(cuMemAlloc_v2(&buffer[3], BYTES));
    MUST(cuMemsetD8_v2(buffer[3], 9, BYTES));
    MUST(cuGraphLaunch(by_capture, stream));
    show("again");
    return 0;
}
