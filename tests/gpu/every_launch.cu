/* SPDX-License-Identifier: Apache-2.0 */
/* A small training-shaped loop that knows how many operations a step hands to the GPU, so that
 * Spillway's count can be held against it. Prints "step N loss X", and at the end "ops N" on
 * stderr.
 *
 *   every_launch plain          <<<>>>, and cudaLaunchKernelExC
 *   every_launch cooperative    a launch with a grid-wide barrier in each step
 *   every_launch graph          three kernels in a graph, launched once a step
 *   every_launch cublas         gemm, batched by arrays of pointers, grouped (WITH_CUBLAS)
 *   every_launch count          what cublas adds to a step, as a capture counts it */
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#ifdef WITH_CUBLAS
#include <cublas_v2.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int error_ = (int)(call);                                                                  \
        if (error_ != 0) {                                                                         \
            fflush(stdout);                                                                        \
            fprintf(stderr, "error %d at %s:%d\n", error_, __FILE__, __LINE__);                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#ifdef __SIMGPU__
enum { MIB = 2 };
#else
enum { MIB = 64 };
#endif
enum { STEPS = 16, LAYERS = 4, THREADS = 128, BLOCKS = 8, STRIDE = 61, SIDE = 256, BATCH = 4 };

static int ops;

__global__ void fill(float *x, int n, float seed)
{
    for (int i = STRIDE * (blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += STRIDE * blockDim.x * gridDim.x)
        x[i] = seed + 0.001f * (float)(i % 1021);
}

__global__ void layer(const float *x, float *w, float *y, int n)
{
    for (int i = STRIDE * (blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += STRIDE * blockDim.x * gridDim.x) {
        y[i] = 0.5f * x[i] + 0.25f * w[i];
        w[i] = 0.9375f * w[i] + 0.03125f * y[i];
    }
}

/* Everyone writes, then everyone reads what another has written. */
__global__ void around(float *x, float *y, int n)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    int rank = (int)grid.thread_rank(), size = (int)grid.size();
    for (int i = STRIDE * rank; i < n; i += STRIDE * size)
        y[i] = 0.5f * x[i];
    grid.sync();
    if (rank * STRIDE < n && (size - 1 - rank) * STRIDE < n)
        x[rank * STRIDE] += y[(size - 1 - rank) * STRIDE];
}

__global__ void sum(const float *x, int n, float *out)
{
    float s = 0;
    for (int i = 0; i < n; i += 16 * STRIDE) /* one thread: still every page */
        s += x[i] * (float)(1 + i % 13);
    *out = s;
}

struct net {
    float *w[LAYERS], *g[2], *result;
    int n;
    cudaGraphExec_t graph;
    cudaStream_t stream;
};

static float *array(size_t bytes)
{
    void *p = NULL;
    CHECK(cudaMalloc(&p, bytes));
    return (float *)p;
}

static void launched(void)
{
    CHECK(cudaGetLastError());
    ops++;
}

static void run_layer(struct net *net, int l, const float *x, float *y)
{
    if (l % 2 == 0) {
        layer<<<BLOCKS, THREADS, 0, net->stream>>>(x, net->w[l], y, net->n);
    } else {
        void *args[] = {&x, &net->w[l], &y, &net->n};
        cudaLaunchConfig_t config = {};
        config.gridDim = dim3(BLOCKS);
        config.blockDim = dim3(THREADS);
        config.stream = net->stream;
        CHECK(cudaLaunchKernelExC(&config, (const void *)layer, args));
    }
    launched();
}

static void run_cooperative(struct net *net, float *x, float *y)
{
    void *args[] = {&x, &y, &net->n};
    CHECK(cudaLaunchCooperativeKernel((const void *)around, dim3(BLOCKS), dim3(THREADS), args, 0,
                                      net->stream));
    launched();
}

static void make_graph(struct net *net)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    net->g[0] = array(sizeof(float) * net->n);
    net->g[1] = array(sizeof(float) * net->n);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    fill<<<BLOCKS, THREADS, 0, stream>>>(net->g[0], net->n, 0.25f);
    for (int l = 0; l < 2; l++)
        layer<<<BLOCKS, THREADS, 0, stream>>>(net->g[l], net->w[l], net->g[1 - l], net->n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&net->graph, graph, 0));
}

#ifdef WITH_CUBLAS
static cublasHandle_t blas;
static float *blas_a[BATCH], *blas_b[BATCH], *blas_c[BATCH];
static float **table_a, **table_b, **table_c;

static float **upload(float *const *pointers)
{
    float **table = (float **)array(sizeof(float *) * BATCH);
    CHECK(cudaMemcpy(table, pointers, sizeof(float *) * BATCH, cudaMemcpyHostToDevice));
    return table;
}

static void blas_up(struct net *net)
{
    const size_t bytes = (size_t)32 << 20;
    CHECK(cublasCreate(&blas));
    CHECK(cublasSetStream(blas, net->stream));
    /* A workspace of the program's own: none is then allocated in the middle of a step. */
    CHECK(cublasSetWorkspace(blas, array(bytes), bytes));
    for (int i = 0; i < BATCH; i++) {
        blas_a[i] = array(sizeof(float) * SIDE * SIDE);
        blas_b[i] = array(sizeof(float) * SIDE * SIDE);
        blas_c[i] = array(sizeof(float) * SIDE * SIDE);
        fill<<<BLOCKS, THREADS, 0, net->stream>>>(blas_a[i], SIDE * SIDE, 0.5f);
        CHECK(cudaMemset(blas_b[i], 0, sizeof(float) * SIDE * SIDE));
        CHECK(cudaMemset(blas_c[i], 0, sizeof(float) * SIDE * SIDE));
    }
    table_a = upload(blas_a);
    table_b = upload(blas_b);
    table_c = upload(blas_c);
}

static void run_blas(const float *x)
{
    const float one = 1.0f, some = 0.001f;
    CHECK(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &some, x, SIDE, blas_a[0],
                      SIDE, &one, blas_b[0], SIDE));
    CHECK(cublasSgemmBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &some, table_a, SIDE,
                             table_b, SIDE, &one, table_c, SIDE, BATCH));
#if CUBLAS_VERSION >= 120400
    const cublasOperation_t plain = CUBLAS_OP_N;
    const int side = SIDE, count = BATCH;
    CHECK(cublasSgemmGroupedBatched(blas, &plain, &plain, &side, &side, &side, &some, table_a,
                                    &side, table_c, &side, &one, table_b, &side, 1, &count));
#endif
}

static int count_blas(struct net *net, const float *x)
{
    cudaGraph_t graph;
    size_t nodes = 0;
    run_blas(x); /* the first call of each loads its kernels */
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamBeginCapture(net->stream, cudaStreamCaptureModeRelaxed));
    run_blas(x);
    CHECK(cudaStreamEndCapture(net->stream, &graph));
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    return (int)nodes;
}
#endif

static float step(struct net *net, const char *mode, int number)
{
    float *a[LAYERS + 1], loss = 0;
    size_t bytes = sizeof(float) * net->n;
    ops = 0;
    a[0] = array(bytes);
    fill<<<BLOCKS, THREADS, 0, net->stream>>>(a[0], net->n, 0.01f * (float)number);
    launched();
    for (int l = 0; l < LAYERS; l++) {
        a[l + 1] = array(bytes);
        run_layer(net, l, a[l], a[l + 1]);
    }
    if (strcmp(mode, "cooperative") == 0)
        run_cooperative(net, a[LAYERS], a[0]);
    if (strcmp(mode, "graph") == 0) {
        CHECK(cudaGraphLaunch(net->graph, net->stream));
        launched();
    }
#ifdef WITH_CUBLAS
    if (strcmp(mode, "cublas") == 0) {
        run_blas(a[LAYERS]);
        layer<<<BLOCKS, THREADS, 0, net->stream>>>(blas_b[0], a[0], a[LAYERS], SIDE * SIDE);
        launched();
        layer<<<BLOCKS, THREADS, 0, net->stream>>>(blas_c[BATCH - 1], a[0], a[LAYERS], SIDE * SIDE);
        launched();
    }
#endif
    for (int l = LAYERS - 1; l >= 0; l--)
        run_layer(net, l, a[l + 1], a[l]);
    sum<<<1, 1, 0, net->stream>>>(a[0], net->n, net->result);
    launched();
    CHECK(cudaMemcpyAsync(&loss, net->result, sizeof(loss), cudaMemcpyDeviceToHost, net->stream));
    ops++;
    CHECK(cudaStreamSynchronize(net->stream));
    for (int l = 0; l <= LAYERS; l++)
        CHECK(cudaFree(a[l]));
    return loss;
}

int main(int argc, char **argv)
{
    static struct net net;
    const char *mode = argc > 1 ? argv[1] : "plain";
    net.n = MIB * (1 << 20) / (int)sizeof(float);
    net.result = array(sizeof(float));
    for (int l = 0; l < LAYERS; l++) {
        net.w[l] = array(sizeof(float) * net.n);
        fill<<<BLOCKS, THREADS>>>(net.w[l], net.n, 0.1f * (float)l);
        CHECK(cudaGetLastError());
    }
    if (strcmp(mode, "graph") == 0)
        make_graph(&net);
    if (strcmp(mode, "cublas") == 0 || strcmp(mode, "count") == 0) {
#ifdef WITH_CUBLAS
        if (strcmp(mode, "count") == 0)
            CHECK(cudaStreamCreateWithFlags(&net.stream, cudaStreamNonBlocking));
        blas_up(&net);
        if (strcmp(mode, "count") == 0) {
            CHECK(cudaDeviceSynchronize());
            fprintf(stderr, "ops %d\n", count_blas(&net, net.w[0]));
            return 0;
        }
#else
        return 77;
#endif
    }
    for (int number = 1; number <= STEPS; number++)
        printf("step %d loss %.9g\n", number, step(&net, mode, number));
    fprintf(stderr, "ops %d\n", ops);
    return 0;
}
