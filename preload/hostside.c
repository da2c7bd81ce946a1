/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/hostside.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/driver.h"
#include "preload/guard.h"

/* Memory that the driver does not know is the program's own, or an address gone stale: read so that
 * a stale one makes no fault of ours out of an error of the driver. */
static const void *read_safely(CUdeviceptr src, uint64_t bytes)
{
    static char copy[SPILL_HOST_SOURCE_MAX];
    struct iovec to = {copy, bytes}, from = {(void *)src, bytes};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)bytes ? copy : NULL;
}

const void *spill_hostside_read(CUdeviceptr src, uint64_t bytes)
{
    struct spill_found found;
    unsigned int type = 0;
    if (src == 0 || bytes > SPILL_HOST_SOURCE_MAX || bytes < sizeof(src) ||
        SPILL_CU(cuPointerGetAttribute) == NULL || spill_guard_sink->find(src, &found))
        return NULL;
    CUresult result = SPILL_CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, src);
    if (result == CUDA_SUCCESS)
        return type == CU_MEMORYTYPE_HOST ? (const void *)src : NULL;
    return result == CUDA_ERROR_INVALID_VALUE ? read_safely(src, bytes) : NULL;
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
