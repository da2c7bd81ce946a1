/* SPDX-License-Identifier: Apache-2.0 */
/* A training-shaped program whose every kernel reads and writes every buffer it is given, so that
 * any byte lost, stale or early shows in the sums it prints. Options bend the sequence of steps:
 *   --steps N --layers N --mib N (size of an activation)
 *   --eval N    every N steps a forward pass alone      --small N   every N steps half-sized
 * activations
 *   --skip N    every N steps no weight update          --grow N    from step N on larger
 * activations
 *   --fail N    in step N a launch that must fail       --streams   weight updates on a second
 * stream
 *   --threads   the backward pass on a second thread    --hide N    in step N a pointer table is
 * uploaded
 *   --log N     every N steps one more copy to the host
 *   --mark      say where each step begins, if someone listens
 *   --profiler  the same by cudaProfilerStart
 *   --nvtx      by ./libranges.so (nvtx_ranges.c), as RANGES_HOW says
 *   --rarely N  say so only every N steps
 *   --ask N     in step N the process sends itself SIGUSR1, the default action of which is to end
 * it
 *   --handle    and handles it
 *   --build N   from step N on a kernel writes the pointer table anew in every step
 *   --async     activations in stream order, by cudaMallocAsync and cudaFreeAsync; with --streams
 * both streams take and free scratch memory beside each other, which only the pool's order keeps
 * apart
 *   --mixed     that scratch memory comes from cudaMalloc
 *   --young N   from step N on it is uploaded in every step, and points to activations, which every
 * step allocates anew */
#include <cuda_profiler_api.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include "victim.h"

enum {
    LAYERS_MAX = 32,
    THREADS = 64,
    SMALL = 4096, /* elements that take less than a page */
    SPARSE = 61   /* every 61st element: all pages of a buffer, at a cost that tests can pay */
};

static int steps = 12, layers = 8, mib = 2;
static int eval_every, small_every, skip_every, grow_at, fail_at, hide_at, log_every, build_at,
    ask_at, young_at;
static int by_profiler, by_nvtx, rarely = 1;
static int two_streams, two_threads, mark, handle, in_order, mixed;
static volatile sig_atomic_t handled;

extern "C" void spillway_iteration(void) __attribute__((weak));

/* Each thread owns its elements: no races inside a kernel. */
__global__ void forward(float *x, float *w, float *y, int n)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) {
        float v = 0.5f * x[i] + 0.25f * w[i] + 0.125f;
        y[i] = v;
        x[i] = 0.75f * x[i] + 0.0625f * v;
        w[i] = 0.9375f * w[i] + 0.03125f * v;
    }
}

__global__ void backward(float *y, float *g, float *w, int n)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) {
        float v = 0.5f * g[i] + 0.25f * y[i] - 0.125f * w[i];
        g[i] = v;
        y[i] = 0.5f * v;
        w[i] = 0.96875f * w[i] + 0.015625f * v;
    }
}

__global__ void update(float *w, float *m, int n)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) {
        m[i] = 0.875f * m[i] + 0.125f * w[i];
        w[i] = w[i] - 0.0625f * m[i];
    }
}

__global__ void fill(float *x, int n, float seed)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride)
        x[i] = seed + 0.001f * (float)(i % 1021);
}

/* Reaches its buffers through a table in device memory: no parameter names them. */
__global__ void through_table(float **table, int count, int n)
{
    int stride = SPARSE * gridDim.x * blockDim.x;
    for (int t = 0; t < count; t++)
        for (int i = SPARSE * (blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride)
            table[t][i] = 0.984375f * table[t][i] + 0.0078125f;
}

struct pointers {
    float *at[LAYERS_MAX];
};

__global__ void build_table(float **table, struct pointers from, int count)
{
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int t = 0; t < count; t++)
            table[t] = from.at[t];
}

/* One thread sums with a stride, in a fixed order. */
__global__ void checksum(const float *x, int n, float *out)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        float sum = 0;
        for (int i = 0; i < n; i += SPARSE)
            sum += x[i] * (float)(1 + i % 13);
        *out = sum;
    }
}

struct net {
    float *w[LAYERS_MAX], *m[LAYERS_MAX], *a[LAYERS_MAX + 1];
    float *result, **table;
    int table_count;
    int n, count; /* elements of an activation at most, and in this step */
    int step, no_update;
    cudaStream_t side;
    cudaEvent_t main_done, side_done;
};

static float *take(int count, cudaStream_t stream, int ordered)
{
    float *x = NULL;
    CHECK(ordered ? cudaMallocAsync((void **)&x, sizeof(float) * count, stream)
                  : cudaMalloc((void **)&x, sizeof(float) * count));
    return x;
}

static void give(float *x, cudaStream_t stream)
{
    CHECK(in_order ? cudaFreeAsync(x, stream) : cudaFree(x));
}

/* Changes X by way of COUNT elements of memory that is filled before STREAM waits for anything. */
static void through_scratch(struct net *net, float *x, int count, cudaStream_t stream)
{
    float *scratch = take(count, stream, in_order && !mixed);
    fill<<<2, THREADS, 0, stream>>>(scratch, count, 0.25f);
    CHECK(cudaGetLastError());
    if (stream == net->side)
        CHECK(cudaStreamWaitEvent(stream, net->main_done, 0));
    update<<<2, THREADS, 0, stream>>>(x, scratch, count);
    CHECK(cudaGetLastError());
    give(scratch, stream);
}

static void run_forward(struct net *net)
{
    net->a[0] = take(net->count, 0, in_order);
    fill<<<2, THREADS>>>(net->a[0], net->count, 0.01f * (float)net->step);
    CHECK(cudaGetLastError());
    for (int l = 0; l < layers; l++) {
        net->a[l + 1] = take(net->count, 0, in_order);
        forward<<<2, THREADS>>>(net->a[l], net->w[l], net->a[l + 1], net->count);
        CHECK(cudaGetLastError());
    }
}

static void free_activations(struct net *net)
{
    for (int l = 0; l <= layers; l++) {
        if (net->a[l] != NULL)
            give(net->a[l], 0);
        net->a[l] = NULL;
    }
}

static void run_backward(struct net *net)
{
    float *g = take(net->count, 0, in_order);
    fill<<<2, THREADS>>>(g, net->count, 0.5f);
    CHECK(cudaGetLastError());
    for (int l = layers - 1; l >= 0; l--) {
        backward<<<2, THREADS>>>(net->a[l + 1], g, net->w[l], net->count);
        CHECK(cudaGetLastError());
        give(net->a[l + 1], 0);
        net->a[l + 1] = NULL;
        if (net->no_update)
            continue;
        if (two_streams && in_order) {
            CHECK(cudaEventRecord(net->main_done, 0));
            through_scratch(net, net->w[l], net->count, net->side);
            through_scratch(net, g, SMALL, 0);
            through_scratch(net, net->m[l], SMALL, net->side);
        } else if (two_streams) {
            CHECK(cudaEventRecord(net->main_done, 0));
            CHECK(cudaStreamWaitEvent(net->side, net->main_done, 0));
            update<<<2, THREADS, 0, net->side>>>(net->w[l], net->m[l], net->n);
            CHECK(cudaEventRecord(net->side_done, net->side));
            CHECK(cudaStreamWaitEvent(0, net->side_done, 0));
        } else {
            update<<<2, THREADS>>>(net->w[l], net->m[l], net->n);
        }
        CHECK(cudaGetLastError());
    }
    give(g, 0);
    free_activations(net);
    if (two_streams && in_order) {
        CHECK(cudaEventRecord(net->side_done, net->side));
        CHECK(cudaStreamWaitEvent(0, net->side_done, 0));
    }
}

static void *backward_thread(void *net)
{
    run_backward((struct net *)net);
    return NULL;
}

static float read_sum(struct net *net, const float *x)
{
    float sum = 0;
    checksum<<<1, 32>>>(x, net->count, net->result);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&sum, net->result, sizeof(sum), cudaMemcpyDeviceToHost));
    return sum;
}

/* A launch with too many threads a block: an error, and nothing else changes. */
static void fail_once(struct net *net)
{
    update<<<1, 1 << 20>>>(net->w[0], net->m[0], net->n);
    printf("step %d failed as it should: %s\n", net->step, cudaGetErrorName(cudaGetLastError()));
}

static void upload_table(struct net *net, float **from, int count)
{
    if (net->table == NULL)
        CHECK(cudaMalloc((void **)&net->table, sizeof(float *) * layers));
    net->table_count = count;
    CHECK(cudaMemcpy(net->table, from, sizeof(float *) * count, cudaMemcpyHostToDevice));
}

/* Half of the weights: what the table reaches stays resident, and must fit. */
static void write_table(struct net *net)
{
    struct pointers from;
    memset(&from, 0, sizeof(from));
    for (int l = 0; l < layers / 2; l++)
        from.at[l] = net->w[l];
    if (net->table == NULL)
        CHECK(cudaMalloc((void **)&net->table, sizeof(float *) * layers));
    net->table_count = layers / 2;
    build_table<<<1, 1>>>(net->table, from, layers / 2);
    CHECK(cudaGetLastError());
}

static int every(int n, int step)
{
    return n != 0 && step % n == 0;
}

static void on_signal(int number)
{
    handled = number;
}

static void run_step(struct net *net)
{
    pthread_t thread;
    net->count = every(small_every, net->step)          ? net->n / 4
                 : grow_at != 0 && net->step >= grow_at ? net->n
                                                        : net->n / 2;
    net->no_update = every(skip_every, net->step);
    run_forward(net);
    if (net->step == fail_at)
        fail_once(net);
    if (net->step == ask_at)
        raise(SIGUSR1);
    if (net->step == hide_at)
        upload_table(net, net->w, layers);
    if (young_at != 0 && net->step >= young_at)
        upload_table(net, net->a, layers / 2);
    if (build_at != 0 && net->step >= build_at)
        write_table(net);
    if (net->table != NULL) {
        through_table<<<2, THREADS>>>(net->table, net->table_count, net->count);
        CHECK(cudaGetLastError());
    }
    if (every(log_every, net->step))
        printf("log %.9g\n", read_sum(net, net->a[layers / 2]));
    float top = read_sum(net, net->a[layers]);
    if (every(eval_every, net->step)) {
        free_activations(net);
    } else if (two_threads) {
        pthread_create(&thread, NULL, backward_thread, net);
        pthread_join(thread, NULL);
    } else {
        run_backward(net);
    }
    float bottom = read_sum(net, net->w[0]);
    printf("step %d sums %.9g %.9g\n", net->step, top, bottom);
}

static void say_step(void)
{
    static void (*range_start)(const char *);
    if (mark && spillway_iteration)
        spillway_iteration();
    if (by_profiler)
        CHECK(cudaProfilerStart());
    if (by_nvtx && range_start == NULL) {
        void *ranges = dlopen("./libranges.so", RTLD_NOW);
        range_start = ranges == NULL ? NULL : (void (*)(const char *))dlsym(ranges, "range_start");
        if (range_start == NULL)
            exit(65);
    }
    if (by_nvtx)
        range_start(getenv("RANGES_HOW"));
}

static void parse(int argc, char **argv)
{
    static const struct victim_option options[] = {
        {"--steps", &steps, 0},         {"--layers", &layers, 0},        {"--mib", &mib, 0},
        {"--eval", &eval_every, 0},     {"--small", &small_every, 0},    {"--skip", &skip_every, 0},
        {"--grow", &grow_at, 0},        {"--fail", &fail_at, 0},         {"--hide", &hide_at, 0},
        {"--log", &log_every, 0},       {"--build", &build_at, 0},       {"--young", &young_at, 0},
        {"--mark", &mark, 1},           {"--profiler", &by_profiler, 1}, {"--nvtx", &by_nvtx, 1},
        {"--rarely", &rarely, 0},       {"--ask", &ask_at, 0},           {"--handle", &handle, 1},
        {"--streams", &two_streams, 1}, {"--threads", &two_threads, 1},  {"--async", &in_order, 1},
        {"--mixed", &mixed, 1},
    };
    victim_parse(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (layers < 1 || layers > LAYERS_MAX || mib < 1 || steps < 1)
        exit(64);
}

int main(int argc, char **argv)
{
    static struct net net;
    parse(argc, argv);
    if (handle)
        signal(SIGUSR1, on_signal);
    net.n = mib * (1 << 20) / (int)sizeof(float) * 2;
    CHECK(cudaMalloc((void **)&net.result, sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&net.side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&net.main_done, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&net.side_done, cudaEventDisableTiming));
    for (int l = 0; l < layers; l++) {
        CHECK(cudaMalloc((void **)&net.w[l], sizeof(float) * net.n));
        CHECK(cudaMalloc((void **)&net.m[l], sizeof(float) * net.n));
        fill<<<2, THREADS>>>(net.w[l], net.n, 0.1f * (float)l);
        CHECK(cudaGetLastError());
        CHECK(cudaMemset(net.m[l], 0, sizeof(float) * net.n));
    }
    for (net.step = 1; net.step <= steps; net.step++) {
        if (every(rarely, net.step))
            say_step();
        run_step(&net);
    }
    net.count = net.n;
    for (int l = 0; l < layers; l++)
        printf("weights %d %.9g %.9g\n", l, read_sum(&net, net.w[l]), read_sum(&net, net.m[l]));
    for (int l = 0; l < layers; l++) {
        CHECK(cudaFree(net.w[l]));
        CHECK(cudaFree(net.m[l]));
    }
    CHECK(cudaFree(net.result));
    if (handled)
        printf("handled\n");
    return 0;
}
