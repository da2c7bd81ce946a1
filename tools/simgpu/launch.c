/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: check, copy the parameters (they are the program's again when the call returns), queue.
 */
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "graph.h"
#include "grid.h"
#include "memory.h"
#include "op.h"
#include "stream.h"

static CUresult run_launch(struct simgpu_op *op, uint64_t *duration_ns)
{
    const struct simgpu_config *k = &simgpu_config;
    struct simgpu_launch *l = op->u.launch;
    uint64_t work = 0;
    CUresult result = simgpu_grid_run(l, &work);
    *duration_ns =
        (uint64_t)((double)k->kernel_ns + (double)work / k->work_rate * l->function->cost_factor);
    simgpu_stats.kernels++;
    if (result == CUDA_ERROR_ILLEGAL_ADDRESS)
        simgpu_say("kernel %s touched %#llx, which is not mapped", l->function->name,
                   (unsigned long long)simgpu_fault_address());
    return result;
}

static void drop_launch(struct simgpu_op *op)
{
    free(op->u.launch);
}

static bool copy_launch(struct simgpu_op *to, const struct simgpu_op *from)
{
    const struct simgpu_launch *l = from->u.launch;
    size_t bytes = sizeof *l + l->function->param_bytes + sizeof *l->params;
    to->u.launch = malloc(bytes);
    if (to->u.launch == NULL)
        return false;
    memcpy(to->u.launch, l, bytes);
    return true;
}

static const struct simgpu_op_type launch_type = {"kernel", run_launch, drop_launch, copy_launch};

static CUresult gather(const struct simgpu_function *f, void **params, void **extra, char *to)
{
    if (params != NULL) {
        for (unsigned int i = 0; i < f->count; i++) {
            if (params[i] == NULL)
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(to + f->offset[i], params[i], f->size[i]);
        }
        return CUDA_SUCCESS;
    }
    const void *buffer = NULL;
    size_t bytes = 0;
    for (void **e = extra; e != NULL && *e != CU_LAUNCH_PARAM_END; e += 2) {
        if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = e[1];
        else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(size_t *)e[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (f->count == 0)
        return CUDA_SUCCESS;
    if (buffer == NULL || bytes < f->param_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(to, buffer, f->param_bytes);
    return CUDA_SUCCESS;
}

static bool bad_geometry(const CUDA_KERNEL_NODE_PARAMS *p)
{
    return p->gridDimX == 0 || p->gridDimY == 0 || p->gridDimZ == 0 || p->blockDimX == 0 ||
           p->blockDimY == 0 || p->blockDimZ == 0 || p->gridDimX > 2147483647u ||
           p->gridDimY > 65535 || p->gridDimZ > 65535 || p->blockDimX > 1024 ||
           p->blockDimY > 1024 || p->blockDimZ > 64 ||
           (uint64_t)p->blockDimX * p->blockDimY * p->blockDimZ > 1024;
}

CUresult simgpu_launch_fill(struct simgpu_op *op, const CUDA_KERNEL_NODE_PARAMS *p,
                            bool cooperative)
{
    if (p == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_function *f =
        simgpu_function_of(p->func != NULL ? (const void *)p->func : (const void *)p->kern);
    if (f == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (bad_geometry(p) || p->sharedMemBytes > (unsigned int)f->max_dynamic_shared ||
        (p->kernelParams != NULL && p->extra != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    /* All blocks of a cooperative grid have to be resident at once. */
    if (cooperative && (uint64_t)p->gridDimX * p->gridDimY * p->gridDimZ >
                           (uint64_t)simgpu_config.multiprocessors * 32)
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    struct simgpu_launch *l = malloc(sizeof *l + f->param_bytes + sizeof *l->params);
    if (l == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *l = (struct simgpu_launch){.function = f,
                                .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                .dynamic_shared = p->sharedMemBytes,
                                .cooperative = cooperative};
    CUresult result = gather(f, p->kernelParams, p->extra, (char *)l->params);
    if (result != CUDA_SUCCESS) {
        free(l);
        return result;
    }
    op->type = &launch_type;
    op->engine = SIMGPU_ENGINE_COMPUTE;
    op->u.launch = l;
    op->launch_name = f->name;
    return CUDA_SUCCESS;
}

size_t simgpu_launch_count(const struct simgpu_op *op)
{
    return op->u.launch->function->count;
}

CUresult simgpu_launch_show(const struct simgpu_op *op, void **pointers, CUDA_KERNEL_NODE_PARAMS *p)
{
    struct simgpu_launch *l = op->u.launch;
    for (unsigned int i = 0; i < l->function->count; i++)
        pointers[i] = (char *)l->params + l->function->offset[i];
    *p = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)l->function,
                                   .gridDimX = l->grid.x,
                                   .gridDimY = l->grid.y,
                                   .gridDimZ = l->grid.z,
                                   .blockDimX = l->block.x,
                                   .blockDimY = l->block.y,
                                   .blockDimZ = l->block.z,
                                   .sharedMemBytes = l->dynamic_shared,
                                   .kernelParams = pointers};
    return CUDA_SUCCESS;
}

static CUresult launch(const CUDA_KERNEL_NODE_PARAMS *p, CUstream stream, bool cooperative)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->ctx->device != simgpu_ctx_current()->device)
        return CUDA_ERROR_INVALID_HANDLE; /* copies may, launches may not */
    if (s->legacy && simgpu_capture_forbids_legacy(s) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    struct simgpu_op filled;
    CUresult result = simgpu_launch_fill(&filled, p, cooperative);
    if (result != CUDA_SUCCESS)
        return result;
    struct simgpu_op *op = simgpu_op_new(s, filled.type, filled.engine);
    if (op == NULL) {
        free(filled.u.launch);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->u.launch = filled.u.launch;
    op->launch_name = filled.launch_name;
    op->ready_ns += simgpu_config.launch_ns;
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                               unsigned int bx, unsigned int by, unsigned int bz,
                               unsigned int shared, CUstream stream, void **params, void **extra)
{
    CUDA_KERNEL_NODE_PARAMS p = {f, gx, gy, gz, bx, by, bz, shared, params, extra, NULL, NULL};
    return launch(&p, stream, false);
}

CUresult simgpu_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
                                          unsigned int gz, unsigned int bx, unsigned int by,
                                          unsigned int bz, unsigned int shared, CUstream stream,
                                          void **params)
{
    CUDA_KERNEL_NODE_PARAMS p = {f, gx, gy, gz, bx, by, bz, shared, params, NULL, NULL, NULL};
    return launch(&p, stream, true);
}

CUresult simgpu_cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    if (c == NULL || (c->numAttrs != 0 && c->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS p = {f,
                                 c->gridDimX,
                                 c->gridDimY,
                                 c->gridDimZ,
                                 c->blockDimX,
                                 c->blockDimY,
                                 c->blockDimZ,
                                 c->sharedMemBytes,
                                 params,
                                 extra,
                                 NULL,
                                 NULL};
    bool cooperative = false;
    for (unsigned int i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            cooperative = c->attrs[i].value.cooperative != 0;
    return launch(&p, c->hStream, cooperative);
}

static void host_body(void *arg)
{
    struct simgpu_op *op = arg;
    if (op->u.host.fn != NULL)
        op->u.host.fn(op->u.host.data);
    else
        op->u.host.callback(op->u.host.stream, op->device->sticky, op->u.host.data);
}

static CUresult run_host(struct simgpu_op *op, uint64_t *duration_ns)
{
    if (simgpu_exiting)
        return CUDA_SUCCESS; /* the program that it belongs to is gone */
    *duration_ns = 1000;
    host_body(op);
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type host_type = {"host function", run_host, NULL, NULL};

void simgpu_host_fill(struct simgpu_op *op, CUhostFn fn, void *data)
{
    op->type = &host_type;
    op->engine = SIMGPU_ENGINE_NONE;
    op->u.host.fn = fn;
    op->u.host.data = data;
}

static CUresult host_function(CUstream stream, CUhostFn fn, CUstreamCallback callback, void *data)
{
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (fn == NULL && callback == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_op *op = simgpu_op_new(s, &host_type, SIMGPU_ENGINE_NONE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.host.fn = fn;
    op->u.host.callback = callback;
    op->u.host.stream = stream;
    op->u.host.data = data;
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data)
{
    return host_function(stream, fn, NULL, data);
}

CUresult simgpu_cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *data,
                                    unsigned int flags)
{
    return flags == 0 ? host_function(stream, NULL, fn, data) : CUDA_ERROR_INVALID_VALUE;
}
