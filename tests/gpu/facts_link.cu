/* SPDX-License-Identifier: Apache-2.0 */
/* The link: rates each way and together, what pinning costs, and frames that lie in host memory. */
#include "gpufact.h"

#include <sys/mman.h>
#include <unistd.h>

struct lane {
    CUstream stream;
    CUevent start, end;
    char *host;
    CUdeviceptr device;
};

static struct lane lanes[2]; /* out, in */

static void enqueue(int way, size_t bytes, int copies)
{
    struct lane *lane = &lanes[way];
    NEED(cuEventRecord(lane->start, lane->stream));
    for (int i = 0; i < copies; i++)
        NEED(way == 0 ? cuMemcpyDtoHAsync(lane->host, lane->device, bytes, lane->stream)
                      : cuMemcpyHtoDAsync(lane->device, lane->host, bytes, lane->stream));
    NEED(cuEventRecord(lane->end, lane->stream));
}

static double took_us(int way, int copies)
{
    float ms = 0;
    NEED(cuEventSynchronize(lanes[way].end));
    NEED(cuEventElapsedTime(&ms, lanes[way].start, lanes[way].end));
    return 1000.0 * ms / copies;
}

static void rates()
{
    static const char *const names[2] = {"out", "in"};
    const size_t most = (size_t)ROUNDS(256, 16) << 20;
    for (struct lane &lane : lanes) {
        NEED(cuMemAlloc(&lane.device, most));
        NEED(cudaMallocHost((void **)&lane.host, most));
        memset(lane.host, 1, most);
        NEED(cuStreamCreate(&lane.stream, CU_STREAM_NON_BLOCKING));
        NEED(cuEventCreate(&lane.start, CU_EVENT_DEFAULT));
        NEED(cuEventCreate(&lane.end, CU_EVENT_DEFAULT));
    }
    for (size_t bytes = 256; bytes <= most; bytes *= bytes == 256 ? 16 : 8) {
        int copies = bytes <= (4 << 20) ? 64 : 8;
        double alone[2], together[2];
        for (int way = 0; way < 2; way++) {
            enqueue(way, bytes, copies);
            (void)took_us(way, copies);
            enqueue(way, bytes, copies);
            alone[way] = took_us(way, copies);
        }
        enqueue(0, bytes, copies);
        enqueue(1, bytes, copies);
        for (int way = 0; way < 2; way++)
            together[way] = took_us(way, copies);
        std::string size =
            bytes < (1 << 20) ? std::to_string(bytes) + " B" : std::to_string(bytes >> 20) + " MiB";
        for (int way = 0; way < 2; way++) {
            say_number("fact", "copy " + size + " " + names[way], alone[way], "us");
            say_number("fact", "rate " + size + " " + names[way], (double)bytes / alone[way] / 1000,
                       "GB/s");
        }
        say_number("fact", "rate " + size + " both at once",
                   2.0 * (double)bytes / std::max(together[0], together[1]) / 1000, "GB/s");
    }
}

static void register_one(const char *name, int advice)
{
    const size_t bytes = (size_t)ROUNDS(2048, 64) << 20;
    double gib = (double)bytes / (1 << 30);
    char *p = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        say("skip", name, "no memory");
        return;
    }
    (void)madvise(p, bytes, advice);
    (void)madvise(p, bytes, MADV_DONTFORK);
    double start = now_us();
    for (size_t i = 0; i < bytes; i += 4096)
        ((volatile char *)p)[i] = 0;
    say_number("fact", std::string("touching ") + name, (now_us() - start) / 1000 / gib, "ms/GiB");
    start = now_us();
    CUresult result = cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    double took = now_us() - start;
    say_check((std::string("registering ") + name + " works").c_str(), result == CUDA_SUCCESS,
              result_name(result));
    if (result == CUDA_SUCCESS) {
        say_number("fact", std::string("registering ") + name, took / 1000 / gib, "ms/GiB");
        start = now_us();
        NEED(cuMemHostUnregister(p));
        say_number("fact", std::string("unregistering ") + name, (now_us() - start) / 1000 / gib,
                   "ms/GiB");
    }
    munmap(p, bytes);
}

static void registration()
{
    register_one("huge pages", MADV_HUGEPAGE);
    register_one("small pages", MADV_NOHUGEPAGE);
}

/* The pool's chunks: how many registrations may a process hold? */
static void registrations_held()
{
    const size_t wanted = ROUNDS(4096, 64), bytes = 64 << 10;
    char *p = (char *)mmap(NULL, wanted * bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUresult result = CUDA_SUCCESS;
    size_t got = 0;
    while (got < wanted && result == CUDA_SUCCESS) {
        result = cuMemHostRegister(p + got * bytes, bytes, CU_MEMHOSTREGISTER_PORTABLE);
        got += result == CUDA_SUCCESS;
    }
    say_number(got == wanted ? "ok" : "fact", "registrations held at once", (double)got, "",
               result_name(result).c_str());
}

__global__ void add_up(unsigned *p, size_t n)
{
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n;
         i += (size_t)blockDim.x * gridDim.x)
        p[i] += 1;
}

/* Frames in host memory, mapped for the device: an alternative to copies for what is read once. */
static void host_frames()
{
#if CUDA_VERSION >= 12020
    CUmemAllocationProp host = prop;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr va;
    size_t unit = 0, bytes = (size_t)64 << 20;
    CUmemLocation where = {};
    where.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    where.id = 0;
    host.location = where;
    CUresult result = cuMemGetAllocationGranularity(&unit, &host, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (result == CUDA_SUCCESS)
        result = cuMemCreate(&handle, bytes, &host, 0);
    if (result != CUDA_SUCCESS) {
        say("skip", "frames in host memory", result_name(result).c_str());
        return;
    }
    say_number("fact", "granularity of frames in host memory", (double)unit / 1048576, "MiB");
    NEED(cuMemAddressReserve(&va, bytes, 0, 0, 0));
    NEED(cuMemMap(va, bytes, 0, handle, 0));
    result = cuMemSetAccess(va, bytes, &both_ways, 1);
    say("fact", "device access to frames in host memory", result_name(result).c_str());
    if (result != CUDA_SUCCESS)
        return;
    NEED(cuMemsetD8(va, 0, bytes));
    add_up<<<1024, 256>>>((unsigned *)va, bytes / sizeof(unsigned));
    NEED(cuCtxSynchronize());
    double start = now_us();
    add_up<<<1024, 256>>>((unsigned *)va, bytes / sizeof(unsigned));
    NEED(cuCtxSynchronize());
    double took = now_us() - start;
    unsigned last = 0;
    NEED(cuMemcpyDtoH(&last, va + bytes - sizeof(last), sizeof(last)));
    say_check("a kernel reads and writes frames in host memory", last == 2, std::to_string(last));
    say_number("fact", "rate of a kernel on frames in host memory",
               2.0 * (double)bytes / took / 1000, "GB/s");
#else
    say("skip", "frames in host memory", "headers older than 12.2");
#endif
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {{"rates", rates},
                                        {"registration", registration},
                                        {"registrations_held", registrations_held},
                                        {"host_frames", host_frames}};
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
