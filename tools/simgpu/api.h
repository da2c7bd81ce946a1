/* SPDX-License-Identifier: Apache-2.0 */
/* One implementation, simgpu_<exported name>, per row of api.def, called with the simulator's lock
 * held; and the ids that index counters and costs. */
#ifndef SIMGPU_API_H
#define SIMGPU_API_H

/* Without this macro cuda.h renames cuMemAlloc to cuMemAlloc_v2 and hides the older forms. */
#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

#include "pairs.h"

#define API(cls, ns, name, ...)      CUresult simgpu_##name(SIMGPU_PARAMS(__VA_ARGS__));
#define API_PTSZ(cls, ns, name, ...) API(cls, ns, name, __VA_ARGS__)
#define API_PTDS(cls, ns, name, ...) API(cls, ns, name, __VA_ARGS__)
#include "api.def"
#undef API

enum simgpu_api_id {
#define API(cls, ns, name, ...) SIMGPU_ID_##name,
#include "api.def"
#undef API
#undef API_PTSZ
#undef API_PTDS
    SIMGPU_API_COUNT
};

enum simgpu_api_class { SIMGPU_API_INFO, SIMGPU_API_CTX, SIMGPU_API_MEM, SIMGPU_API_ORDERED };

struct simgpu_api_row {
    const char *name;
    enum simgpu_api_class cls;
    unsigned int host_ns;
};
extern const struct simgpu_api_row simgpu_api[SIMGPU_API_COUNT];

#endif
