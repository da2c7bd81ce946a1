/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of questions about addresses and memory. An address is answered for as for plain device
 * memory, wherever its buffer's pages are just now: many programs ask before each launch. */
#include "preload/ask.h"
#include "preload/real.h"

#include <string.h>

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr addr)
{
    struct spill_found found;
    if (!spill_ask_managed(addr, &found))
        return SPILL_REAL(cuMemGetAddressRange_v2)(base, bytes, addr);
    if (base != NULL)
        *base = found.base;
    if (bytes != NULL)
        *bytes = found.bytes;
    return CUDA_SUCCESS;
}

/* Registration caches tell a new allocation at an old address by this number. What never moves
 * keeps its physical memory, so there its address is enough. */
static unsigned long long number_of(const struct spill_found *found)
{
    return found->serial != 0 ? (1ULL << 62) | found->serial : found->base;
}

/* Writes ATTRIBUTE of ADDR in FOUND; false: plain device memory has no such attribute, nor have we.
 */
static bool attribute_of(void *data, CUpointer_attribute attribute, CUdeviceptr addr,
                         const struct spill_found *found)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = found->context;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = found->device;
        return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data = CU_MEMORYTYPE_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = addr;
        return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case 20: /* MEMORY_BLOCK_ID, since 12.1 */
        *(unsigned long long *)data = number_of(found);
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case 19: /* MAPPING_BASE_ADDR, since 12.1 */
        *(CUdeviceptr *)data = found->base;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case 18: /* MAPPING_SIZE, since 12.1 */
        *(size_t *)data = found->bytes;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned char *)data = 1;
        return true;
    /* It can neither be exported nor be reached by other devices: cuIpcGetMemHandle refuses too. */
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case 21: /* IS_HW_DECOMPRESS_CAPABLE, since 12.8 */
        *(unsigned char *)data = 0;
        return true;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        return true;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = found->pool;
        return true;
    default: /* HOST_POINTER, P2P_TOKENS */
        return false;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr addr)
{
    struct spill_found found;
    if (data == NULL || !spill_ask_managed(addr, &found))
        return SPILL_REAL(cuPointerGetAttribute)(data, attribute, addr);
    return attribute_of(data, attribute, addr, &found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Unlike the above it succeeds for what is not there, and writes zero. */
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr addr)
{
    struct spill_found found;
    if (attributes == NULL || data == NULL || !spill_ask_managed(addr, &found))
        return SPILL_REAL(cuPointerGetAttributes)(count, attributes, data, addr);
    for (unsigned i = 0; i < count; i++)
        if (data[i] != NULL && !attribute_of(data[i], attributes[i], addr, &found))
            memset(data[i], 0, sizeof(void *));
    return CUDA_SUCCESS;
}

/* What the driver says, until memory is managed; within the budget all the same, or the program
 * would see the card shrink. */
static CUresult info_before(size_t *left, size_t *total)
{
    CUresult result = SPILL_REAL(cuMemGetInfo_v2)(left, total);
    if (result != CUDA_SUCCESS || spill_guard_gpu_mem == 0)
        return result;
    if (left != NULL && *left > spill_guard_gpu_mem)
        *left = spill_guard_gpu_mem;
    if (total != NULL && *total > spill_guard_gpu_mem)
        *total = spill_guard_gpu_mem;
    return result;
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *total)
{
    size_t managed_left, managed_total;
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemGetInfo_v2)(left, total);
    bool wanted = spill_guard_budget_view;
    bool known = wanted && spill_guard_sink->memory(&managed_left, &managed_total);
    spill_guard_leave();
    if (!known)
        return wanted ? info_before(left, total) : SPILL_REAL(cuMemGetInfo_v2)(left, total);
    if (left != NULL)
        *left = managed_left;
    if (total != NULL)
        *total = managed_total;
    return CUDA_SUCCESS;
}
