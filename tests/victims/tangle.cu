/* SPDX-License-Identifier: Apache-2.0 */
/* A random iteration (tangle.h), again and again: kernels, copies and host functions on streams of
 * all kinds and two threads, ordered by events, waits of the host and CUDA's implicit rules, and by
 * nothing else. Every action mixes what it reads into what it writes, so that a byte that is lost,
 * stale or early shows in the sums printed at the end.
 *   --seed N  which iteration    --work N  its kernels and copies    --steps N  how often
 *   --bend N  every N steps another one: cut short, or with something in between
 * Compiled for the per-thread default stream, too (tests.mk): then stream 0 is the thread's own. */
#include <pthread.h>
#include <semaphore.h>

#include "tangle.h"
#include "victim.h"

#define KIB ((size_t)1024)

enum {
    APART = 16384 /* every so many words one is worked on, the same in each page */
};

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define STREAM_LEGACY cudaStreamLegacy
#define STREAM_OWN    ((cudaStream_t)0)
#define NOW_ON_OWN    1
#else
#define STREAM_LEGACY ((cudaStream_t)0)
#define STREAM_OWN    cudaStreamPerThread
#define NOW_ON_OWN    0
#endif

static int seed = 1, steps = 12, work = 32, bend;

static struct tangle tangle;
static unsigned *buffers[BUFFERS], *pinned[PINNED];
static size_t words[ITEMS];
static cudaStream_t streams[STREAMS];
static cudaEvent_t events[EVENTS];
static int step;

__host__ __device__ static unsigned mixed(unsigned a, unsigned b, unsigned salt)
{
    return (a ^ (b + salt)) * 2654435761U + (a >> 15);
}

__global__ void mix(unsigned *to, size_t to_words, const unsigned *a, size_t a_words,
                    const unsigned *b, size_t b_words, unsigned salt)
{
    size_t stride = (size_t)APART * blockDim.x;
    for (size_t i = (size_t)APART * threadIdx.x; i < to_words; i += stride)
        to[i] = mixed(mixed(to[i], a[i % a_words / APART * APART], salt),
                      b[i % b_words / APART * APART], salt + (unsigned)i);
}

__global__ void sum_up(const unsigned *from, size_t count, unsigned *sum)
{
    unsigned value = 0;
    for (size_t i = 0; threadIdx.x == 0 && i < count; i += APART)
        value = mixed(value, from[i], (unsigned)i);
    if (threadIdx.x == 0)
        *sum = value;
}

static void host_mix(int item, unsigned salt)
{
    unsigned *to = pinned[item - BUFFERS];
    for (size_t i = 0; i < words[item]; i += APART)
        to[i] = mixed(to[i], to[(i + APART) % words[item] / APART * APART], salt);
}

struct host_call {
    int item;
    unsigned salt;
};

static void on_stream(void *argument)
{
    struct host_call *call = (struct host_call *)argument;
    host_mix(call->item, call->salt);
    free(call);
}

static size_t common_bytes(const struct action *a)
{
    size_t n = words[a->items[0]] < words[a->items[1]] ? words[a->items[0]] : words[a->items[1]];
    return n * sizeof(unsigned);
}

static void *item(int i)
{
    return i < BUFFERS ? buffers[i] : pinned[i - BUFFERS];
}

static cudaStream_t stream_of(const struct action *a)
{
    return a->stream == LEGACY                                ? STREAM_LEGACY
           : a->stream == OWN_MAIN || a->stream == OWN_WORKER ? STREAM_OWN
                                                              : streams[a->stream];
}

static void run_mix(const struct action *a, unsigned salt)
{
    int second = a->items[a->count - 1];
    mix<<<1, 32, 0, stream_of(a)>>>(buffers[a->items[0]], words[a->items[0]], buffers[a->items[1]],
                                    words[a->items[1]], buffers[second], words[second], salt);
    CHECK(cudaGetLastError());
}

static void run_now(const struct action *a)
{
    if ((a->stream != LEGACY) == NOW_ON_OWN) {
        CHECK(cudaMemcpy(item(a->items[0]), item(a->items[1]), common_bytes(a),
                         cudaMemcpyDeviceToHost));
        return;
    }
    CHECK(cudaMemcpyAsync(item(a->items[0]), item(a->items[1]), common_bytes(a),
                          cudaMemcpyDeviceToHost, stream_of(a)));
    CHECK(cudaStreamSynchronize(stream_of(a)));
}

static void run_host_func(const struct action *a, unsigned salt)
{
    struct host_call *call = (struct host_call *)malloc(sizeof(*call));
    *call = (struct host_call){a->items[0], salt};
    CHECK(cudaLaunchHostFunc(stream_of(a), on_stream, call));
}

static void run(const struct action *a)
{
    unsigned salt = a->salt + 77U * (unsigned)step;
    size_t bytes = a->count > 0 ? words[a->items[0]] * sizeof(unsigned) : 0;
    switch (a->kind) {
    case MIX:
        run_mix(a, salt);
        break;
    case SET:
        CHECK(cudaMemsetAsync(item(a->items[0]), (int)(salt & 255), bytes, stream_of(a)));
        break;
    case COPY:
    case UPLOAD:
    case DOWNLOAD:
        CHECK(cudaMemcpyAsync(item(a->items[0]), item(a->items[1]), common_bytes(a),
                              cudaMemcpyDefault, stream_of(a)));
        break;
    case HOST_FUNC:
        run_host_func(a, salt);
        break;
    case NOW:
        run_now(a);
        break;
    case HOST_MIX:
        host_mix(a->items[0], salt);
        break;
    case BEGIN:
        CHECK(cudaMalloc((void **)&buffers[a->items[0]], bytes));
        break;
    case END:
        CHECK(cudaFree(buffers[a->items[0]]));
        break;
    case RECORD:
        CHECK(cudaEventRecord(events[a->event], stream_of(a)));
        break;
    case WAIT:
        CHECK(cudaStreamWaitEvent(stream_of(a), events[a->event], 0));
        break;
    case SYNC_STREAM:
        CHECK(cudaStreamSynchronize(stream_of(a)));
        break;
    case SYNC_EVENT:
        CHECK(cudaEventSynchronize(events[a->event]));
        break;
    case SYNC_DEVICE:
        CHECK(cudaDeviceSynchronize());
        break;
    case STREAM_NEW:
        CHECK(cudaStreamCreate(&streams[FRESH]));
        break;
    case STREAM_END:
        CHECK(cudaStreamDestroy(streams[FRESH]));
        break;
    default:
        break;
    }
}

/* --- the two threads, one at a time --- */

static sem_t go, gone;
static const struct action *order; /* for the worker; NULL: end */

static void *worker(void *argument)
{
    for (;;) {
        sem_wait(&go);
        const struct action *mine = order;
        if (mine != NULL)
            run(mine);
        sem_post(&gone);
        if (mine == NULL)
            return argument;
    }
}

static void give(const struct action *a)
{
    order = a;
    sem_post(&go);
    sem_wait(&gone);
}

/* --- steps --- */

/* Every action up to UNTIL, and INSTEAD of what follows of it a wait for all and the frees. */
static void cut_short(int until)
{
    int lives[BUFFERS] = {0}, fresh = 0;
    for (int i = 0; i < until; i++) {
        const struct action *a = &tangle.list[i];
        if (a->kind == BEGIN || a->kind == END)
            lives[a->items[0]] = a->kind == BEGIN;
        fresh = a->kind == STREAM_NEW || (fresh && a->kind != STREAM_END);
    }
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < BUFFERS; b++)
        if (lives[b])
            CHECK(cudaFree(buffers[b]));
    if (fresh)
        CHECK(cudaStreamDestroy(streams[FRESH]));
}

static void in_between(int at)
{
    struct action extra = {0, MIX, 0, FREE_LOW, 0, {1 + at % 3, 4, 5}, 3, 99};
    CHECK(cudaDeviceSynchronize());
    run(&extra);
    CHECK(cudaDeviceSynchronize());
}

static void run_step(void)
{
    pthread_t thread;
    int bent = bend != 0 && step % bend == 0;
    int at = bent ? step * 31 % tangle.count : tangle.count, shorter = step / (bent ? bend : 1) % 2;
    if (tangle.uses[OWN_WORKER] && (tangle.fresh_worker || step == 1))
        pthread_create(&thread, NULL, worker, NULL);
    for (int i = 0; i < tangle.count && !(shorter && i == at); i++) {
        if (i == at)
            in_between(at);
        if (tangle.list[i].thread == 0)
            run(&tangle.list[i]);
        else
            give(&tangle.list[i]);
    }
    if (shorter && at < tangle.count)
        cut_short(at);
    if (tangle.uses[OWN_WORKER] && (tangle.fresh_worker || step == steps)) {
        give(NULL);
        if (tangle.fresh_worker)
            pthread_join(thread, NULL);
    }
}

static void set_up(void)
{
    int low, high;
    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    CHECK(cudaStreamCreate(&streams[BLOCKING]));
    CHECK(cudaStreamCreateWithPriority(&streams[BLOCKING_HIGH], cudaStreamDefault, high));
    CHECK(cudaStreamCreateWithPriority(&streams[FREE_LOW], cudaStreamNonBlocking, low));
    CHECK(cudaStreamCreateWithPriority(&streams[FREE_HIGH], cudaStreamNonBlocking, high));
    for (int e = 0; e < tangle.events; e++)
        CHECK(cudaEventCreateWithFlags(&events[e], cudaEventDisableTiming));
    for (int x = 0; x < ITEMS; x++) /* one is small, the others have one page or two */
        words[x] = (x == 0         ? 64 * KIB
                    : x >= BUFFERS ? 1024 * KIB
                                   : 2048 * KIB + 4 * KIB * tangle_random(&tangle, 512)) /
                   sizeof(unsigned);
    for (int b = 0; b < BUFFERS - TEMPORARY; b++) {
        CHECK(cudaMalloc((void **)&buffers[b], words[b] * sizeof(unsigned)));
        CHECK(cudaMemset(buffers[b], b + 1, words[b] * sizeof(unsigned)));
    }
    for (int p = 0; p < PINNED; p++) {
        CHECK(cudaMallocHost((void **)&pinned[p], words[BUFFERS + p] * sizeof(unsigned)));
        memset(pinned[p], p + 1, words[BUFFERS + p] * sizeof(unsigned));
    }
    CHECK(cudaDeviceSynchronize());
    sem_init(&go, 0, 0);
    sem_init(&gone, 0, 0);
}

static void say_sums(void)
{
    unsigned *sum, value;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMalloc((void **)&sum, sizeof(*sum)));
    for (int b = 0; b < BUFFERS - TEMPORARY; b++) {
        sum_up<<<1, 1>>>(buffers[b], words[b], sum);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&value, sum, sizeof(value), cudaMemcpyDeviceToHost));
        printf("buffer %d %08x\n", b, value);
    }
    for (int p = 0; p < PINNED; p++) {
        value = 0;
        for (size_t i = 0; i < words[BUFFERS + p]; i += APART)
            value = mixed(value, pinned[p][i], (unsigned)i);
        printf("pinned %d %08x\n", p, value);
    }
}

int main(int argc, char **argv)
{
    static const struct victim_option options[] = {
        {"--seed", &seed, 0}, {"--steps", &steps, 0}, {"--work", &work, 0}, {"--bend", &bend, 0}};
    victim_parse(options, sizeof(options) / sizeof(options[0]), argc, argv);
    if (steps < 1 || work < 1 || work > 200)
        exit(64);
    tangle_make(&tangle, (unsigned)seed, work);
    set_up();
    for (step = 1; step <= steps; step++)
        run_step();
    say_sums();
    return 0;
}
