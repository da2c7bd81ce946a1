/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that name this toolkit header: all of it is in cuda_runtime_api.h. */
#ifndef SIMGPU_CUDA_PROFILER_API_H
#define SIMGPU_CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#endif
