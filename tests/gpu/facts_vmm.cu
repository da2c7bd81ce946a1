/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: costs, what waits for what, and what runs of mappings allow. */
#include "gpufact.h"

#include <atomic>
#include <pthread.h>

static std::string size_text(size_t bytes)
{
    return std::to_string(bytes >> 20) + "MiB";
}

/* A launch every so often, so that the device is never idle; on a thread of its own. */
struct load {
    std::atomic<bool> stop;
    stats latency;
    pthread_t thread;
    double spin_ms;
};

__global__ void nothing()
{
}

static void *keep_busy(void *argument)
{
    struct load *load = (struct load *)argument;
    CUstream stream;
    NEED(cuCtxSetCurrent(context));
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int n = 0; !load->stop; n++) {
        if (load->spin_ms > 0) {
            spin_for(load->spin_ms, stream);
        } else {
            double start = now_us();
            nothing<<<1, 1, 0, (cudaStream_t)stream>>>();
            load->latency.add(now_us() - start);
        }
        if (n % 64 == 63)
            NEED(cuStreamSynchronize(stream));
    }
    NEED(cuStreamSynchronize(stream));
    return NULL;
}

static void start_load(struct load *load, double spin_ms)
{
    load->stop = false;
    load->spin_ms = spin_ms;
    pthread_create(&load->thread, NULL, keep_busy, load);
}

static void end_load(struct load *load)
{
    load->stop = true;
    pthread_join(load->thread, NULL);
}

/* One handle of BYTES through its life, ROUNDS times. */
static void time_calls(const std::string &state, size_t bytes, int rounds)
{
    stats create, map, access, unmap, release, reserve;
    for (int i = 0; i < rounds; i++) {
        CUdeviceptr va;
        CUmemGenericAllocationHandle handle;
        double t[7];
        t[0] = now_us();
        NEED(cuMemAddressReserve(&va, bytes, 0, 0, 0));
        t[1] = now_us();
        if (cuMemCreate(&handle, bytes, &prop, 0) != CUDA_SUCCESS) {
            say("skip", ("calls " + state + " " + size_text(bytes)).c_str(), "no such memory");
            return;
        }
        t[2] = now_us();
        NEED(cuMemMap(va, bytes, 0, handle, 0));
        t[3] = now_us();
        NEED(cuMemSetAccess(va, bytes, &both_ways, 1));
        t[4] = now_us();
        NEED(cuMemUnmap(va, bytes));
        t[5] = now_us();
        NEED(cuMemRelease(handle));
        t[6] = now_us();
        NEED(cuMemAddressFree(va, bytes));
        reserve.add(t[1] - t[0]);
        create.add(t[2] - t[1]);
        map.add(t[3] - t[2]);
        access.add(t[4] - t[3]);
        unmap.add(t[5] - t[4]);
        release.add(t[6] - t[5]);
    }
    std::string name = state + " " + size_text(bytes) + " ";
    say_stats(name + "reserve", &reserve);
    say_stats(name + "create", &create);
    say_stats(name + "map", &map);
    say_stats(name + "set access", &access);
    say_stats(name + "unmap", &unmap);
    say_stats(name + "release", &release);
}

static void all_sizes(const std::string &state)
{
    static const size_t sizes[] = {2, 8, 32, 128, 512, 1024};
    for (size_t mib : sizes)
        if (mib <= ROUNDS(1024U, 64U))
            time_calls(state, mib << 20, mib > 64 ? 20 : ROUNDS(200, 5));
}

static void calls_idle()
{
    all_sizes("idle");
}

static void calls_busy()
{
    static struct load load;
    start_load(&load, 0.2);
    all_sizes("busy");
    end_load(&load);
}

/* Another thread's launches while this one maps and unmaps. */
static void launches_beside_set_access()
{
    static struct load alone, beside;
    CUdeviceptr va;
    CUmemGenericAllocationHandle handle;
    NEED(cuMemAddressReserve(&va, page, 0, 0, 0));
    NEED(cuMemCreate(&handle, page, &prop, 0));
    start_load(&alone, 0);
    double until = now_us() + ROUNDS(500000, 50000);
    while (now_us() < until)
        ;
    end_load(&alone);
    start_load(&beside, 0);
    stats access, unmap;
    until = now_us() + ROUNDS(1000000, 50000);
    while (now_us() < until) {
        NEED(cuMemMap(va, page, 0, handle, 0));
        double start = now_us();
        NEED(cuMemSetAccess(va, page, &both_ways, 1));
        access.add(now_us() - start);
        start = now_us();
        NEED(cuMemUnmap(va, page));
        unmap.add(now_us() - start);
    }
    end_load(&beside);
    say_stats("launch alone", &alone.latency);
    say_number("fact", "launch alone.max", alone.latency.at(1), "us");
    say_stats("launch beside set access", &beside.latency);
    say_number("fact", "launch beside set access.max", beside.latency.at(1), "us");
    say_stats("set access beside launches", &access);
    say_stats("unmap beside launches", &unmap);
    say_number("fact", "launches stalled by set access (p99 over p99)",
               beside.latency.at(0.99) / std::max(alone.latency.at(0.99), 0.001), "times");
}

/* Work that touches nothing of ours runs while the call is made: does the call wait for it? */
static void waits_for_strangers()
{
    const double ms = 100;
    CUdeviceptr va, plain = 0;
    CUmemGenericAllocationHandle handle;
    CUstream stream;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuMemAddressReserve(&va, page, 0, 0, 0));
    NEED(cuMemCreate(&handle, page, &prop, 0));
    NEED(cuMemAlloc(&plain, 64 << 20));
    spin_for(1, stream); /* loads the kernel */
    NEED(cuStreamSynchronize(stream));
    const char *const names[] = {"map",
                                 "set access",
                                 "unmap",
                                 "create",
                                 "register of host memory",
                                 "unregister of host memory",
                                 "cuMemFree"};
    void *host = aligned_alloc(4096, 1 << 20);
    for (int call = 0; call < 7; call++) {
        CUmemGenericAllocationHandle other = 0;
        spin_for(ms, stream);
        double start = now_us();
        switch (call) {
        case 0:
            NEED(cuMemMap(va, page, 0, handle, 0));
            break;
        case 1:
            NEED(cuMemSetAccess(va, page, &both_ways, 1));
            break;
        case 2:
            NEED(cuMemUnmap(va, page));
            break;
        case 3:
            NEED(cuMemCreate(&other, page, &prop, 0));
            break;
        case 4:
            NEED(cuMemHostRegister(host, 1 << 20, CU_MEMHOSTREGISTER_PORTABLE));
            break;
        case 5:
            NEED(cuMemHostUnregister(host));
            break;
        default:
            NEED(cuMemFree(plain));
            break;
        }
        double took = now_us() - start;
        NEED(cuStreamSynchronize(stream));
        double all = now_us() - start;
        std::string name = std::string(names[call]) + " waits for work that does not touch it";
        say("fact", name.c_str(), took > 0.5 * all && took > 1000 ? "yes" : "no", "",
            (std::to_string((long)took) + " of " + std::to_string((long)all) + " us").c_str());
    }
}

__global__ void late_write(int *p, long long cycles)
{
#ifndef __SIMGPU__
    long long start = clock64();
    while (clock64() - start < cycles)
        ;
#endif
    *p = 1;
}

/* A kernel that will write the page is running. Ends in a fault where unmap does not wait. */
static void unmap_under_a_kernel()
{
    CUdeviceptr va;
    CUmemGenericAllocationHandle handle;
    NEED(cuMemAddressReserve(&va, page, 0, 0, 0));
    NEED(cuMemCreate(&handle, page, &prop, 0));
    NEED(cuMemMap(va, page, 0, handle, 0));
    NEED(cuMemSetAccess(va, page, &both_ways, 1));
    late_write<<<1, 1>>>((int *)va, 0);
    NEED(cuCtxSynchronize());
    late_write<<<1, 1>>>((int *)va, 200000000);
    double start = now_us();
    CUresult result = cuMemUnmap(va, page);
    double took = now_us() - start;
    CUresult after = cuCtxSynchronize();
    say("fact", "unmap under a running kernel", after == CUDA_SUCCESS ? "waits" : "faults", "",
        (result_name(result) + " after " + std::to_string((long)took) + " us, then " +
         result_name(after))
            .c_str());
}

__global__ void read_word(const int *p, int *out)
{
    *out = *p;
}

/* The guard relies on this: an access to what is out must not go unnoticed. */
static void access_to_unmapped()
{
    CUdeviceptr va;
    int *out = NULL;
    NEED(cudaMalloc((void **)&out, sizeof(*out)));
    NEED(cuMemAddressReserve(&va, 2 * page, 0, 0, 0));
    read_word<<<1, 1>>>((const int *)va, out);
    CUresult result = cuCtxSynchronize();
    say_check("a kernel's read of a reserved, unmapped address faults",
              result == CUDA_ERROR_ILLEGAL_ADDRESS, result_name(result));
}

static void attributes_of_unmapped()
{
    CUdeviceptr va, base = 0;
    size_t bytes = 0;
    NEED(cuMemAddressReserve(&va, 4 * page, 0, 0, 0));
    static const struct {
        CUpointer_attribute attribute;
        const char *name;
    } asked[] = {
        {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "MEMORY_TYPE"},
        {CU_POINTER_ATTRIBUTE_CONTEXT, "CONTEXT"},
        {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "DEVICE_ORDINAL"},
        {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "RANGE_START_ADDR"},
        {CU_POINTER_ATTRIBUTE_RANGE_SIZE, "RANGE_SIZE"},
        {CU_POINTER_ATTRIBUTE_MAPPED, "MAPPED"},
        {CU_POINTER_ATTRIBUTE_BUFFER_ID, "BUFFER_ID"},
    };
    for (const auto &a : asked) {
        unsigned long long value = 0;
        CUresult result = cuPointerGetAttribute(&value, a.attribute, va + page);
        say("fact", (std::string("unmapped: ") + a.name).c_str(), result_name(result).c_str(), "",
            std::to_string(value).c_str());
    }
    CUresult result = cuMemGetAddressRange(&base, &bytes, va + page);
    say("fact", "unmapped: cuMemGetAddressRange", result_name(result).c_str(), "",
        base == va && bytes == 4 * page ? "the reservation" : "");
    /* And mapped as we do it, one handle a page: what would a library see without our answers? */
    CUmemGenericAllocationHandle handle;
    NEED(cuMemCreate(&handle, page, &prop, 0));
    for (int i = 0; i < 2; i++)
        NEED(cuMemMap(va + (size_t)i * page, page, 0, handle, 0));
    NEED(cuMemSetAccess(va, 2 * page, &both_ways, 1));
    result = cuMemGetAddressRange(&base, &bytes, va + page);
    say("fact", "mapped page by page: cuMemGetAddressRange", result_name(result).c_str(), "",
        (std::to_string(bytes / page) + " pages, from page " + std::to_string((base - va) / page))
            .c_str());
}

__global__ void count_up(unsigned *p, size_t n, unsigned from)
{
    for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < n;
         i += (size_t)blockDim.x * gridDim.x)
        p[i] = from + (unsigned)i;
}

/* A buffer is a run of mappings of different handles: one set-access, and copies across the seams.
 */
static void runs_of_mappings()
{
    const int pages = 4;
    size_t bytes = pages * page, n = bytes / sizeof(unsigned);
    CUdeviceptr va;
    CUmemGenericAllocationHandle handles[pages];
    NEED(cuMemAddressReserve(&va, bytes, 0, 0, 0));
    for (int i = 0; i < pages; i++) {
        NEED(cuMemCreate(&handles[i], page, &prop, 0));
        NEED(cuMemMap(va + (size_t)i * page, page, 0, handles[i], 0));
    }
    CUresult result = cuMemSetAccess(va, bytes, &both_ways, 1);
    say_check("one set access for a run of mappings", result == CUDA_SUCCESS, result_name(result));
    unsigned *host = NULL;
    CUstream stream;
    NEED(cudaMallocHost((void **)&host, bytes));
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    count_up<<<8, 128, 0, (cudaStream_t)stream>>>((unsigned *)va, n, 7);
    size_t odd = page - 4096;
    CUresult out = cuMemcpyDtoHAsync(host, va + odd, 2 * page, stream);
    NEED(cuStreamSynchronize(stream));
    bool right = true;
    for (size_t i = 0; i < 2 * page / sizeof(unsigned); i++)
        right = right && host[i] == 7 + (unsigned)(i + odd / sizeof(unsigned));
    say_check("a copy out across mappings", out == CUDA_SUCCESS && right, result_name(out));
    for (size_t i = 0; i < n; i++)
        host[i] = 3 * (unsigned)i;
    CUresult in = cuMemcpyHtoDAsync(va + odd, host, 2 * page, stream);
    NEED(cuStreamSynchronize(stream));
    memset(host, 0, bytes);
    NEED(cuMemcpyDtoHAsync(host, va, bytes, stream));
    NEED(cuStreamSynchronize(stream));
    right = host[0] == 7;
    for (size_t i = 0; i < 2 * page / sizeof(unsigned); i++)
        right = right && host[i + odd / sizeof(unsigned)] == 3 * (unsigned)i;
    say_check("a copy in across mappings", in == CUDA_SUCCESS && right, result_name(in));
    result = cuMemsetD8Async(va, 0x5a, bytes, stream);
    say_check("a memset across mappings",
              result == CUDA_SUCCESS && cuStreamSynchronize(stream) == CUDA_SUCCESS,
              result_name(result));
    result = cuMemUnmap(va + page, page);
    say_check("one mapping of a run is unmapped alone", result == CUDA_SUCCESS,
              result_name(result));
    result = cuMemMap(va + page, page, 0, handles[0], 0);
    if (result == CUDA_SUCCESS)
        result = cuMemSetAccess(va + page, page, &both_ways, 1);
    say_check("another frame is mapped in its place", result == CUDA_SUCCESS, result_name(result));
    result = cuMemUnmap(va, bytes);
    say("fact", "one unmap for a run of mappings", result_name(result).c_str());
}

static const char *const beside_names[] = {"cuCtxSynchronize",
                                           "cuStreamSynchronize",
                                           "map and set access",
                                           "unmap",
                                           "cuMemHostRegister",
                                           "cuMemHostUnregister",
                                           "a copy",
                                           "cuMemFree"};

struct beside {
    int which;
    CUresult result;
    CUdeviceptr va, plain;
    CUmemGenericAllocationHandle handle;
    CUstream stream;
    char *pinned, *other;
};

static void *call_beside(void *argument)
{
    struct beside *b = (struct beside *)argument;
    NEED(cuCtxSetCurrent(context));
    switch (b->which) {
    case 0:
        b->result = cuCtxSynchronize();
        break;
    case 1:
        b->result = cuStreamSynchronize(b->stream);
        break;
    case 2:
        b->result = cuMemMap(b->va, page, 0, b->handle, 0);
        if (b->result == CUDA_SUCCESS)
            b->result = cuMemSetAccess(b->va, page, &both_ways, 1);
        break;
    case 3:
        b->result = cuMemUnmap(b->va, page);
        break;
    case 4:
        b->result = cuMemHostRegister(b->other, 1 << 20, CU_MEMHOSTREGISTER_PORTABLE);
        break;
    case 5:
        b->result = cuMemHostUnregister(b->other);
        break;
    case 6:
        b->result = cuMemcpyDtoHAsync(b->pinned, b->plain, 4096, b->stream);
        break;
    default:
        b->result = cuMemFree(b->plain);
        break;
    }
    return NULL;
}

/* A thread captures; which of our calls on another thread fail, or spoil its capture? */
static void calls_beside_a_capture()
{
    static struct beside b;
    CUstream captured;
    NEED(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    NEED(cuStreamCreate(&b.stream, CU_STREAM_NON_BLOCKING));
    NEED(cuMemAddressReserve(&b.va, page, 0, 0, 0));
    NEED(cuMemCreate(&b.handle, page, &prop, 0));
    NEED(cuMemAlloc(&b.plain, 4 << 20));
    NEED(cudaMallocHost((void **)&b.pinned, 4096));
    b.other = (char *)aligned_alloc(4096, 1 << 20);
    nothing<<<1, 1, 0, (cudaStream_t)captured>>>();
    NEED(cuCtxSynchronize());
    for (b.which = 0; b.which < 8; b.which++) {
        CUgraph graph = NULL;
        pthread_t thread;
        NEED(cuStreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        nothing<<<1, 1, 0, (cudaStream_t)captured>>>();
        pthread_create(&thread, NULL, call_beside, &b);
        pthread_join(thread, NULL);
        CUresult end = cuStreamEndCapture(captured, &graph);
        say("fact", (std::string("beside a capture: ") + beside_names[b.which]).c_str(),
            result_name(b.result).c_str(), "",
            end == CUDA_SUCCESS ? "" : ("and the capture ends with " + result_name(end)).c_str());
    }
}

/* The replayer queues a whole iteration and means never to wait: how much can be queued? */
static void queue_depth()
{
    CUstream stream;
    CUevent event;
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    spin_for(1, stream);
    nothing<<<1, 1, 0, (cudaStream_t)stream>>>();
    NEED(cuStreamSynchronize(stream));
    for (int kind = 0; kind < 2; kind++) {
        const int most = ROUNDS(20000, 500);
        int n = 0;
        spin_for(300, stream);
        for (; n < most; n++) {
            double start = now_us();
            if (kind == 0)
                nothing<<<1, 1, 0, (cudaStream_t)stream>>>();
            else
                NEED(cuEventRecord(event, stream));
            if (now_us() - start > 5000)
                break;
        }
        NEED(cuStreamSynchronize(stream));
        say_number("fact",
                   kind == 0 ? "launches queued before one waits"
                             : "events queued before one waits",
                   n, "", n == most ? "as many as tried" : "");
    }
}

/* replay/device.c reserves 32 times the card's memory, and halves until it is given. */
static void span()
{
    size_t free_bytes, total, bytes;
    CUdeviceptr va = 0;
    NEED(cuMemGetInfo(&free_bytes, &total));
    bytes = total * 32 / page * page;
    double start = now_us();
    CUresult result = cuMemAddressReserve(&va, bytes, page, 0, 0);
    say_number("fact", "reserving 32 times the card's memory", now_us() - start, "us",
               result_name(result).c_str());
    for (; result != CUDA_SUCCESS && bytes > 2 * total; bytes = bytes / 2 / page * page)
        result = cuMemAddressReserve(&va, bytes / 2 / page * page, page, 0, 0);
    say_check("a span of at least twice the card's memory", result == CUDA_SUCCESS,
              std::to_string(bytes >> 30) + " GiB");
}

/* What cuMemGetInfo calls free, in frames: the default budget. */
static void free_is_usable()
{
    size_t free_bytes, total, limit = ROUNDS(SIZE_MAX, (size_t)256 << 20), taken = 0;
    NEED(cuMemGetInfo(&free_bytes, &total));
    CUmemGenericAllocationHandle handle;
    for (size_t step = std::min((size_t)1 << 30, limit); step >= page; step /= 8)
        while (taken < limit && cuMemCreate(&handle, step, &prop, 0) == CUDA_SUCCESS)
            taken += step;
    say_number(
        "fact", "share of the free memory that frames can have",
        100.0 * (double)taken / (double)std::min(free_bytes, limit), "%",
        (std::to_string(free_bytes >> 20) + " MiB free of " + std::to_string(total >> 20)).c_str());
}

int main(int argc, char **argv)
{
    static const struct fact facts[] = {
        {"calls_idle", calls_idle},
        {"calls_busy", calls_busy},
        {"launches_beside_set_access", launches_beside_set_access},
        {"waits_for_strangers", waits_for_strangers},
        {"unmap_under_a_kernel", unmap_under_a_kernel},
        {"access_to_unmapped", access_to_unmapped},
        {"attributes_of_unmapped", attributes_of_unmapped},
        {"runs_of_mappings", runs_of_mappings},
        {"queue_depth", queue_depth},
        {"calls_beside_a_capture", calls_beside_a_capture},
        {"span", span},
        {"free_is_usable", free_is_usable},
    };
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
