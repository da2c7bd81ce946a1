/* SPDX-License-Identifier: Apache-2.0 */
/* The replayer's ground: frames behind two addresses, ordered by events alone. */
#include "gpufact.h"

__global__ void fill(unsigned *p, unsigned n, unsigned seed)
{
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        p[i] = seed * 2654435761U + i;
}

__global__ void compare(const unsigned *p, unsigned n, unsigned seed, unsigned long long *wrong)
{
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
        if (p[i] != seed * 2654435761U + i)
            atomicAdd(wrong, 1ULL);
}

struct alias {
    CUdeviceptr a, b; /* the same frame */
    unsigned *home_a, *home_b;
    unsigned long long *wrong;
    unsigned n;
    CUstream work, out, in;
    CUevent event;
};

/* The next event of WAITS_FOR's stream, waited for by STREAM. One event serves: a wait takes what
 * was recorded when it was called. */
static void order(struct alias *s, CUstream first, CUstream then)
{
    NEED(cuEventRecord(s->event, first));
    NEED(cuStreamWaitEvent(then, s->event, 0));
}

/* Buffer A leaves its frame, B comes into it at another address, is used, leaves; A comes back. */
static void one_round(struct alias *s, unsigned round)
{
    cudaStream_t work = (cudaStream_t)s->work;
    size_t bytes = s->n * sizeof(unsigned);
    fill<<<16, 256, 0, work>>>((unsigned *)s->a, s->n, round);
    order(s, s->work, s->out);
    NEED(cuMemcpyDtoHAsync(s->home_a, s->a, bytes, s->out));
    order(s, s->out, s->in);
    NEED(cuMemcpyHtoDAsync(s->b, s->home_b, bytes, s->in));
    order(s, s->in, s->work);
    compare<<<16, 256, 0, work>>>((const unsigned *)s->b, s->n, ~round, s->wrong);
    fill<<<16, 256, 0, work>>>((unsigned *)s->b, s->n, ~(round + 1));
    order(s, s->work, s->out);
    NEED(cuMemcpyDtoHAsync(s->home_b, s->b, bytes, s->out));
    order(s, s->out, s->in);
    NEED(cuMemcpyHtoDAsync(s->a, s->home_a, bytes, s->in));
    order(s, s->in, s->work);
    compare<<<16, 256, 0, work>>>((const unsigned *)s->a, s->n, round, s->wrong);
}

static void make(struct alias *s)
{
    CUmemGenericAllocationHandle handle;
    NEED(cuMemCreate(&handle, page, &prop, 0));
    CUdeviceptr *const addresses[] = {&s->a, &s->b};
    for (CUdeviceptr *va : addresses) {
        NEED(cuMemAddressReserve(va, page, 0, 0, 0));
        CUresult result = cuMemMap(*va, page, 0, handle, 0);
        say_check("a frame behind two addresses", result == CUDA_SUCCESS, result_name(result));
        NEED(result);
        NEED(cuMemSetAccess(*va, page, &both_ways, 1));
    }
    s->n = (unsigned)(page / sizeof(unsigned)) / ROUNDS(1, 64);
    NEED(cudaMallocHost((void **)&s->home_a, page));
    NEED(cudaMallocHost((void **)&s->home_b, page));
    NEED(cudaMalloc((void **)&s->wrong, sizeof(*s->wrong)));
    NEED(cudaMemset(s->wrong, 0, sizeof(*s->wrong)));
    NEED(cuStreamCreate(&s->work, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&s->out, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&s->in, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&s->event, CU_EVENT_DISABLE_TIMING));
}

static unsigned long long wrong_words(struct alias *s)
{
    unsigned long long wrong = 0;
    NEED(cuCtxSynchronize());
    NEED(cudaMemcpy(&wrong, s->wrong, sizeof(wrong), cudaMemcpyDeviceToHost));
    return wrong;
}

static void two_aliases()
{
    const unsigned rounds = ROUNDS(10000, 200);
    static struct alias s;
    make(&s);
    for (unsigned i = 0; i < s.n; i++)
        s.home_b[i] = ~0U * 2654435761U + i;
    double start = now_us();
    for (unsigned round = 0; round < rounds; round++)
        one_round(&s, round);
    unsigned long long wrong = wrong_words(&s);
    say_number("fact", "rounds of two aliases, out and in", rounds, "rounds");
    say_number("fact", "a round of two aliases", (now_us() - start) / rounds, "us");
    say_number(wrong == 0 ? "ok" : "bad", "stale or lost words with event order alone",
               (double)wrong, "words");
}

/* The same frame written through one address and read through the other, no copy between. */
static void kernel_to_kernel()
{
    static struct alias s;
    const unsigned rounds = ROUNDS(10000, 200);
    make(&s);
    for (unsigned round = 0; round < rounds; round++) {
        fill<<<16, 256, 0, (cudaStream_t)s.work>>>((unsigned *)s.a, s.n, round);
        order(&s, s.work, s.in);
        compare<<<16, 256, 0, (cudaStream_t)s.in>>>((const unsigned *)s.b, s.n, round, s.wrong);
        order(&s, s.in, s.work);
    }
    unsigned long long wrong = wrong_words(&s);
    say_number(wrong == 0 ? "ok" : "bad", "stale words between kernels at two addresses",
               (double)wrong, "words");
}

/* The library's events and waits take the program's stream as it is, the special handles included.
 */
static void special_streams()
{
    static struct alias s;
    make(&s);
    static const struct {
        CUstream stream;
        const char *name;
    } all[] = {
        {NULL, "stream 0"}, {CU_STREAM_LEGACY, "legacy"}, {CU_STREAM_PER_THREAD, "per-thread"}};
    for (const auto &one : all) {
        CUresult record = cuEventRecord(s.event, one.stream);
        CUresult wait = cuStreamWaitEvent(one.stream, s.event, 0);
        say_check((std::string("event record and wait on ") + one.name).c_str(),
                  record == CUDA_SUCCESS && wait == CUDA_SUCCESS,
                  result_name(record == CUDA_SUCCESS ? wait : record));
    }
    /* Our copy streams must not wait for the program's default stream. */
    CUevent timed[2];
    NEED(cuEventCreate(&timed[0], CU_EVENT_DEFAULT));
    NEED(cuEventCreate(&timed[1], CU_EVENT_DEFAULT));
    spin_for(1, NULL);
    NEED(cuMemcpyDtoHAsync(s.home_a, s.a, page, s.out));
    NEED(cuCtxSynchronize());
    spin_for(100, NULL);
    NEED(cuEventRecord(timed[0], NULL));
    NEED(cuMemcpyDtoHAsync(s.home_a, s.a, page, s.out));
    NEED(cuStreamSynchronize(s.out));
    CUresult still = cuEventQuery(timed[0]);
#ifdef __SIMGPU__
    say("skip", "a copy stream runs beside the default stream", "time is virtual here");
    (void)still;
#else
    say_check("a copy stream runs beside the default stream", still == CUDA_ERROR_NOT_READY,
              result_name(still));
#endif
    NEED(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {{"two_aliases", two_aliases},
                                        {"kernel_to_kernel", kernel_to_kernel},
                                        {"special_streams", special_streams}};
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
