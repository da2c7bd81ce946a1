/* SPDX-License-Identifier: Apache-2.0 */
/* A small training-shaped loop on each of several devices, or again and again on one. Every kernel
 * reads and writes every buffer it is given; the sums that are printed show any byte that is lost,
 * stale or early.
 *   --devices N --steps N --layers N
 *   --threads   a thread for each device; otherwise one drives all, a step each in turn
 *   --copy      each step ends with a copy of weights from each device to the next one
 *   --graph     the same by a graph of each device
 *   --peer      from step 4 on device 1 reads device 0's weights
 *   --reset N   the loop runs N times, with cudaDeviceReset in between
 *   --kinds     steps of three kinds in irregular turns: whole ones, of half the layers, without
 * the way back
 *   --context   a second context of device 0 works in between, too */
#include <cuda.h>

#include <pthread.h>

#include "victim.h"

enum {
    DEVICES_MAX = 8,
    LAYERS_MAX = 16,
    ELEMENTS = 1 << 20, /* 4 MiB a buffer */
    STRIDE = 127 /* every 127th element: all pages of a buffer, at a cost that tests can pay */
};

static int devices = 1, steps = 12, layers = 6, resets = 1;
static int threads, copies, graphs, peers, contexts, kinds;

/* Of each step: 0 whole, 1 half the layers, 2 without the way back. */
static const char turns[] = "0000111022200100112001220001102210012001120221001200112200011022";

struct net {
    int device;
    float *w[LAYERS_MAX], *a[LAYERS_MAX + 1], *inbox, *sum;
    cudaStream_t stream;
    cudaGraphExec_t graph; /* of the copy to the next device */
    float printed[2 * 64];
};
static struct net nets[DEVICES_MAX];

__global__ void mix(float *x, float *y, int n, float c)
{
    for (int i = STRIDE * (blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += STRIDE * gridDim.x * blockDim.x) {
        float v = 0.5f * x[i] + 0.25f * y[i] + c;
        x[i] = 0.75f * x[i] + 0.125f * v;
        y[i] = v;
    }
}

__global__ void fill(float *x, int n, float c)
{
    for (int i = STRIDE * (blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += STRIDE * gridDim.x * blockDim.x)
        x[i] = c + 0.001f * (float)(i % 1021);
}

__global__ void total(const float *x, int n, float *out)
{
    float sum = 0;
    for (int i = 0; i < n && threadIdx.x == 0; i += STRIDE)
        sum += x[i] * (float)(1 + i % 13);
    if (threadIdx.x == 0)
        *out = sum;
}

static void make(struct net *net)
{
    CHECK_ANY(cudaSetDevice(net->device));
    CHECK_ANY(cudaStreamCreateWithFlags(&net->stream, cudaStreamNonBlocking));
    CHECK_ANY(cudaMalloc((void **)&net->sum, sizeof(float)));
    CHECK_ANY(cudaMalloc((void **)&net->inbox, sizeof(float) * ELEMENTS));
    fill<<<2, 64, 0, net->stream>>>(net->inbox, ELEMENTS, 0.5f);
    for (int l = 0; l < layers; l++) {
        CHECK_ANY(cudaMalloc((void **)&net->w[l], sizeof(float) * ELEMENTS));
        fill<<<2, 64, 0, net->stream>>>(net->w[l], ELEMENTS, 0.1f * (float)(l + net->device));
    }
}

static float read_total(struct net *net, const float *x)
{
    float sum = 0;
    total<<<1, 32, 0, net->stream>>>(x, ELEMENTS, net->sum);
    CHECK_ANY(cudaMemcpyAsync(&sum, net->sum, sizeof(sum), cudaMemcpyDeviceToHost, net->stream));
    CHECK_ANY(cudaStreamSynchronize(net->stream));
    return sum;
}

static void step(struct net *net, int number)
{
    int kind = kinds ? turns[number] - '0' : 0, depth = kind == 1 ? layers / 2 : layers;
    CHECK_ANY(cudaSetDevice(net->device));
    CHECK_ANY(cudaMalloc((void **)&net->a[0], sizeof(float) * ELEMENTS));
    fill<<<2, 64, 0, net->stream>>>(net->a[0], ELEMENTS, 0.01f * (float)number);
    for (int l = 0; l < depth; l++) {
        CHECK_ANY(cudaMalloc((void **)&net->a[l + 1], sizeof(float) * ELEMENTS));
        fill<<<2, 64, 0, net->stream>>>(net->a[l + 1], ELEMENTS, 0.02f * (float)l);
        mix<<<2, 64, 0, net->stream>>>(net->a[l], net->a[l + 1], ELEMENTS, 0.125f);
        mix<<<2, 64, 0, net->stream>>>(net->w[l], net->a[l + 1], ELEMENTS, 0.0625f);
    }
    for (int l = depth; l >= 0; l--) {
        if (kind != 2)
            mix<<<2, 64, 0, net->stream>>>(net->a[l], net->w[l > 0 ? l - 1 : 0], ELEMENTS,
                                           0.03125f);
        CHECK_ANY(cudaGetLastError());
        CHECK_ANY(cudaFree(net->a[l]));
    }
    mix<<<2, 64, 0, net->stream>>>(net->inbox, net->w[0], ELEMENTS, 0.25f);
    net->printed[2 * number] = read_total(net, net->w[0]);
    net->printed[2 * number + 1] = read_total(net, net->w[layers - 1]);
}

static void send(struct net *from, struct net *to)
{
    cudaGraph_t captured;
    CHECK_ANY(cudaSetDevice(from->device));
    if (graphs && from->graph != NULL) {
        CHECK_ANY(cudaGraphLaunch(from->graph, from->stream));
        CHECK_ANY(cudaStreamSynchronize(from->stream));
        return;
    }
    if (graphs)
        CHECK_ANY(cudaStreamBeginCapture(from->stream, cudaStreamCaptureModeGlobal));
    CHECK_ANY(cudaMemcpyPeerAsync(to->inbox, to->device, from->w[layers / 2], from->device,
                                  sizeof(float) * ELEMENTS, from->stream));
    if (graphs) {
        CHECK_ANY(cudaStreamEndCapture(from->stream, &captured));
        CHECK_ANY(cudaGraphInstantiate(&from->graph, captured, 0));
        send(from, to);
        return;
    }
    CHECK_ANY(cudaStreamSynchronize(from->stream));
}

static void reach(struct net *from, struct net *by, int number)
{
    CHECK_ANY(cudaSetDevice(by->device));
    if (number == 4)
        CHECK_ANY(cudaDeviceEnablePeerAccess(from->device, 0));
    if (number < 4)
        return;
    mix<<<2, 64, 0, by->stream>>>(from->w[1], by->w[1], ELEMENTS, 0.5f);
    CHECK_ANY(cudaGetLastError());
    CHECK_ANY(cudaStreamSynchronize(by->stream));
}

/* The other context's own memory and work. */
static void work_elsewhere(CUcontext context, CUdeviceptr *buffer, int number)
{
    float value = 0;
    CHECK_ANY(cuCtxPushCurrent(context));
    if (*buffer == 0)
        CHECK_ANY(cuMemAlloc(buffer, 4 << 20));
    CHECK_ANY(cuMemsetD32(*buffer, (unsigned)number, 1 << 20));
    CHECK_ANY(cuMemcpyDtoH(&value, *buffer + (2 << 20), sizeof(value)));
    CHECK_ANY(cuCtxPopCurrent(NULL));
    if (memcmp(&value, &number, sizeof(value)) != 0)
        printf("step %d: the other context's memory is wrong\n", number);
}

static void drop(struct net *net)
{
    CHECK_ANY(cudaSetDevice(net->device));
    for (int l = 0; l < layers; l++)
        CHECK_ANY(cudaFree(net->w[l]));
    CHECK_ANY(cudaFree(net->inbox));
    CHECK_ANY(cudaFree(net->sum));
    CHECK_ANY(cudaStreamDestroy(net->stream));
}

static void *run_thread(void *argument)
{
    struct net *net = (struct net *)argument;
    make(net);
    for (int s = 0; s < steps; s++)
        step(net, s);
    return NULL;
}

static void run_threads(void)
{
    pthread_t thread[DEVICES_MAX];
    for (int d = 0; d < devices; d++)
        pthread_create(&thread[d], NULL, run_thread, &nets[d]);
    for (int d = 0; d < devices; d++)
        pthread_join(thread[d], NULL);
}

static void run_in_turn(void)
{
    CUcontext other = NULL;
    CUdeviceptr buffer = 0;
    for (int d = 0; d < devices; d++)
        make(&nets[d]);
    if (contexts) {
#if CUDA_VERSION >= 13000
        CHECK_ANY(cuCtxCreate(&other, NULL, 0, 0));
#else
        CHECK_ANY(cuCtxCreate(&other, 0, 0));
#endif
        CHECK_ANY(cuCtxPopCurrent(NULL));
    }
    for (int s = 0; s < steps; s++) {
        for (int d = 0; d < devices; d++)
            step(&nets[d], s);
        for (int d = 0; copies && d < devices; d++)
            send(&nets[d], &nets[(d + 1) % devices]);
        if (peers)
            reach(&nets[0], &nets[1], s);
        if (contexts)
            work_elsewhere(other, &buffer, s);
    }
    if (contexts)
        CHECK_ANY(cuCtxDestroy(other));
}

static void parse(int argc, char **argv)
{
    static const struct victim_option options[] = {
        {"--devices", &devices, 0}, {"--steps", &steps, 0},     {"--layers", &layers, 0},
        {"--reset", &resets, 0},    {"--threads", &threads, 1}, {"--copy", &copies, 1},
        {"--graph", &graphs, 1},    {"--peer", &peers, 1},      {"--context", &contexts, 1},
        {"--kinds", &kinds, 1},
    };
    victim_parse(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (devices < 1 || devices > DEVICES_MAX || layers < 2 || layers > LAYERS_MAX || steps < 1 ||
        steps > 64)
        exit(64);
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    for (int r = 0; r < resets; r++) {
        for (int d = 0; d < devices; d++)
            nets[d].device = d;
        if (threads)
            run_threads();
        else
            run_in_turn();
        for (int d = 0; d < devices; d++) {
            for (int s = 0; s < steps; s++)
                printf("run %d device %d step %d sums %.9g %.9g\n", r, d, s, nets[d].printed[2 * s],
                       nets[d].printed[2 * s + 1]);
            if (r + 1 == resets) {
                drop(&nets[d]);
                continue;
            }
            CHECK_ANY(cudaSetDevice(d));
            CHECK_ANY(cudaDeviceReset());
        }
    }
    return 0;
}
