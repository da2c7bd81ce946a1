/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's only way to the driver: a table filled at the first runtime call by dlopen, dlsym
 * of cuGetProcAddress_v2, and cuGetProcAddress_v2, as the vendor's runtime does it; so whoever
 * hooks these sees all traffic. */
#ifndef SIMGPU_RT_H
#define SIMGPU_RT_H

#include <stdbool.h>
#include <cudaTypedefs.h>
#include <cudaProfilerTypedefs.h>

#include "../include/cuda_runtime_api.h"

#define SIMGPU_PFN_(name, version) PFN_##name##_v##version
#define SIMGPU_PFN(name, version)  SIMGPU_PFN_(name, version)

struct simgpu_rt_driver {
#define DRIVER(name, version) SIMGPU_PFN(name, version) name;
#include "driver.def"
#undef DRIVER
};
/* The table in use: the second, within a function for the per-thread default stream, holds the
 * driver's _ptsz and _ptds forms. */
extern struct simgpu_rt_driver simgpu_rt_driver[2];
extern _Thread_local unsigned int simgpu_rt_per_thread;
#define DRV simgpu_rt_driver[simgpu_rt_per_thread]

/* The driver is up; with CONTEXT the current device's context is current too. */
cudaError_t simgpu_rt_ready(bool context);
/* Remembers ERROR as the thread's last one and returns it. */
cudaError_t simgpu_rt_done(cudaError_t error);
/* A driver result is the runtime error of the same number. */
cudaError_t simgpu_rt_result(CUresult result);

/* Makes the primary context of a device current. */
cudaError_t simgpu_rt_use_device(int ordinal);
int simgpu_rt_device(void);

/* register.c */
cudaError_t simgpu_rt_function(const void *host, CUfunction *function);
/* The stub that was registered for a function, or NULL. */
const void *simgpu_rt_stub(CUfunction function);
cudaError_t simgpu_rt_variable(const void *host, CUdeviceptr *ptr, size_t *bytes);

/* Begins every function: make ready or fail with the error. */
#define SIMGPU_RT_READY(context)                                                                   \
    do {                                                                                           \
        cudaError_t error_ = simgpu_rt_ready(context);                                             \
        if (error_ != cudaSuccess)                                                                 \
            return simgpu_rt_done(error_);                                                         \
    } while (0)
#define SIMGPU_RT_CALL(call) simgpu_rt_done(simgpu_rt_result(DRV.call))

#define SIMGPU_RT_EXPORT __attribute__((visibility("default")))

#endif
