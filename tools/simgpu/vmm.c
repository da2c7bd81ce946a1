/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual memory management calls, checked as cuda.h documents them: whole mappings only,
 * multiples of the granularity, access set apart from mapping. None of them waits for queued work.
 */
#include <string.h>

#include "memory.h"

static struct simgpu_phys *phys_of(CUmemGenericAllocationHandle handle)
{
    struct simgpu_phys *p = (struct simgpu_phys *)(uintptr_t)handle;
    return p != NULL && p->magic == SIMGPU_PHYS_MAGIC ? p : NULL;
}

CUresult simgpu_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                    CUdeviceptr addr, unsigned long long flags)
{
    if (ptr == NULL || size == 0 || size % SIMGPU_PAGE != 0 || flags != 0 ||
        (alignment & (alignment - 1)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_reservation *r = simgpu_space_reserve(size, alignment, addr);
    if (r == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ptr = r->va;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    struct simgpu_reservation *r = simgpu_space_find(ptr);
    if (r == NULL || r->asked != 0 || r->va != ptr || r->bytes != size)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = ptr; at < ptr + size; at += SIMGPU_PAGE)
        if (simgpu_space_map_at(at) != NULL)
            return CUDA_ERROR_INVALID_VALUE;
    simgpu_space_free(r);
    return CUDA_SUCCESS;
}

static CUresult check_prop(const CUmemAllocationProp *prop, struct simgpu_device **device)
{
    if (prop == NULL || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    *device = simgpu_device_at(prop->location.id);
    return *device != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult simgpu_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                            const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct simgpu_device *device;
    if (handle == NULL || size == 0 || size % SIMGPU_PAGE != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_prop(prop, &device);
    if (result != CUDA_SUCCESS)
        return result;
    struct simgpu_phys *p = simgpu_phys_create(device, size);
    if (p == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    p->prop = *prop;
    p->handles = 1;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct simgpu_phys *p = phys_of(handle);
    if (p == NULL || p->handles == 0)
        return CUDA_ERROR_INVALID_VALUE;
    p->handles--;
    simgpu_phys_drop(p);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                         CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct simgpu_phys *p = phys_of(handle);
    struct simgpu_reservation *r = simgpu_space_find(ptr);
    if (p == NULL || p->handles == 0 || r == NULL || r->asked != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (size == 0 || ptr % SIMGPU_PAGE != 0 || offset != 0 || size != p->bytes ||
        ptr + size > r->va + r->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = ptr; at < ptr + size; at += SIMGPU_PAGE)
        if (simgpu_space_map_at(at) != NULL)
            return CUDA_ERROR_INVALID_VALUE;
    const struct simgpu_map *twin = simgpu_space_map_at(simgpu_inject_twin());
    if (twin != NULL && twin->bytes == p->bytes)
        p = twin->phys;
    simgpu_inject_mapped(ptr, p->frames[0]);
    return simgpu_space_map(ptr, p);
}

CUresult simgpu_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    struct simgpu_reservation *r = simgpu_space_find(ptr);
    if (r == NULL || r->asked != 0 || size == 0 || ptr + size > r->va + r->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    /* First see that the range is made of whole mappings, then take them down. */
    for (uint64_t at = ptr; at < ptr + size;) {
        const struct simgpu_map *map = simgpu_space_map_at(at);
        if (map == NULL || map->va != at || at + map->bytes > ptr + size)
            return CUDA_ERROR_INVALID_VALUE;
        at += map->bytes;
    }
    for (uint64_t at = ptr; at < ptr + size;) {
        struct simgpu_map *map = simgpu_space_map_at(at);
        at += map->bytes;
        simgpu_space_unmap(map);
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                               size_t count)
{
    struct simgpu_reservation *r = simgpu_space_find(ptr);
    if (r == NULL || r->asked != 0 || desc == NULL || count == 0 || size == 0 ||
        ptr % SIMGPU_PAGE != 0 || size % SIMGPU_PAGE != 0 || ptr + size > r->va + r->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (simgpu_device_at(desc[i].location.id) == NULL)
            return CUDA_ERROR_INVALID_DEVICE;
        CUmemAccess_flags flags = desc[i].flags;
        if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
        CUresult result = simgpu_space_set_access(ptr, size, (unsigned int)flags);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                               CUdeviceptr ptr)
{
    if (flags == NULL || location == NULL || simgpu_space_map_at(ptr) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = simgpu_space_access_at(ptr);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                              CUmemAllocationGranularity_flags option)
{
    struct simgpu_device *device;
    if (granularity == NULL || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_prop(prop, &device);
    if (result == CUDA_SUCCESS)
        *granularity = SIMGPU_PAGE;
    return result;
}

CUresult simgpu_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                       CUmemGenericAllocationHandle handle)
{
    struct simgpu_phys *p = phys_of(handle);
    if (p == NULL || prop == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *prop = p->prop;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    const struct simgpu_map *map = simgpu_space_map_at((uintptr_t)addr);
    if (handle == NULL || map == NULL || map->phys->plain)
        return CUDA_ERROR_INVALID_VALUE;
    map->phys->handles++;
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)map->phys;
    return CUDA_SUCCESS;
}
