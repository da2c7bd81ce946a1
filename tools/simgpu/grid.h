/* SPDX-License-Identifier: Apache-2.0 */
/* Running one kernel launch: blocks one after another, the threads of a block as plain calls until
 * one of them meets a barrier, as fibers from then on. */
#ifndef SIMGPU_GRID_H
#define SIMGPU_GRID_H

#include "module.h"

/* A call frozen as register and stack contents (fiber.S knows the offsets). libffi classifies the
 * arguments once a launch; each of the many threads is then started by a copy of these. */
struct simgpu_frozen {
    uint64_t gpr[6];
    double xmm[8];
    void *entry;
    uint64_t words; /* of stack, even */
    uint64_t *stack;
};

struct simgpu_launch {
    struct simgpu_function *function;
    struct simgpu_dim3 grid, block;
    uint32_t dynamic_shared;
    bool cooperative;
    uint64_t params[]; /* laid out as cuFuncGetParamInfo says */
};

/* CUDA_SUCCESS or the error that ended the launch; WORK is what the cost model counts. */
CUresult simgpu_grid_run(struct simgpu_launch *launch, uint64_t *work);

#endif
