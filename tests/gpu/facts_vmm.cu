/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: costs, what waits for what, and what a queue or a capture bears. */
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

int main(int argc, char **argv)
{
    static const struct fact facts[] = {
        {"calls_idle", calls_idle},
        {"calls_busy", calls_busy},
        {"launches_beside_set_access", launches_beside_set_access},
        {"waits_for_strangers", waits_for_strangers},
        {"queue_depth", queue_depth},
        {"calls_beside_a_capture", calls_beside_a_capture},
    };
    return run_facts(argc, argv, facts, sizeof(facts) / sizeof(facts[0]));
}
