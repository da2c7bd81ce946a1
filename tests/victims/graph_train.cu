/* SPDX-License-Identifier: Apache-2.0 */
/* A network whose steps are graphs: the way there, the way back and the update, each in one graph
 * or in --parts of some layers; --one makes a single graph of all. Around them an eager mean of the
 * weights over time. Prints a sum a step. What else programs do with graphs:
 *   --fork       the way back forks in the capture to a second stream, and joins
 *   --anew       executable graphs are destroyed and instantiated anew in each step
 *   --again N    every N steps all is captured again, for other activations, and updated
 *   --params     in each step a kernel's parameters are set to another input
 *   --device     a graph is instantiated for launches by the device; --updatable: a kernel of it
 * may be changed there
 *   --nest       the graphs of a step are launched into a capture, and become one graph's children
 *   --nodes      copies, memsets and child graphs, built by hand and changed by ExecNodeSetParams
 * and kin
 *   --alloc      all is captured in each step, and memory is allocated and freed in the captures
 *   --beside     another stream works while a capture goes on; --thread: put there by another
 * thread
 *   --host       a graph calls the host, and cudaFree is all that waits for that
 *   --table N    a graph copies an address from the host, which is another one from step N on
 *   --device     the device may launch the graphs, too; --updatable: and change one of their
 * kernels
 *   --plain      the same without graphs, whose output must be the same */
#include <cuda.h>

#include <pthread.h>

#include "victim.h"

enum { LAYERS_MAX = 16, STRIDE = 509 };

static int steps = 14, layers = 6, mib = 4, parts = 1, one, fork_, anew, again, params_, nodes,
           alloc, beside, table, device, updatable, nest, thread, host, plain;
static int count;
static float *weight[LAYERS_MAX], *moment[LAYERS_MAX], *gradient[LAYERS_MAX], *mean[LAYERS_MAX];
static float *activation[2][LAYERS_MAX + 1]; /* the second set with --again */
static float *input[2], *error, *total, *far[2], **far_table;
static float *first_input; /* of the first kernel; --params */
static float *host_input, *host_table[1];
static int host_calls;
static int set; /* of activations */
static cudaStream_t stream, side, other;
static cudaEvent_t forked, joined, before, beside_done;

struct part {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    float *scratch; /* --alloc */
};
static struct part there[LAYERS_MAX], back[LAYERS_MAX], update[LAYERS_MAX], whole, outer;

#define EACH(i, n) for (int i = STRIDE * threadIdx.x; i < n; i += STRIDE * blockDim.x)

__global__ void fill(float *x, float value, int n)
{
    EACH(i, n) x[i] = value + (float)(i % 7) / 16;
}

__global__ void forward(const float *x, const float *w, float *y, int n)
{
    EACH(i, n) y[i] = 0.5f * x[i] + 0.25f * w[i] + 0.125f;
}

__global__ void backward(const float *x, const float *w, float *e, int n)
{
    EACH(i, n) e[i] = 0.5f * e[i] + 0.125f * w[i] - 0.0625f * x[i];
}

__global__ void gradients(const float *x, const float *e, float *g, int n)
{
    EACH(i, n) g[i] = 0.5f * x[i] - 0.25f * e[i];
}

__global__ void descend(float *w, float *m, const float *g, int n)
{
    EACH(i, n)
    {
        m[i] = 0.5f * m[i] + 0.5f * g[i];
        w[i] -= 0.125f * m[i];
    }
}

__global__ void average(float *mean, const float *w, int n)
{
    EACH(i, n) mean[i] = 0.75f * mean[i] + 0.25f * w[i];
}

__global__ void sum(const float *x, const float *y, int n, float *out)
{
    float s = 0;
    for (int i = 0; threadIdx.x == 0 && i < n; i += STRIDE)
        s += x[i] + y[i] * (float)(1 + i % 13);
    if (threadIdx.x == 0)
        *out += s;
}

__global__ void through_table(float **table, float *y, int n)
{
    EACH(i, n) y[i] += 0.125f * table[0][i];
}

#define RUN(kernel, on, ...)                                                                       \
    do {                                                                                           \
        kernel<<<1, 32, 0, on>>>(__VA_ARGS__, count);                                              \
        CHECK(cudaGetLastError());                                                                 \
    } while (0)

static float *alloc_buffer(void)
{
    float *p;
    CHECK(cudaMalloc(&p, count * sizeof(float)));
    return p;
}

static float *make_buffer(float value)
{
    float *p = alloc_buffer();
    CHECK(cudaMemset(p, 0, count * sizeof(float)));
    if (value != 0)
        RUN(fill, 0, p, value);
    return p;
}

/* What the parts of the step do, captured or not. */
static void go_there(int from, int to)
{
    float **a = activation[set];
    for (int l = from; l < to; l++)
        RUN(forward, stream, l == 0 ? first_input : a[l], weight[l], a[l + 1]);
    if (from == 0 && table != 0) {
        CHECK(cudaMemcpyAsync(far_table, host_table, sizeof(float *), cudaMemcpyHostToDevice,
                              stream));
        RUN(through_table, stream, far_table, a[1]);
    }
}

static void go_back(int from, int to, float *scratch)
{
    float **a = activation[set];
    if (to == layers)
        CHECK(cudaMemcpyAsync(error, a[layers], count * sizeof(float), cudaMemcpyDeviceToDevice,
                              stream));
    for (int l = to; l-- > from;) {
        float *x = l == 0 ? input[0] : a[l];
        cudaStream_t on = fork_ ? side : stream;
        RUN(backward, stream, x, weight[l], error);
        if (scratch != NULL) { /* the error passes through memory of this capture */
            CHECK(cudaMemcpyAsync(scratch, error, count * sizeof(float), cudaMemcpyDeviceToDevice,
                                  stream));
            CHECK(cudaMemcpyAsync(error, scratch, count * sizeof(float), cudaMemcpyDeviceToDevice,
                                  stream));
        }
        if (fork_) {
            CHECK(cudaEventRecord(forked, stream));
            CHECK(cudaStreamWaitEvent(side, forked, 0));
        }
        RUN(gradients, on, x, error, gradient[l]);
        if (fork_) {
            CHECK(cudaEventRecord(joined, side));
            CHECK(cudaStreamWaitEvent(stream, joined, 0));
        }
    }
}

static void call_host(void *)
{
    host_calls++;
}

static void go_down(int from, int to)
{
    for (int l = from; l < to; l++)
        RUN(descend, stream, weight[l], moment[l], gradient[l]);
    if (host && to == layers)
        CHECK(cudaLaunchHostFunc(stream, call_host, NULL));
}

/* Other work while a capture goes on, after what was put into the stream before. */
static void *work(void *)
{
    CHECK(cudaStreamWaitEvent(other, before, 0));
    for (int l = 0; l < layers; l++)
        RUN(average, other, mean[l], mean[(l + 1) % layers]);
    CHECK(cudaEventRecord(beside_done, other));
    return NULL;
}

static void work_beside(void)
{
    pthread_t worker;
    if (!thread) {
        work(NULL);
        return;
    }
    CHECK_ANY(pthread_create(&worker, NULL, work, NULL));
    CHECK_ANY(pthread_join(worker, NULL));
}

enum phase { THERE, BACK, DOWN, WHOLE };

static void act(enum phase phase, int from, int to, float *scratch)
{
    if (phase == THERE || phase == WHOLE)
        go_there(from, to);
    if (phase == BACK || phase == WHOLE)
        go_back(from, to, scratch);
    if (phase == DOWN || phase == WHOLE)
        go_down(from, to);
}

/* What no call shows later. The simulated device does not do it; a real one asks more of such
 * graphs. */
static void instantiate_unseen(struct part *p)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS how = {};
    CUkernelNodeAttrValue value = {};
    CUgraphNode first;
    size_t n = 1;
    how.flags = device ? CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH : 0;
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CHECK_ANY(cuGraphGetRootNodes(p->graph, &first, &n));
    if (updatable)
        CHECK_ANY(cuGraphKernelNodeSetAttribute(
            first, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    CHECK_ANY(cuGraphInstantiateWithParams(&p->exec, p->graph, &how));
}

static void capture(struct part *p, enum phase phase, int from, int to)
{
    cudaGraph_t graph;
    CHECK(cudaEventRecord(before, stream));
    if (plain) {
        if (beside)
            work_beside();
        CHECK(cudaStreamWaitEvent(stream, beside_done, 0));
        return;
    }
    CHECK(cudaStreamBeginCapture(stream, alloc ? cudaStreamCaptureModeRelaxed
                                               : cudaStreamCaptureModeGlobal));
    if (alloc && phase != THERE && phase != DOWN)
        p->scratch = alloc_buffer();
    act(phase, from, to, p->scratch);
    if (beside)
        work_beside();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaStreamWaitEvent(stream, beside_done, 0));
    if (p->exec != NULL && !anew && !alloc) {
        cudaGraphExecUpdateResultInfo info;
        CHECK(cudaGraphExecUpdate(p->exec, graph, &info));
    }
    if (p->graph != NULL)
        CHECK(cudaGraphDestroy(p->graph));
    p->graph = graph;
    if (p->exec == NULL && (device || (updatable && phase == THERE)))
        instantiate_unseen(p);
    else if (p->exec == NULL)
        CHECK(cudaGraphInstantiate(&p->exec, graph, 0));
}

static void each_part(void (*act_on)(struct part *p, enum phase phase, int from, int to))
{
    if (one) {
        act_on(&whole, WHOLE, 0, layers);
        return;
    }
    for (int i = 0; i < parts; i++)
        act_on(&there[i], THERE, layers * i / parts, layers * (i + 1) / parts);
    for (int i = parts; i-- > 0;)
        act_on(&back[i], BACK, layers * i / parts, layers * (i + 1) / parts);
    for (int i = 0; i < parts; i++)
        act_on(&update[i], DOWN, layers * i / parts, layers * (i + 1) / parts);
}

static void launch(struct part *p, enum phase phase, int from, int to)
{
    if (plain)
        act(phase, from, to, NULL);
    else
        CHECK(cudaGraphLaunch(p->exec, stream));
}

static void nest_all(void)
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    each_part(launch);
    CHECK(cudaStreamEndCapture(stream, &outer.graph));
    CHECK(cudaGraphInstantiate(&outer.exec, outer.graph, 0));
}

static void finish(struct part *p, enum phase, int, int)
{
    if (anew || alloc) {
        CHECK(cudaGraphExecDestroy(p->exec));
        p->exec = NULL;
    }
    if (p->scratch != NULL)
        CHECK(cudaFree(p->scratch));
    p->scratch = NULL;
}

static void instantiate(struct part *p, enum phase, int, int)
{
    CHECK(cudaGraphInstantiate(&p->exec, p->graph, 0));
}

/* The first kernel of the way there reads INPUT[number]. */
static void set_input(int number)
{
    struct part *p = one ? &whole : &there[0];
    cudaGraphNode_t first;
    size_t n = 1;
    cudaKernelNodeParams k;
    void *args[] = {&input[number], &weight[0], &activation[set][1], &count};
    if (plain) {
        first_input = input[number];
        return;
    }
    CHECK(cudaGraphGetRootNodes(p->graph, &first, &n));
    CHECK(cudaGraphKernelNodeGetParams(first, &k));
    k.kernelParams = args;
    k.extra = NULL;
    CHECK(cudaGraphExecKernelNodeSetParams(p->exec, first, &k));
}

#include "graph_nodes.h"

static void step(int number)
{
    float result, *freed = host ? make_buffer(1) : NULL;
    int seen = 0;
    if (table != 0)
        host_table[0] = far[number >= table];
    for (int i = 0; i < 64; i++)
        host_input[i] = (float)(number * 64 + i) / 1024;
    for (int i = 0; i < 2; i++)
        CHECK(cudaMemcpyAsync(input[i], host_input + i, 63 * sizeof(float), cudaMemcpyHostToDevice,
                              stream));
    CHECK(cudaMemsetAsync(total, 0, sizeof(float), stream));
    if (host) /* no copy is left to wait for */
        CHECK(cudaStreamSynchronize(stream));
    if (again != 0 && number % again == 0) {
        set = !set;
        each_part(capture);
    }
    if (alloc)
        each_part(capture);
    else if (anew && number > 1 && !plain)
        each_part(instantiate);
    if (params_)
        set_input(number % 2);
    if (nest)
        launch(&outer, WHOLE, 0, layers);
    else
        each_part(launch);
    if (host) {
        CHECK(cudaFree(freed));
        seen = host_calls;
    }
    if (nodes)
        nodes_step(number);
    for (int l = 0; l < layers; l++) {
        if (!beside)
            RUN(average, stream, mean[l], weight[l]);
        sum<<<1, 32, 0, stream>>>(weight[l], mean[l], count, total);
    }
    CHECK(cudaMemcpyAsync(&result, total, sizeof(result), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (!plain)
        each_part(finish);
    printf("step %d sum %.9g seen %d\n", number, (double)result, seen);
}

int main(int argc, char **argv)
{
    const struct victim_option options[] = {
        {"--steps", &steps, 0},   {"--layers", &layers, 0}, {"--mib", &mib, 0},
        {"--parts", &parts, 0},   {"--one", &one, 1},       {"--fork", &fork_, 1},
        {"--anew", &anew, 1},     {"--again", &again, 0},   {"--params", &params_, 1},
        {"--nodes", &nodes, 1},   {"--device", &device, 1}, {"--nest", &nest, 1},
        {"--thread", &thread, 1}, {"--host", &host, 1},     {"--updatable", &updatable, 1},
        {"--alloc", &alloc, 1},   {"--beside", &beside, 1}, {"--table", &table, 0},
        {"--plain", &plain, 1}};
    victim_parse(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (layers < 2 || layers > LAYERS_MAX || mib < 1 || parts < 1 || parts > layers)
        return 64;
    count = mib * (1 << 20) / (int)sizeof(float);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&side));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&beside_done, cudaEventDisableTiming));
    CHECK(cudaMallocHost(&host_input, 65 * sizeof(float)));
    CHECK(cudaMalloc(&total, sizeof(float)));
    for (int l = 0; l < layers; l++) {
        weight[l] = make_buffer(0.125f * (float)(1 + l));
        moment[l] = make_buffer(0);
        gradient[l] = make_buffer(0);
        mean[l] = make_buffer(0);
        for (int s = 0; s < (again != 0 ? 2 : 1); s++)
            activation[s][l + 1] = make_buffer(0);
    }
    error = make_buffer(0);
    for (int i = 0; i < 2; i++) {
        input[i] = make_buffer(1 + 2 * i);
        if (table != 0)
            far[i] = make_buffer(1 + i);
    }
    if (table != 0) {
        CHECK(cudaMalloc(&far_table, count * sizeof(float)));
        CHECK(cudaMemset(far_table, 0, count * sizeof(float)));
    }
    first_input = input[0];
    if (nodes)
        nodes_make();
    CHECK(cudaDeviceSynchronize());
    if (!alloc)
        each_part(capture);
    if (nest && !plain)
        nest_all();
    for (int s = 1; s <= steps; s++)
        step(s);
    return 0;
}
