/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of allocations, frees and questions about addresses. */
#include "preload/guard.h"
#include "preload/real.h"

CUresult cuMemAlloc_v2(CUdeviceptr *addr, size_t bytes)
{
    CUresult result;
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemAlloc_v2)(addr, bytes);
    if (addr == NULL || spill_guard_sink->alloc(addr, bytes, &result) == SPILL_NOT_OURS) {
        result = SPILL_REAL(cuMemAlloc_v2)(addr, bytes);
        if (result == CUDA_SUCCESS)
            spill_guard_sink->unmanaged((int64_t)bytes);
    }
    spill_guard_leave();
    return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *addr, size_t *pitch, size_t width, size_t height,
                            unsigned int element)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemAllocPitch_v2)(addr, pitch, width, height, element);
    CUresult result = SPILL_REAL(cuMemAllocPitch_v2)(addr, pitch, width, height, element);
    if (result == CUDA_SUCCESS)
        spill_guard_sink->unmanaged((int64_t)(*pitch * height));
    spill_guard_leave();
    return result;
}

CUresult cuMemAllocManaged(CUdeviceptr *addr, size_t bytes, unsigned int flags)
{
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemAllocManaged)(addr, bytes, flags);
    CUresult result = SPILL_REAL(cuMemAllocManaged)(addr, bytes, flags);
    spill_guard_leave();
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr addr)
{
    CUresult result;
    if (!spill_guard_enter())
        return SPILL_REAL(cuMemFree_v2)(addr);
    if (spill_guard_sink->free(addr, &result) == SPILL_NOT_OURS)
        result = SPILL_REAL(cuMemFree_v2)(addr);
    spill_guard_leave();
    return result;
}

/* Runs inside the guard: false when ADDR is not managed, or the caller is to pass through. */
static bool find_managed(CUdeviceptr addr, CUdeviceptr *base, size_t *bytes)
{
    if (!spill_guard_enter())
        return false;
    bool found = spill_guard_sink->find(addr, base, bytes);
    spill_guard_leave();
    return found;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr addr)
{
    CUdeviceptr found;
    size_t length;
    if (!find_managed(addr, &found, &length))
        return SPILL_REAL(cuMemGetAddressRange_v2)(base, bytes, addr);
    if (base != NULL)
        *base = found;
    if (bytes != NULL)
        *bytes = length;
    return CUDA_SUCCESS;
}

/* Answers what must not depend on where the buffer's pages are now; false: ask the driver. */
static bool managed_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr addr)
{
    CUdeviceptr base;
    size_t bytes;
    if (data == NULL || !find_managed(addr, &base, &bytes))
        return false;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned int *)data = CU_MEMORYTYPE_DEVICE;
        return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = addr;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = base;
        return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = bytes;
        return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned char *)data = 0;
        return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned char *)data = 1;
        return true;
    default:
        return false;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr addr)
{
    if (managed_attribute(data, attribute, addr))
        return CUDA_SUCCESS;
    return SPILL_REAL(cuPointerGetAttribute)(data, attribute, addr);
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr addr)
{
    CUresult result = SPILL_REAL(cuPointerGetAttributes)(count, attributes, data, addr);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++)
        (void)managed_attribute(data[i], attributes[i], addr);
    return result;
}
