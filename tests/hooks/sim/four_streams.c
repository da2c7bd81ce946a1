/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads, each with a stream of its own, that allocate, launch, copy, wait and free at once:
 * a training step each. Prints what each has computed, which does not depend on the others.
 *   four_streams [turns|race]
 * turns: one after another, so that the steps repeat and can be planned; by relaxed operations,
 * which order nothing between the threads. race: one more thing, unguarded, that a race detector
 * must see. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

enum { THREADS = 4, STEPS = 12, LAYERS = 4, WORDS = 1 << 20 };
#define DO(call)                                                                                   \
    do {                                                                                           \
        int error_ = (int)(call);                                                                  \
        if (error_ != 0) {                                                                         \
            fprintf(stderr, "%s: %d\n", #call, error_);                                            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* four_kernel.cu */
int launch_step(float *a, float *b, const float *c, int words, int step, cudaStream_t stream);

static float result[THREADS];
static unsigned turn;
static int in_turns, racing, unguarded;

static void wait_turn(unsigned t)
{
    while (in_turns && __atomic_load_n(&turn, __ATOMIC_RELAXED) % THREADS != t)
        usleep(20);
}

static void end_turn(void)
{
    __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED);
}

static void one_step(unsigned t, float **layer, const float *small, cudaStream_t stream, int step)
{
    float *temporary;
    wait_turn(t);
    for (int l = 0; l < LAYERS; l++) {
        DO(cudaMalloc((void **)&temporary, sizeof(float) * WORDS / 2));
        DO(cudaMemsetAsync(temporary, 0, sizeof(float) * WORDS / 2, stream));
        DO(launch_step(layer[l], layer[(l + 1) % LAYERS], small, WORDS, step, stream));
        DO(launch_step(layer[l], temporary, small, WORDS / 2, step, stream));
        DO(cudaMemcpyAsync(&result[t], layer[l], sizeof(float), cudaMemcpyDeviceToHost, stream));
        DO(cudaStreamSynchronize(stream));
        DO(cudaFree(temporary));
    }
    end_turn();
    if (racing)
        unguarded++;
}

static void *work(void *arg)
{
    unsigned t = (unsigned)(size_t)arg;
    float *layer[LAYERS], *small;
    cudaStream_t stream;
    wait_turn(t);
    DO(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    DO(cudaMalloc((void **)&small, 4096));
    DO(cudaMemsetAsync(small, 0, 4096, stream));
    for (int l = 0; l < LAYERS; l++) {
        DO(cudaMalloc((void **)&layer[l], sizeof(float) * WORDS));
        DO(cudaMemsetAsync(layer[l], 0, sizeof(float) * WORDS, stream));
    }
    end_turn();
    for (int s = 0; s < STEPS; s++)
        one_step(t, layer, small, stream, s + (int)t);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    in_turns = argc > 1 && strcmp(argv[1], "turns") == 0;
    racing = argc > 1 && strcmp(argv[1], "race") == 0;
    for (size_t t = 0; t < THREADS; t++)
        DO(pthread_create(&threads[t], NULL, work, (void *)t));
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (unsigned t = 0; t < THREADS; t++)
        printf("%.9g\n", result[t]);
    return 0;
}
