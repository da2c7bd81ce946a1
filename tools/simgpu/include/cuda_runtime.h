/* SPDX-License-Identifier: Apache-2.0 */
/* What a .cu file compiled with simcc sees as cuda_runtime.h: the runtime API, the launch syntax,
 * the device language, and the C++ conveniences. */
#ifndef SIMGPU_CUDA_RUNTIME_H
#define SIMGPU_CUDA_RUNTIME_H

#ifdef __CUDA__
#define __host__     __attribute__((host))
#define __device__   __attribute__((device))
#define __global__   __attribute__((global))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__  _Pragma("GCC error \"__managed__ variables are not supported by simcc\"")
#define __launch_bounds__(...)
#define __grid_constant__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
#define __align__(n)    __attribute__((aligned(n)))
#endif

#include <cmath>
#include <cstdlib>
#include <cstring>
#include "cuda_runtime_api.h"

#ifdef __CUDA__
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
                                                    void *stream = nullptr)
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    __asm__("__simgpuPushCallConfiguration_ptsz")
#endif
        ;
#include "simgpu_device.h"
#endif

#include "simgpu_templates.h"

#endif
