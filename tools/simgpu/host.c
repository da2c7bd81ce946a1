/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that the device may reach: allocated by the driver, registered, or managed. With a
 * unified address space its device address is its host address. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"
#include "op.h"

static struct simgpu_host_range **ranges; /* ascending, disjoint */
static size_t count, room;

static size_t index_of(uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (ranges[mid]->start + ranges[mid]->bytes <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct simgpu_host_range *simgpu_host_find(uint64_t address)
{
    size_t i = index_of(address);
    return i < count && ranges[i]->start <= address ? ranges[i] : NULL;
}

struct simgpu_host_range *simgpu_host_add(uint64_t start, uint64_t bytes, unsigned int flags)
{
    if (simgpu_stats.pinned_bytes > simgpu_config.pinnable ||
        bytes > simgpu_config.pinnable - simgpu_stats.pinned_bytes)
        return NULL;
    if (count == room) {
        size_t more = room != 0 ? room * 2 : 64;
        struct simgpu_host_range **grown = realloc(ranges, more * sizeof *grown);
        if (grown == NULL)
            return NULL;
        ranges = grown;
        room = more;
    }
    struct simgpu_host_range *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->start = start;
    r->bytes = bytes;
    r->flags = flags;
    size_t at = index_of(start);
    memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof *ranges);
    ranges[at] = r;
    count++;
    simgpu_stats.pinned_bytes += bytes;
    if (simgpu_stats.pinned_bytes > simgpu_stats.peak_pinned_bytes)
        simgpu_stats.peak_pinned_bytes = simgpu_stats.pinned_bytes;
    return r;
}

void simgpu_host_remove(struct simgpu_host_range *range)
{
    size_t at = index_of(range->start);
    count--;
    memmove(&ranges[at], &ranges[at + 1], (count - at) * sizeof *ranges);
    simgpu_stats.pinned_bytes -= range->bytes;
    free(range);
}

/* Pinning is paid by the byte: about 2 GiB/s for allocation, 10 GiB/s for registration of memory
 * that was touched before (rapidsai/cudf, pull request 23457). */
static void charge(size_t bytes, double bytes_per_ns)
{
    simgpu_host_ns += (uint64_t)((double)bytes / bytes_per_ns);
}

static CUresult host_alloc(void **pp, size_t bytes, unsigned int flags, bool managed)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (pp == NULL || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t whole = (bytes + 4095) & ~(uint64_t)4095;
    void *at = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct simgpu_host_range *r = simgpu_host_add((uintptr_t)at, whole, flags);
    if (r == NULL) {
        munmap(at, whole);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    r->managed = managed;
    charge(bytes, 2.1);
    *pp = at;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemHostAlloc(void **pp, size_t bytes, unsigned int flags)
{
    const unsigned int known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if ((flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    return host_alloc(pp, bytes, flags, false);
}

CUresult simgpu_cuMemAllocHost_v2(void **pp, size_t bytes)
{
    return host_alloc(pp, bytes, 0, false);
}

CUresult simgpu_cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
    if (ptr == NULL || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    void *at;
    CUresult result = host_alloc(&at, bytes, 0, true);
    if (result == CUDA_SUCCESS)
        *ptr = (uintptr_t)at;
    return result;
}

CUresult simgpu_cuMemFreeHost(void *p)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_host_range *r = simgpu_host_find((uintptr_t)p);
    if (r == NULL || r->start != (uintptr_t)p || r->registered || r->managed)
        return CUDA_ERROR_INVALID_VALUE;
    /* As with device memory, the device is synchronised first. */
    CUresult result = simgpu_ctx_drain();
    munmap(p, r->bytes);
    simgpu_host_remove(r);
    return result;
}

CUresult simgpu_cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
    const unsigned int known = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                               CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (p == NULL || bytes == 0 || (flags & ~known) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    size_t i = index_of((uintptr_t)p);
    if (i < count && ranges[i]->start < (uintptr_t)p + bytes)
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct simgpu_host_range *r = simgpu_host_add((uintptr_t)p, bytes, flags);
    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    r->registered = true;
    charge(bytes, 10.7);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemHostUnregister(void *p)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_host_range *r = simgpu_host_find((uintptr_t)p);
    if (r == NULL || !r->registered || r->start != (uintptr_t)p)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    CUresult result = simgpu_ctx_drain();
    simgpu_host_remove(r);
    return result;
}

CUresult simgpu_cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *p, unsigned int flags)
{
    if (ptr == NULL || flags != 0 || simgpu_host_find((uintptr_t)p) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *ptr = (uintptr_t)p;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemHostGetFlags(unsigned int *flags, void *p)
{
    const struct simgpu_host_range *r = simgpu_host_find((uintptr_t)p);
    if (flags == NULL || r == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = r->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}
