/* SPDX-License-Identifier: Apache-2.0 */
/* What a pointer is. Reserved addresses answer too, mapped or not, as cuda.h documents. */
#include <string.h>

#include "memory.h"
#include "pool.h"

struct pointer {
    uint64_t address, base, bytes; /* the allocation, mapping or registration around it */
    uint64_t range, range_bytes;   /* the reserved range, for device addresses */
    CUmemorytype type;
    int ordinal;
    bool known, mapped, plain, managed;
    unsigned long long id;
    struct simgpu_ctx *ctx;
    CUmemoryPool pool; /* NULL: not of one */
};

static struct pointer examine(uint64_t address)
{
    struct pointer p = {.address = address, .type = CU_MEMORYTYPE_DEVICE};
    struct simgpu_host_range *h = simgpu_host_find(address);
    struct simgpu_reservation *r = simgpu_space_find(address);
    struct simgpu_ctx *current = simgpu_ctx_current();
    if (h != NULL) {
        p.known = p.mapped = true;
        p.type = h->managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        p.managed = h->managed;
        p.base = p.range = h->start;
        p.bytes = p.range_bytes = h->bytes;
        p.ordinal = current != NULL ? current->device->ordinal : 0;
        p.id = h->start;
    } else if (r != NULL && r->asked != 0) {
        p.known = p.mapped = simgpu_alloc_range(address, &p.base, &p.bytes);
        p.pool = simgpu_pool_behind(p.base);
        p.plain = p.pool == NULL;
        p.range = p.base;
        p.range_bytes = p.bytes;
        p.ordinal = r->device->ordinal;
        p.id = r->id;
    } else if (r != NULL) {
        const struct simgpu_map *map = simgpu_space_map_at(address);
        p.known = true;
        p.mapped = map != NULL;
        p.range = r->va;
        p.range_bytes = r->bytes;
        p.base = map != NULL ? map->va : r->va;
        p.bytes = map != NULL ? map->bytes : r->bytes;
        p.ordinal = map != NULL ? map->phys->device->ordinal : 0;
        p.id = r->id;
    } else if (simgpu_module_holding(address) != NULL) {
        p.known = p.mapped = true;
        p.base = p.range = address;
        p.ordinal = current != NULL ? current->device->ordinal : 0;
    }
    p.ctx =
        simgpu_devices[p.ordinal].primary.refs > 0 ? &simgpu_devices[p.ordinal].primary : current;
    return p;
}

#define PUT(type, value) memcpy(data, &(type){value}, sizeof(type))

static CUresult answer(const struct pointer *p, CUpointer_attribute attribute, void *data)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
        PUT(unsigned int, p->known && p->mapped);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        PUT(unsigned int, p->known && p->plain);
        return CUDA_SUCCESS;
    default:
        break;
    }
    if (!p->known)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        PUT(CUcontext, (CUcontext)p->ctx);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        PUT(unsigned int, p->type);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        PUT(CUdeviceptr, p->address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (p->type != CU_MEMORYTYPE_HOST && !p->managed)
            return CUDA_ERROR_INVALID_VALUE;
        PUT(uint64_t, p->address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
#if CUDA_VERSION >= 12080
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
#endif
        PUT(unsigned int, 0);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        PUT(unsigned long long, p->id);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        PUT(unsigned int, p->managed);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        PUT(int, p->ordinal);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        PUT(CUdeviceptr, p->range);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        PUT(size_t, p->range_bytes);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        PUT(CUdeviceptr, p->base);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        PUT(size_t, p->bytes);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        PUT(uint64_t, simgpu_pool_of(p->pool) != NULL ? simgpu_pool_of(p->pool)->handles : 0);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        PUT(CUmemoryPool, p->pool);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        PUT(int, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult simgpu_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    if (data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct pointer p = examine(ptr);
    return answer(&p, attribute, data);
}

CUresult simgpu_cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data,
                                       CUdeviceptr ptr)
{
    if (n == 0 || attributes == NULL || data == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    /* Unlike the single form this one succeeds for a pointer that is not CUDA's and gives zeros. */
    struct pointer p = examine(ptr);
    for (unsigned int i = 0; i < n; i++) {
        if (data[i] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        if (answer(&p, attributes[i], data[i]) == CUDA_SUCCESS)
            continue;
        bool small = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                     attributes[i] == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
                     attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                     attributes[i] == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS ||
                     attributes[i] == CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE;
        if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            memcpy(data[i], &(int){-2}, sizeof(int));
        else
            memset(data[i], 0, small ? 4 : 8);
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                      CUdeviceptr ptr)
{
    struct pointer p = examine(ptr);
    if (value == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !p.known ||
        p.type != CU_MEMORYTYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
