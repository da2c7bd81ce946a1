/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory counts as reserved while it is used, and no longer: a pool of ours keeps nothing
 * back. */
#include "preload/pools.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/uthash_heap.h"
#include "preload/real.h"

#define DEVICES 16 /* as many as can be managed */

struct share {
    CUdeviceptr addr;
    uint64_t bytes;
    struct spill_pool *pool;
    UT_hash_handle hh;
};

static struct share *shares;
static struct spill_pool *pools;
static struct spill_pool *current[DEVICES]; /* NULL: to be asked */

struct spill_pool *spill_pools_find(CUmemoryPool handle)
{
    struct spill_pool *p = pools;
    while (p != NULL && (p->handle != handle || p->gone))
        p = p->next;
    return p;
}

static struct spill_pool *add(CUmemoryPool handle, CUdevice device, bool manageable)
{
    struct spill_pool *p = handle == NULL ? NULL : spill_heap_alloc(sizeof(*p));
    if (p == NULL)
        return NULL;
    p->handle = handle;
    p->device = device;
    p->manageable = manageable;
    p->next = pools;
    pools = p;
    return p;
}

/* What the headers of some version do not have is refused with all the rest. */
static bool all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* Memory that other processes or places may use is the driver's to give, and so is what has limits
 * or uses of its own. */
static bool plain(const CUmemPoolProps *props)
{
    CUmemPoolProps rest = *props;
    memset(&rest.location, 0, sizeof(rest.location));
    rest.allocType = (CUmemAllocationType)0;
    return props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           props->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
           all_zero((const unsigned char *)&rest, sizeof(rest));
}

void spill_pools_add(CUmemoryPool handle, const CUmemPoolProps *props)
{
    bool on_device = props->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                     props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED;
    if (spill_pools_find(handle) == NULL)
        (void)add(handle, on_device ? props->location.id : -1, plain(props));
}

static struct spill_pool *default_pool(CUdevice device)
{
    CUmemoryPool handle = NULL;
    if (SPILL_CU(cuDeviceGetDefaultMemPool) == NULL ||
        SPILL_CU(cuDeviceGetDefaultMemPool)(&handle, device) != CUDA_SUCCESS)
        return NULL;
    struct spill_pool *p = spill_pools_find(handle);
    return p != NULL ? p : add(handle, device, true);
}

struct spill_pool *spill_pools_seek(CUmemoryPool handle)
{
    int count = 0;
    struct spill_pool *p = spill_pools_find(handle);
    if (p != NULL)
        return p;
    if (SPILL_CU(cuDeviceGetCount) != NULL && SPILL_CU(cuDeviceGetCount)(&count) == CUDA_SUCCESS)
        for (CUdevice device = 0; device < count; device++)
            (void)default_pool(device);
    return spill_pools_find(handle);
}

struct spill_pool *spill_pools_current(CUdevice device)
{
    CUmemoryPool handle = NULL;
    if (device < 0 || device >= DEVICES)
        return NULL;
    if (current[device] != NULL)
        return current[device];
    if (SPILL_CU(cuDeviceGetMemPool) == NULL ||
        SPILL_CU(cuDeviceGetMemPool)(&handle, device) != CUDA_SUCCESS ||
        default_pool(device) == NULL) /* so that it is known, if it is this one */
        return NULL;
    current[device] = spill_pools_find(handle);
    return current[device];
}

void spill_pools_chosen(void)
{
    memset(current, 0, sizeof(current));
}

/* A pool that was destroyed lives on in the memory that came from it. */
static void sweep(void)
{
    for (struct spill_pool **link = &pools, *p; (p = *link) != NULL;) {
        if (!p->gone || p->used > 0) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        spill_heap_free(p, sizeof(*p));
    }
}

void spill_pools_destroyed(CUmemoryPool handle)
{
    struct spill_pool *p = spill_pools_find(handle);
    if (p == NULL)
        return;
    p->gone = true;
    spill_pools_chosen(); /* its device may have another one now */
    sweep();
}

static uint64_t drivers(const struct spill_pool *pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = 0;
    return pool->passed && !pool->gone &&
                   SPILL_REAL(cuMemPoolGetAttribute)(pool->handle, attribute, &value) ==
                       CUDA_SUCCESS
               ? value
               : 0;
}

static void note_high(struct spill_pool *pool)
{
    uint64_t used = pool->used + drivers(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
    uint64_t reserved = pool->used + drivers(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    if (used > pool->used_high)
        pool->used_high = used;
    if (reserved > pool->reserved_high)
        pool->reserved_high = reserved;
}

bool spill_pools_took(struct spill_pool *pool, CUdeviceptr addr, uint64_t bytes)
{
    struct share *s = spill_heap_alloc(sizeof(*s));
    if (s == NULL)
        return false;
    s->addr = addr;
    s->bytes = bytes;
    s->pool = pool;
    HASH_ADD(hh, shares, addr, sizeof(addr), s);
    pool->used += bytes;
    note_high(pool);
    return true;
}

static struct share *share_at(CUdeviceptr addr)
{
    struct share *found = NULL;
    HASH_FIND(hh, shares, &addr, sizeof(addr), found);
    return found;
}

static void drop(struct share *s)
{
    s->pool->used -= s->bytes;
    HASH_DEL(shares, s);
    spill_heap_free(s, sizeof(*s));
}

void spill_pools_gave(CUdeviceptr addr)
{
    struct share *s = share_at(addr);
    if (s == NULL)
        return;
    bool gone = s->pool->gone;
    drop(s);
    if (gone)
        sweep();
}

void spill_pools_passed(struct spill_pool *pool)
{
    pool->passed = true;
    note_high(pool);
}

CUmemoryPool spill_pools_of(CUdeviceptr addr)
{
    const struct share *s = share_at(addr);
    return s == NULL ? NULL : s->pool->handle;
}

void spill_pools_forget(CUdevice device)
{
    struct share *s, *next;
    HASH_ITER(hh, shares, s, next)
    {
        if (s->pool->device == device)
            drop(s);
    }
    sweep();
}

void spill_pools_tell(struct spill_pool *pool, CUmemPool_attribute attribute, void *value)
{
    cuuint64_t number, high = 0;
    memcpy(&number, value, sizeof(number));
    switch ((int)attribute) {
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        number += pool->used;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        high = pool->reserved_high;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        high = pool->used_high;
        break;
    default: /* what the program set */
        return;
    }
    if (number < high)
        number = high;
    memcpy(value, &number, sizeof(number));
}

void spill_pools_reset(struct spill_pool *pool, CUmemPool_attribute attribute)
{
    if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool->reserved_high = 0;
    else if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->used_high = 0;
    note_high(pool);
}
