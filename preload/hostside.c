/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/hostside.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/hostread.h"
#include "preload/guard.h"

enum spill_hostside spill_hostside_of(CUdeviceptr addr)
{
    struct spill_found found;
    unsigned int type = 0;
    if (addr == 0 || SPILL_CU(cuPointerGetAttribute) == NULL ||
        spill_guard_sink->find(addr, &found))
        return SPILL_HOSTSIDE_NOT;
    CUresult result =
        SPILL_CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addr);
    if (result == CUDA_SUCCESS)
        return type == CU_MEMORYTYPE_HOST ? SPILL_HOSTSIDE_DRIVERS : SPILL_HOSTSIDE_NOT;
    return result == CUDA_ERROR_INVALID_VALUE ? SPILL_HOSTSIDE_OWN : SPILL_HOSTSIDE_NOT;
}

const void *spill_hostside_read(CUdeviceptr src, uint64_t bytes)
{
    if (bytes > SPILL_HOST_SOURCE_MAX || bytes < sizeof(src))
        return NULL;
    switch (spill_hostside_of(src)) {
    case SPILL_HOSTSIDE_DRIVERS:
        return (const void *)src;
    case SPILL_HOSTSIDE_OWN:
        return spill_hostread(src, bytes);
    default:
        return NULL;
    }
}

uint64_t spill_hostside_span(size_t width, size_t rows, size_t layers, size_t pitch,
                             size_t layer_rows)
{
    if (width == 0 || rows == 0 || layers == 0)
        return 0;
    if (pitch == 0)
        pitch = width;
    if (layer_rows == 0)
        layer_rows = rows;
    return ((layers - 1) * layer_rows + rows - 1) * pitch + width;
}

void spill_hostside_any(struct spill_opcall *op, CUdeviceptr src, uint64_t bytes)
{
    op->host_source = spill_hostside_read(src, bytes);
    op->host_bytes = bytes;
}

void spill_hostside_host(struct spill_opcall *op, const void *src, uint64_t bytes)
{
    op->host_source = src;
    op->host_bytes = bytes;
}

/* The pieces of a batch, one after another, each from a multiple of eight on as addresses are. */
static char pieces[SPILL_HOST_SOURCE_MAX];
static uint64_t pieces_bytes;

void spill_hostside_begin(void)
{
    pieces_bytes = 0;
}

void spill_hostside_add(CUdeviceptr src, uint64_t bytes)
{
    if (bytes > sizeof(pieces) - pieces_bytes)
        return;
    const void *data = spill_hostside_read(src, bytes);
    if (data == NULL)
        return;
    memcpy(pieces + pieces_bytes, data, bytes);
    pieces_bytes = (pieces_bytes + bytes + 7) & ~(uint64_t)7;
}

void spill_hostside_end(struct spill_opcall *op)
{
    spill_hostside_host(op, pieces_bytes == 0 ? NULL : pieces, pieces_bytes);
}
