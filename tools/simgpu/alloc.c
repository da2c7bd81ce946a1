/* SPDX-License-Identifier: Apache-2.0 */
/* cuMemAlloc and kin. Large allocations get their own range and frames; small ones share 2 MiB
 * slabs in blocks of 512 bytes, as real drivers do, so that many small buffers cost little physical
 * memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "graph.h"
#include "memory.h"
#include "op.h"
#include "races.h"

#define SLAB_BLOCK 512u
#define SLAB_COUNT (SIMGPU_PAGE / SLAB_BLOCK)
#define SMALL_MAX  ((size_t)1 << 20)

struct simgpu_slab {
    struct simgpu_slab *next;
    struct simgpu_reservation *range;
    struct simgpu_phys *phys;
    uint32_t used, hint;
    uint32_t asked[SLAB_COUNT]; /* at the first block of an allocation: its size */
    uint8_t taken[SLAB_COUNT];
};

static struct simgpu_slab *slabs[SIMGPU_MAX_DEVICES];

/* Blocks that an allocation takes. Races are told apart by grains: then no two share one. */
static uint32_t blocks_of(size_t bytes)
{
    size_t unit = simgpu_races_on ? simgpu_races_grain : SLAB_BLOCK;
    return (uint32_t)((bytes + unit - 1) / unit * (unit / SLAB_BLOCK));
}

static struct simgpu_reservation *alloc_range(struct simgpu_device *device, size_t bytes)
{
    struct simgpu_phys *phys = simgpu_phys_create(device, bytes);
    if (phys == NULL)
        return NULL;
    phys->plain = true;
    struct simgpu_reservation *r = simgpu_space_reserve(phys->bytes, 0, 0);
    if (r == NULL) {
        simgpu_phys_drop(phys);
        return NULL;
    }
    if (simgpu_space_map(r->va, phys) != CUDA_SUCCESS) {
        simgpu_phys_drop(phys);
        simgpu_space_free(r);
        return NULL;
    }
    r->device = device;
    r->asked = bytes;
    if (simgpu_space_set_access(r->va, phys->bytes, 3) != CUDA_SUCCESS) {
        simgpu_space_unmap(simgpu_space_map_at(r->va));
        simgpu_space_free(r);
        return NULL;
    }
    return r;
}

static bool slab_take(struct simgpu_slab *s, size_t bytes, CUdeviceptr *ptr)
{
    uint32_t want = blocks_of(bytes), run = 0;
    if (SLAB_COUNT - s->used < want)
        return false;
    for (uint32_t i = s->hint; i < SLAB_COUNT; i++) {
        run = s->taken[i] ? 0 : run + 1;
        if (run < want)
            continue;
        uint32_t at = i + 1 - want;
        memset(&s->taken[at], 1, want);
        s->asked[at] = (uint32_t)bytes;
        s->used += want;
        if (at == s->hint)
            s->hint = at + want;
        *ptr = s->range->va + (uint64_t)at * SLAB_BLOCK;
        /* A slab in use is no longer fresh as a whole: poison what is handed out. */
        if (!simgpu_frame_fresh(s->phys->device, s->phys->frames[0])) {
            unsigned char *frame = simgpu_frame_window(s->phys->device, s->phys->frames[0]);
            uint32_t *word = (uint32_t *)(void *)(frame + (size_t)at * SLAB_BLOCK);
            for (size_t k = 0; k < (size_t)want * SLAB_BLOCK / sizeof *word; k++)
                word[k] = SIMGPU_POISON;
        }
        return true;
    }
    return false;
}

CUresult simgpu_alloc(struct simgpu_device *device, size_t bytes, CUdeviceptr *ptr)
{
    struct simgpu_slab **list = &slabs[device->ordinal];
    if (bytes <= SMALL_MAX) {
        for (struct simgpu_slab *s = *list; s != NULL; s = s->next)
            if (slab_take(s, bytes, ptr))
                return CUDA_SUCCESS;
    }
    struct simgpu_reservation *r = alloc_range(device, bytes <= SMALL_MAX ? SIMGPU_PAGE : bytes);
    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes > SMALL_MAX) {
        *ptr = r->va;
        return CUDA_SUCCESS;
    }
    struct simgpu_slab *s = calloc(1, sizeof *s);
    if (s == NULL) {
        simgpu_space_unmap(simgpu_space_map_at(r->va));
        simgpu_space_free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->range = r;
    s->phys = simgpu_space_map_at(r->va)->phys;
    s->next = *list;
    *list = s;
    r->slab = s;
    slab_take(s, bytes, ptr);
    return CUDA_SUCCESS;
}

bool simgpu_alloc_range(uint64_t address, uint64_t *base, uint64_t *bytes)
{
    struct simgpu_reservation *r = simgpu_space_find(address);
    if (r == NULL || r->asked == 0)
        return false;
    if (r->slab == NULL) {
        *base = r->va;
        *bytes = r->asked;
        return address - r->va < r->asked;
    }
    const struct simgpu_slab *s = r->slab;
    uint32_t at = (uint32_t)((address - r->va) / SLAB_BLOCK);
    if (!s->taken[at])
        return false;
    while (s->asked[at] == 0)
        at--;
    *base = r->va + (uint64_t)at * SLAB_BLOCK;
    *bytes = s->asked[at];
    return address - *base < *bytes;
}

static void slab_drop(struct simgpu_slab *s)
{
    struct simgpu_slab **link = &slabs[s->phys->device->ordinal];
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    struct simgpu_reservation *r = s->range;
    free(s);
    simgpu_space_unmap(simgpu_space_map_at(r->va));
    simgpu_space_free(r);
}

CUresult simgpu_alloc_free(CUdeviceptr ptr)
{
    uint64_t base, bytes;
    if (!simgpu_alloc_range(ptr, &base, &bytes) || base != ptr)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_reservation *r = simgpu_space_find(ptr);
    if (r->slab == NULL) {
        simgpu_space_unmap(simgpu_space_map_at(r->va));
        simgpu_space_free(r);
        return CUDA_SUCCESS;
    }
    struct simgpu_slab *s = r->slab;
    uint32_t at = (uint32_t)((ptr - r->va) / SLAB_BLOCK);
    uint32_t count = blocks_of(bytes);
    simgpu_races_clear(s->phys->device, s->phys->frames[0], (uint64_t)at * SLAB_BLOCK,
                       (uint64_t)(at + count) * SLAB_BLOCK);
    memset(&s->taken[at], 0, count);
    s->asked[at] = 0;
    s->used -= count;
    if (at < s->hint)
        s->hint = at;
    if (s->used == 0)
        slab_drop(s);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (ptr == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return simgpu_alloc(ctx->device, bytes, ptr);
}

CUresult simgpu_cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
                                   unsigned int element)
{
    if (ptr == NULL || pitch == NULL || width == 0 || height == 0 ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    *pitch = (width + SLAB_BLOCK - 1) / SLAB_BLOCK * SLAB_BLOCK;
    return simgpu_cuMemAlloc_v2(ptr, *pitch * height);
}

CUresult simgpu_cuMemFree_v2(CUdeviceptr ptr)
{
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (ptr == 0)
        return CUDA_SUCCESS;
    struct simgpu_host_range *h = simgpu_host_find(ptr);
    if (h != NULL && h->managed && h->start == ptr) {
        CUresult result = simgpu_op_drain(ctx->device);
        munmap((void *)(uintptr_t)h->start, h->bytes);
        simgpu_host_remove(h);
        return result;
    }
    uint64_t base, bytes;
    if (!simgpu_alloc_range(ptr, &base, &bytes) || base != ptr)
        return CUDA_ERROR_INVALID_VALUE;
    /* The documented implicit synchronisation: programs rely on it. */
    CUresult result = simgpu_ctx_drain();
    if (result != CUDA_SUCCESS)
        return result;
    if (simgpu_pool_keeps(ptr))
        return CUDA_SUCCESS;
    simgpu_pool_forget(ptr);
    return simgpu_alloc_free(ptr);
}

CUresult simgpu_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (free_bytes == NULL || total == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *free_bytes = simgpu_frames_free_bytes(ctx->device);
    *total = simgpu_config.capacity;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
    uint64_t start, bytes;
    if (!simgpu_alloc_range(ptr, &start, &bytes)) {
        const struct simgpu_map *map = simgpu_space_map_at(ptr);
        const struct simgpu_host_range *h = simgpu_host_find(ptr);
        if (map != NULL && !map->phys->plain) {
            start = map->va;
            bytes = map->bytes;
        } else if (h != NULL) {
            start = h->start;
            bytes = h->bytes;
        } else {
            return CUDA_ERROR_NOT_FOUND;
        }
    }
    if (base != NULL)
        *base = start;
    if (size != NULL)
        *size = bytes;
    return CUDA_SUCCESS;
}

bool simgpu_is_device(uint64_t address)
{
    return simgpu_space_holds(address) ? simgpu_space_find(address) != NULL
                                       : simgpu_module_holding(address) != NULL;
}
