/* SPDX-License-Identifier: Apache-2.0 */
/* What the API tells and sets about a kernel. */
#include <string.h>

#include "module.h"

CUresult simgpu_cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
    if (simgpu_function_of(kernel) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (f == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *f = (CUfunction)(void *)kernel;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuFuncGetName(const char **name, CUfunction handle)
{
    const struct simgpu_function *f = simgpu_function_of(handle);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *name = f->name;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuKernelGetName(const char **name, CUkernel kernel)
{
    return simgpu_cuFuncGetName(name, (CUfunction)(void *)kernel);
}

CUresult simgpu_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size)
{
    const struct simgpu_function *f = simgpu_function_of(handle);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (offset == NULL || index >= f->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = f->offset[index];
    if (size != NULL)
        *size = f->size[index];
    return CUDA_SUCCESS;
}

CUresult simgpu_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    return simgpu_cuFuncGetParamInfo((CUfunction)(void *)kernel, index, offset, size);
}

CUresult simgpu_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    const struct simgpu_function *f = simgpu_function_of(handle);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *module = (CUmodule)f->module;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    const struct simgpu_function *f = simgpu_function_of(handle);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (value == NULL || (int)attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = simgpu_config.major * 10 + simgpu_config.minor;
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = f->max_dynamic_shared;
        break;
    default:
        *value = f->attributes[attribute];
    }
    return CUDA_SUCCESS;
}

CUresult simgpu_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                                     CUdevice dev)
{
    if (simgpu_device_at(dev) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    return simgpu_cuFuncGetAttribute(value, attribute, (CUfunction)(void *)kernel);
}

CUresult simgpu_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    struct simgpu_function *f = simgpu_function_of(handle);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > 232448)
            return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    }
    /* The first eight are facts of the compiled code, not settings. */
    if ((int)attribute < CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ||
        attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    f->attributes[attribute] = value;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                     CUdevice dev)
{
    if (simgpu_device_at(dev) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    return simgpu_cuFuncSetAttribute((CUfunction)(void *)kernel, attribute, value);
}

CUresult simgpu_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    (void)config; /* a hint */
    return simgpu_function_of(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simgpu_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    if (simgpu_function_of(handle) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (state == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuFuncLoad(CUfunction handle)
{
    return simgpu_function_of(handle) != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult simgpu_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction handle,
                                                                     int block_size, size_t dynamic,
                                                                     unsigned int flags)
{
    if (simgpu_function_of(handle) == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (blocks == NULL || block_size <= 0 || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    int by_threads = block_size > 1024 ? 0 : 2048 / ((block_size + 31) / 32 * 32);
    int by_shared = dynamic != 0 ? (int)(233472 / (dynamic + 1024)) : 32;
    int most = by_threads < by_shared ? by_threads : by_shared;
    *blocks = most < 32 ? most : 32;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f,
                                                            int block_size, size_t dynamic)
{
    return simgpu_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, block_size,
                                                                       dynamic, 0);
}

CUresult simgpu_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f,
                                                 CUoccupancyB2DSize dynamic_of, size_t dynamic,
                                                 int limit)
{
    int best = 0, best_threads = 0, blocks;
    if (grid == NULL || block == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    for (int size = limit > 0 && limit < 1024 ? limit / 32 * 32 : 1024; size >= 32; size -= 32) {
        size_t shared = dynamic_of != NULL ? dynamic_of(size) : dynamic;
        CUresult result =
            simgpu_cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, size, shared);
        if (result != CUDA_SUCCESS)
            return result;
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best = size;
            *grid = blocks * simgpu_config.multiprocessors;
        }
    }
    *block = best;
    return CUDA_SUCCESS;
}
