/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/hostside.h"

#include <sys/uio.h>
#include <unistd.h>

#include "preload/base/driver.h"
#include "preload/guard.h"

#define READ_MAX ((uint64_t)64 << 10)

/* Memory that the driver does not know is the program's own, or an address gone stale: read so that
 * a stale one makes no fault of ours out of an error of the driver. */
static const void *read_safely(CUdeviceptr src, uint64_t bytes)
{
    static char copy[READ_MAX];
    struct iovec to = {copy, bytes}, from = {(void *)src, bytes};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)bytes ? copy : NULL;
}

const void *spill_hostside_read(CUdeviceptr src, uint64_t bytes)
{
    struct spill_found found;
    unsigned int type = 0;
    if (src == 0 || bytes > READ_MAX || bytes < sizeof(src) ||
        SPILL_CU(cuPointerGetAttribute) == NULL || spill_guard_sink->find(src, &found))
        return NULL;
    CUresult result = SPILL_CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, src);
    if (result == CUDA_SUCCESS)
        return type == CU_MEMORYTYPE_HOST ? (const void *)src : NULL;
    return result == CUDA_ERROR_INVALID_VALUE ? read_safely(src, bytes) : NULL;
}
