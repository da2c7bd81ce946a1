/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of allocations and frees in the order of a stream, and of the pools they come from. A
 * pool whose memory other processes, devices or the host may use stays the driver's; so does what
 * is put into a graph, while a stream is captured. */
#include "preload/around.h"
#include "preload/base/pinrules.h"
#include "preload/counted.h"

#include <string.h>

struct request {
    CUdeviceptr *addr;
    size_t bytes;
    CUmemoryPool pool; /* NULL: not known */
    CUstream stream;
    CUdevice device; /* the pool's, where what the driver gives is counted; -1: nowhere */
    CUresult result;
};

/* POOL's memory is not to be had without a place to remember it in. */
static CUresult remember(struct spill_pool *pool, const struct request *r)
{
    CUresult result;
    if (spill_pools_took(pool, *r->addr, r->bytes))
        return CUDA_SUCCESS;
    (void)spill_guard_sink->free(*r->addr, r->stream, &result);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Inside the guard. CURRENT: of the pool that STREAM's device has for that. True: it is managed, or
 * refused, and R->result is the program's. */
static bool take(struct request *r, bool current)
{
    CUdevice device = spill_guard_sink->device_of(r->stream);
    struct spill_pool *pool = current ? spill_pools_current(device) : spill_pools_seek(r->pool);
    r->device = pool != NULL ? pool->device : device >= 0 ? device : spill_counted_device();
    r->pool = pool != NULL ? pool->handle : NULL;
    if (r->addr == NULL || pool == NULL || !pool->manageable || pool->device != device ||
        spill_pinrules_size(r->bytes) ||
        spill_guard_sink->alloc(r->addr, r->bytes, r->stream, &r->result) != SPILL_HANDLED)
        return false;
    if (r->result == CUDA_SUCCESS)
        r->result = remember(pool, r);
    return true;
}

static bool managed(struct request *r, bool current)
{
    if (!spill_guard_enter())
        return false;
    bool ours = take(r, current);
    spill_guard_leave();
    return ours;
}

/* The driver answered RESULT. */
static CUresult passed(const struct request *r, CUdevice device, CUresult result)
{
    if (result == CUDA_SUCCESS && r->pool != NULL && spill_guard_enter()) {
        struct spill_pool *pool = spill_pools_find(r->pool);
        if (pool != NULL)
            spill_pools_passed(pool);
        spill_guard_leave();
    }
    return spill_counted_settle(result, device, r->addr, r->bytes);
}

#define ALLOC_ASYNC(symbol, form)                                                                  \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUstream stream)                              \
    {                                                                                              \
        struct request r = {addr, bytes,                                                           \
                            NULL, spill_around_stream(stream, SPILL_STREAM_##form),                \
                            -1,   CUDA_SUCCESS};                                                   \
        if (managed(&r, true))                                                                     \
            return r.result;                                                                       \
        CUdevice device = spill_counted_reserve(bytes, r.device);                                  \
        return passed(&r, device, SPILL_REAL(symbol)(addr, bytes, stream));                        \
    }
ALLOC_ASYNC(cuMemAllocAsync, L)
ALLOC_ASYNC(cuMemAllocAsync_ptsz, T)

#define ALLOC_POOL(symbol, form)                                                                   \
    CUresult symbol(CUdeviceptr *addr, size_t bytes, CUmemoryPool pool, CUstream stream)           \
    {                                                                                              \
        struct request r = {addr, bytes,                                                           \
                            pool, spill_around_stream(stream, SPILL_STREAM_##form),                \
                            -1,   CUDA_SUCCESS};                                                   \
        if (managed(&r, false))                                                                    \
            return r.result;                                                                       \
        CUdevice device = spill_counted_reserve(bytes, r.device);                                  \
        return passed(&r, device, SPILL_REAL(symbol)(addr, bytes, pool, stream));                  \
    }
ALLOC_POOL(cuMemAllocFromPoolAsync, L)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz, T)

/* Memory of cuMemAlloc may be freed like this, too. */
#define FREE_ASYNC(symbol, form)                                                                   \
    CUresult symbol(CUdeviceptr addr, CUstream stream)                                             \
    {                                                                                              \
        CUresult result;                                                                           \
        if (spill_counted_free(addr, spill_around_stream(stream, SPILL_STREAM_##form), &result))   \
            return result;                                                                         \
        spill_counted_forget(addr);                                                                \
        return SPILL_REAL(symbol)(addr, stream);                                                   \
    }
FREE_ASYNC(cuMemFreeAsync, L)
FREE_ASYNC(cuMemFreeAsync_ptsz, T)

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemPoolCreate)(pool, props);
    CUresult result = SPILL_REAL(cuMemPoolCreate)(pool, props);
    if (result == CUDA_SUCCESS && props != NULL)
        spill_pools_add(*pool, props);
    spill_guard_leave();
    return result;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemPoolDestroy)(pool);
    CUresult result = SPILL_REAL(cuMemPoolDestroy)(pool);
    if (result == CUDA_SUCCESS)
        spill_pools_destroyed(pool);
    spill_guard_leave();
    return result;
}

static CUresult chosen(CUresult result)
{
    if (spill_guard_enter()) {
        spill_pools_chosen();
        spill_guard_leave();
    }
    return result;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    return chosen(SPILL_REAL(cuDeviceSetMemPool)(device, pool));
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemPoolGetAttribute)(pool, attribute, value);
    CUresult result = SPILL_REAL(cuMemPoolGetAttribute)(pool, attribute, value);
    struct spill_pool *known = result == CUDA_SUCCESS ? spill_pools_find(pool) : NULL;
    if (known != NULL)
        spill_pools_tell(known, attribute, value);
    spill_guard_leave();
    return result;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemPoolSetAttribute)(pool, attribute, value);
    CUresult result = SPILL_REAL(cuMemPoolSetAttribute)(pool, attribute, value);
    struct spill_pool *known = result == CUDA_SUCCESS ? spill_pools_find(pool) : NULL;
    if (known != NULL)
        spill_pools_reset(known, attribute);
    spill_guard_leave();
    return result;
}

/* Others than POOL's device get access: to what is managed of it at once, and then to all of its
 * device; where nothing is, the pool stays the driver's from now on. */
static CUresult admit(CUmemoryPool handle, const CUmemAccessDesc *list, size_t count)
{
    struct spill_pool *pool = list == NULL ? NULL : spill_pools_seek(handle);
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; pool != NULL && result == CUDA_SUCCESS && i < count; i++) {
        bool device = list[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE;
        if (list[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
            (device && list[i].location.id == pool->device))
            continue;
        if (pool->used == 0)
            pool->manageable = false;
        else
            result = device ? spill_guard_sink->admit(pool->device, list[i].location.id)
                            : CUDA_ERROR_NOT_SUPPORTED;
    }
    return result;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t count)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemPoolSetAccess)(pool, list, count);
    CUresult result = admit(pool, list, count);
    if (result == CUDA_SUCCESS)
        result = SPILL_REAL(cuMemPoolSetAccess)(pool, list, count);
    spill_guard_leave();
    return result;
}

#if CUDA_VERSION >= 13000
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    return chosen(SPILL_REAL(cuMemSetMemPool)(location, type, pool));
}

/* A pool that was there before the program asked for it. */
static CUresult met(CUresult result, const CUmemoryPool *pool, const CUmemLocation *location,
                    CUmemAllocationType type)
{
    if (result == CUDA_SUCCESS && pool != NULL && location != NULL && spill_guard_enter()) {
        CUmemPoolProps props = {.allocType = type, .location = *location};
        spill_pools_add(*pool, &props);
        spill_guard_leave();
    }
    return result;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type)
{
    return met(SPILL_REAL(cuMemGetDefaultMemPool)(pool, location, type), pool, location, type);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    return met(SPILL_REAL(cuMemGetMemPool)(pool, location, type), pool, location, type);
}
#endif
