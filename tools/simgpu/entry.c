/* SPDX-License-Identifier: Apache-2.0 */
/* Every exported function: take the lock, count, charge the host clock, refuse where a real driver
 * would refuse before looking at arguments, else call the implementation. Nothing here knows what a
 * function does. */
#include <pthread.h>

#include "core.h"
#include "graph.h"
#include "races.h"
#include "timeline.h"

#define SIMGPU_EXPORT __attribute__((visibility("default")))

const struct simgpu_api_row simgpu_api[SIMGPU_API_COUNT] = {
#define API(cls, ns, name, ...)      {#name, SIMGPU_API_##cls, ns},
#define API_PTSZ(cls, ns, name, ...) API(cls, ns, name)
#define API_PTDS(cls, ns, name, ...) API(cls, ns, name)
#include "api.def"
#undef API
#undef API_PTSZ
#undef API_PTDS
};

struct simgpu_call simgpu_call;
struct simgpu_stats simgpu_stats;
uint64_t simgpu_host_ns;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static bool loaded;

void simgpu_lock(void)
{
    pthread_mutex_lock(&lock);
}

void simgpu_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* False: the call is over and RESULT is its answer. */
static bool call_begin(enum simgpu_api_id id, bool per_thread, struct simgpu_call *outer,
                       CUresult *result)
{
    simgpu_lock();
    if (!loaded) {
        loaded = true;
        simgpu_config_load();
        simgpu_inject_load();
        simgpu_races_load();
        simgpu_timeline_load();
        simgpu_report_load();
    }
    /* A host function may call the driver from inside an operation; its mode must not leak out. */
    *outer = simgpu_call;
    simgpu_call.per_thread = per_thread;
    simgpu_stats.calls[id]++;
    simgpu_call.slow_ns = simgpu_inject_slow(id);
    simgpu_host_ns += simgpu_api[id].host_ns;
    if (simgpu_api[id].cls >= SIMGPU_API_MEM)
        simgpu_stats.memory_calls++;
    simgpu_report_mark(id);
    if (simgpu_inject_fails(id, result))
        return false;
    if (simgpu_api[id].cls == SIMGPU_API_INFO)
        return true;
    if (!simgpu_initialised) {
        *result = CUDA_ERROR_NOT_INITIALIZED;
        return false;
    }
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx != NULL && ctx->device->sticky != CUDA_SUCCESS) {
        *result = ctx->device->sticky;
        return false;
    }
    if (simgpu_api[id].cls == SIMGPU_API_MEM) {
        *result = simgpu_capture_forbids(NULL);
        return *result == CUDA_SUCCESS;
    }
    return true;
}

static CUresult call_end(struct simgpu_call outer, CUresult result)
{
    simgpu_call = outer;
    simgpu_unlock();
    return result;
}

#define SIMGPU_ENTRY(symbol, name, per_thread, ...)                                                \
    SIMGPU_EXPORT CUresult CUDAAPI symbol(SIMGPU_PARAMS(__VA_ARGS__))                              \
    {                                                                                              \
        CUresult result;                                                                           \
        struct simgpu_call outer;                                                                  \
        if (call_begin(SIMGPU_ID_##name, per_thread, &outer, &result))                             \
            result = simgpu_##name(SIMGPU_ARGS(__VA_ARGS__));                                      \
        return call_end(outer, result);                                                            \
    }
#define API(cls, ns, name, ...) SIMGPU_ENTRY(name, name, false, __VA_ARGS__)
#define API_PTSZ(cls, ns, name, ...)                                                               \
    SIMGPU_ENTRY(name, name, false, __VA_ARGS__)                                                   \
    SIMGPU_ENTRY(name##_ptsz, name, true, __VA_ARGS__)
#define API_PTDS(cls, ns, name, ...)                                                               \
    SIMGPU_ENTRY(name, name, false, __VA_ARGS__)                                                   \
    SIMGPU_ENTRY(name##_ptds, name, true, __VA_ARGS__)
#include "api.def"
