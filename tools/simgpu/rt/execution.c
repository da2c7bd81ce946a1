/* SPDX-License-Identifier: Apache-2.0 */
/* Launches and what is known of kernels. */
#include <string.h>

#include "rt.h"

/* What a launch with an impossible geometry is called differs between the two levels. */
static cudaError_t launched(CUresult result, dim3 grid, dim3 block)
{
    bool impossible = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 ||
                      block.z == 0 || grid.y > 65535 || grid.z > 65535 || block.x > 1024 ||
                      block.y > 1024 || block.z > 64 || block.x * block.y * block.z > 1024;
    if (result == CUDA_ERROR_INVALID_VALUE && impossible)
        return simgpu_rt_done(cudaErrorInvalidConfiguration);
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
                                              size_t shared, cudaStream_t stream)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return launched(DRV.cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       (unsigned int)shared, stream, args, NULL),
                    grid, block);
}

SIMGPU_RT_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block,
                                                         void **args, size_t shared,
                                                         cudaStream_t stream)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return launched(DRV.cuLaunchCooperativeKernel(f, grid.x, grid.y, grid.z, block.x, block.y,
                                                  block.z, (unsigned int)shared, stream, args),
                    grid, block);
}

SIMGPU_RT_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                                 void **args)
{
    CUfunction f;
    CUlaunchAttribute attributes[8];
    SIMGPU_RT_READY(true);
    if (config == NULL || config->numAttrs > 8)
        return simgpu_rt_done(cudaErrorInvalidValue);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    CUlaunchConfig c = {.gridDimX = config->gridDim.x,
                        .gridDimY = config->gridDim.y,
                        .gridDimZ = config->gridDim.z,
                        .blockDimX = config->blockDim.x,
                        .blockDimY = config->blockDim.y,
                        .blockDimZ = config->blockDim.z,
                        .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
                        .hStream = config->stream,
                        .attrs = attributes,
                        .numAttrs = config->numAttrs};
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        memset(&attributes[i], 0, sizeof attributes[i]);
        attributes[i].id = (CUlaunchAttributeID)config->attrs[i].id;
        memcpy(&attributes[i].value, &config->attrs[i].val, sizeof config->attrs[i].val);
    }
    return launched(DRV.cuLaunchKernelEx(&c, f, args, NULL), config->gridDim, config->blockDim);
}

SIMGPU_RT_EXPORT cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *data)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuLaunchHostFunc(stream, fn, data));
}

static CUresult attribute(CUfunction f, CUfunction_attribute which, int *value)
{
    return DRV.cuFuncGetAttribute(value, which, f);
}

SIMGPU_RT_EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    if (a == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    int shared = 0, constant = 0, local = 0;
    memset(a, 0, sizeof *a);
    CUresult r = attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a->maxThreadsPerBlock);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, &a->numRegs);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, &a->ptxVersion);
    r = r != 0 ? r : attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a->binaryVersion);
    r = r != 0 ? r
               : attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                           &a->maxDynamicSharedSizeBytes);
    a->sharedSizeBytes = (size_t)shared;
    a->constSizeBytes = (size_t)constant;
    a->localSizeBytes = (size_t)local;
    return simgpu_rt_done(simgpu_rt_result(r));
}

SIMGPU_RT_EXPORT cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute which,
                                                  int value)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuFuncSetAttribute(f, (CUfunction_attribute)which, value));
}

SIMGPU_RT_EXPORT cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuFuncSetCacheConfig(f, (CUfunc_cache)config));
}

SIMGPU_RT_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
    SIMGPU_RT_READY(true);
    if (function == NULL)
        return simgpu_rt_done(cudaErrorInvalidValue);
    return simgpu_rt_done(simgpu_rt_function(symbol, function));
}

SIMGPU_RT_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *func, int block_size, size_t dynamic, unsigned int flags)
{
    CUfunction f;
    SIMGPU_RT_READY(true);
    cudaError_t error = simgpu_rt_function(func, &f);
    if (error != cudaSuccess)
        return simgpu_rt_done(error);
    return SIMGPU_RT_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, f, block_size, dynamic, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                           const void *func,
                                                                           int block_size,
                                                                           size_t dynamic)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size, dynamic,
                                                                  0);
}
