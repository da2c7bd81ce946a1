/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop as they are written for speed: the next batch comes on a copy stream into one of
 * two buffers while this one is worked on, a second thread runs the backward pass, and nothing but
 * events, the legacy stream's rules and cudaFree keep it in order.
 *   --steps N
 *   --branches N   so many streams work beside each other on parts of a layer, each with events
 *   --legacy       the optimizer runs on the legacy default stream, between blocking streams
 *   --own          forward and backward on the per-thread default streams of their threads
 *   --fresh        the copy stream is created and destroyed in each step
 *   --host         a host function makes a result, which is read after a cudaFree */
#include <pthread.h>

#include "victim.h"

enum {
    LAYERS = 6,
    BRANCHES_MAX = 200,
    WORDS = 1 << 20, /* of a buffer: two pages */
    APART = 16384    /* every so many words one is worked on, the same in each page */
};

static int steps = 12, branches = 2, legacy, own, fresh, with_host;

struct net {
    unsigned *w[LAYERS], *a[LAYERS + 1], *batch[2], *loss;
    unsigned *from[2], *seen, result; /* pinned; made by the host function */
    cudaStream_t copy, main, branch[BRANCHES_MAX];
    cudaEvent_t loaded[2], used[2], forked, joined[BRANCHES_MAX], forward_done, backward_done;
    int step;
};

/* TO becomes a mix of itself, A and B, in part PART of PARTS. */
__global__ void mix(unsigned *to, const unsigned *a, const unsigned *b, int part, int parts)
{
    for (int i = APART * part; i < WORDS; i += APART * parts)
        to[i] = (to[i] ^ a[i] * 3U) * 2654435761U + b[i] + (unsigned)i;
}

__global__ void sum_up(const unsigned *from, unsigned *sum)
{
    unsigned value = *sum;
    for (int i = 0; i < WORDS; i += APART)
        value = value * 31U + from[i];
    *sum = value;
}

static void launch(unsigned *to, const unsigned *a, const unsigned *b, cudaStream_t stream)
{
    mix<<<1, 1, 0, stream>>>(to, a, b, 0, 1);
    CHECK(cudaGetLastError());
}

/* On all branches, which start after STREAM's work and end before it goes on. */
static void fork(struct net *net, unsigned *to, const unsigned *a, const unsigned *b,
                 cudaStream_t stream)
{
    CHECK(cudaEventRecord(net->forked, stream));
    for (int i = 0; i < branches; i++) {
        CHECK(cudaStreamWaitEvent(net->branch[i], net->forked, 0));
        mix<<<1, 1, 0, net->branch[i]>>>(to, a, b, i, branches);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(net->joined[i], net->branch[i]));
        CHECK(cudaStreamWaitEvent(stream, net->joined[i], 0));
    }
}

/* The batch of STEP, into the buffer that the step before the last one used. */
static void prefetch(struct net *net, int step)
{
    int half = step % 2;
    CHECK(cudaEventSynchronize(net->loaded[half])); /* the host may write what was read */
    for (int i = 0; i < WORDS; i += APART)
        net->from[half][i] = (unsigned)(i + step);
    if (fresh)
        CHECK(cudaStreamCreateWithFlags(&net->copy, cudaStreamNonBlocking));
    CHECK(cudaStreamWaitEvent(net->copy, net->used[half], 0));
    CHECK(cudaMemcpyAsync(net->batch[half], net->from[half], sizeof(unsigned) * WORDS,
                          cudaMemcpyHostToDevice, net->copy));
    CHECK(cudaEventRecord(net->loaded[half], net->copy));
    if (with_host)
        CHECK(cudaStreamSynchronize(net->copy));
    if (fresh)
        CHECK(cudaStreamDestroy(net->copy));
}

static void forward(struct net *net, cudaStream_t stream)
{
    int half = net->step % 2;
    CHECK(cudaStreamWaitEvent(stream, net->loaded[half], 0));
    for (int l = 0; l <= LAYERS; l++) {
        CHECK(cudaMalloc((void **)&net->a[l], sizeof(unsigned) * WORDS));
        CHECK(cudaMemsetAsync(net->a[l], l, sizeof(unsigned) * WORDS, stream));
    }
    launch(net->a[0], net->batch[half], net->w[0], stream);
    CHECK(cudaEventRecord(net->used[half], stream));
    for (int l = 0; l < LAYERS; l++)
        fork(net, net->a[l + 1], net->a[l], net->w[l], stream);
    CHECK(cudaEventRecord(net->forward_done, stream));
}

static void *backward(void *argument)
{
    struct net *net = (struct net *)argument;
    cudaStream_t stream = own ? cudaStreamPerThread : net->branch[branches - 1];
    CHECK(cudaStreamWaitEvent(stream, net->forward_done, 0));
    for (int l = LAYERS - 1; l >= 0; l--) {
        launch(net->a[l], net->a[l + 1], net->w[l], stream);
        CHECK(cudaEventRecord(net->backward_done, stream)); /* again and again */
        cudaStream_t optimizer = legacy ? (cudaStream_t)0 : net->branch[0];
        if (!legacy || own)
            CHECK(cudaStreamWaitEvent(optimizer, net->backward_done, 0));
        launch(net->w[l], net->a[l], net->a[l + 1], optimizer);
    }
    CHECK(cudaEventRecord(net->backward_done, legacy ? (cudaStream_t)0 : net->branch[0]));
    return NULL;
}

static void on_stream(void *argument)
{
    struct net *net = (struct net *)argument;
    net->result = *net->seen * 2654435761U + (unsigned)net->step;
}

static void run_step(struct net *net)
{
    pthread_t thread;
    cudaStream_t stream = own ? cudaStreamPerThread : net->main;
    prefetch(net, net->step + 1);
    forward(net, stream);
    pthread_create(&thread, NULL, backward, net);
    pthread_join(thread, NULL);
    CHECK(cudaStreamWaitEvent(stream, net->backward_done, 0));
    sum_up<<<1, 1, 0, stream>>>(net->w[0], net->loss);
    CHECK(cudaGetLastError());
    CHECK(
        cudaMemcpyAsync(net->seen, net->loss, sizeof(*net->seen), cudaMemcpyDeviceToHost, stream));
    net->result = 0;
    if (with_host) { /* of all that the host can see, nothing but this is under way then */
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaLaunchHostFunc(net->branch[0], on_stream, net));
    }
    for (int l = 0; l <= LAYERS; l++)
        CHECK(cudaFree(net->a[l])); /* waits for all, and so for the result */
    printf("step %d %08x %08x\n", net->step, *net->seen, net->result);
}

static void set_up(struct net *net)
{
    unsigned flags = legacy ? cudaStreamDefault : cudaStreamNonBlocking;
    int low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    CHECK(cudaStreamCreateWithPriority(&net->main, flags, high));
    CHECK(cudaStreamCreateWithFlags(&net->copy, cudaStreamNonBlocking));
    for (int i = 0; i < branches; i++) {
        CHECK(cudaStreamCreateWithPriority(&net->branch[i], flags, i % 2 == 0 ? low : high));
        CHECK(cudaEventCreateWithFlags(&net->joined[i], cudaEventDisableTiming));
    }
    cudaEvent_t *all[] = {&net->loaded[0], &net->loaded[1],    &net->used[0],      &net->used[1],
                          &net->forked,    &net->forward_done, &net->backward_done};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        CHECK(cudaEventCreateWithFlags(all[i], cudaEventDisableTiming));
    for (int l = 0; l < LAYERS; l++) {
        CHECK(cudaMalloc((void **)&net->w[l], sizeof(unsigned) * WORDS));
        CHECK(cudaMemset(net->w[l], l + 1, sizeof(unsigned) * WORDS));
    }
    for (int half = 0; half < 2; half++) {
        CHECK(cudaMalloc((void **)&net->batch[half], sizeof(unsigned) * WORDS));
        CHECK(cudaMallocHost((void **)&net->from[half], sizeof(unsigned) * WORDS));
    }
    CHECK(cudaMalloc((void **)&net->loss, sizeof(unsigned)));
    CHECK(cudaMemset(net->loss, 0, sizeof(unsigned)));
    CHECK(cudaMallocHost((void **)&net->seen, sizeof(*net->seen)));
    CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    static const struct victim_option options[] = {
        {"--steps", &steps, 0}, {"--branches", &branches, 0}, {"--legacy", &legacy, 1},
        {"--own", &own, 1},     {"--fresh", &fresh, 1},       {"--host", &with_host, 1}};
    static struct net net;
    victim_parse(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (steps < 1 || branches < 1 || branches > BRANCHES_MAX)
        exit(64);
    set_up(&net);
    prefetch(&net, 1);
    for (net.step = 1; net.step <= steps; net.step++)
        run_step(&net);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
