/* SPDX-License-Identifier: Apache-2.0 */
/* A training-shaped program whose steps are graph launches with an allocation, a kernel and a copy
 * around them. Usage: graph_steps once|each [STEPS] [MIB]: the graph is captured once, or anew in
 * each step; buffers of MIB. Prints a sum a step. */
#include "victim.h"

enum { LAYERS = 4, STRIDE = 509 };

static int count;
static float *weights[LAYERS], *state, *out;
static cudaStream_t stream;
static cudaGraphExec_t graph;

__global__ void layer(float *w, float *x, int n)
{
    for (int i = STRIDE * threadIdx.x; i < n; i += STRIDE * blockDim.x) {
        x[i] = 0.75f * x[i] + 0.125f * w[i] + 0.25f;
        w[i] = 0.9375f * w[i] + 0.03125f * x[i];
    }
}

__global__ void sum(const float *x, const float *y, int n, float *total)
{
    float s = 0;
    for (int i = 0; threadIdx.x == 0 && i < n; i += STRIDE)
        s += x[i] + y[i] * (float)(1 + i % 13);
    if (threadIdx.x == 0)
        *total = s;
}

static void capture(void)
{
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int l = 0; l < LAYERS; l++)
        layer<<<1, 32, 0, stream>>>(weights[l], state, count);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&graph, captured, 0));
    CHECK(cudaGraphDestroy(captured));
}

static void step(int number, bool anew)
{
    float *fresh, result;
    CHECK(cudaMalloc(&fresh, count * sizeof(float)));
    CHECK(cudaMemsetAsync(fresh, 0, count * sizeof(float), stream));
    layer<<<1, 32, 0, stream>>>(fresh, state, count);
    if (anew)
        capture();
    CHECK(cudaGraphLaunch(graph, stream));
    sum<<<1, 32, 0, stream>>>(state, fresh, count, out);
    CHECK(cudaMemcpyAsync(&result, out, sizeof(result), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFree(fresh));
    if (anew)
        CHECK(cudaGraphExecDestroy(graph));
    printf("step %d sum %.9g\n", number, (double)result);
}

int main(int argc, char **argv)
{
    int steps = argc > 2 ? atoi(argv[2]) : 8, mib = argc > 3 ? atoi(argv[3]) : 4;
    if (argc < 2 || (strcmp(argv[1], "once") != 0 && strcmp(argv[1], "each") != 0) || mib < 1)
        return 64;
    count = mib * (1 << 20) / (int)sizeof(float);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc(&out, sizeof(float)));
    CHECK(cudaMalloc(&state, count * sizeof(float)));
    CHECK(cudaMemset(state, 0, count * sizeof(float)));
    for (int l = 0; l < LAYERS; l++) {
        CHECK(cudaMalloc(&weights[l], count * sizeof(float)));
        CHECK(cudaMemset(weights[l], 0, count * sizeof(float)));
    }
    if (strcmp(argv[1], "once") == 0)
        capture();
    for (int s = 1; s <= steps; s++)
        step(s, strcmp(argv[1], "each") == 0);
    return 0;
}
