/* SPDX-License-Identifier: Apache-2.0 */
/* Launches: check, copy the parameters (they are the program's again when the call returns), queue. */
#include <stdlib.h>
#include <string.h>

#include "fault.h"
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
    *duration_ns = (uint64_t)((double)k->kernel_ns + (double)work / k->work_rate *
                                                          l->function->cost_factor);
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

static const struct simgpu_op_type launch_type = {"kernel", run_launch, drop_launch, NULL};

struct request {
    CUfunction f;
    struct simgpu_dim3 grid, block;
    unsigned int shared;
    CUstream stream;
    bool cooperative;
    void **params, **extra;
};

static CUresult gather(const struct simgpu_function *f, const struct request *r, char *to)
{
    if (r->params != NULL) {
        for (unsigned int i = 0; i < f->count; i++) {
            if (r->params[i] == NULL)
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(to + f->offset[i], r->params[i], f->size[i]);
        }
        return CUDA_SUCCESS;
    }
    const void *buffer = NULL;
    size_t bytes = 0;
    for (void **e = r->extra; e != NULL && *e != CU_LAUNCH_PARAM_END; e += 2) {
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

static CUresult launch(const struct request *r)
{
    if (simgpu_ctx_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct simgpu_function *f = simgpu_function_of(r->f);
    struct simgpu_stream *s = simgpu_stream_of(r->stream);
    if (f == NULL || s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    const struct simgpu_dim3 *g = &r->grid, *b = &r->block;
    if (g->x == 0 || g->y == 0 || g->z == 0 || b->x == 0 || b->y == 0 || b->z == 0 ||
        g->x > 2147483647u || g->y > 65535 || g->z > 65535 || b->x > 1024 || b->y > 1024 ||
        b->z > 64 || (uint64_t)b->x * b->y * b->z > 1024 ||
        r->shared > (unsigned int)f->max_dynamic_shared || (r->params != NULL && r->extra != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_launch *l = malloc(sizeof *l + f->param_bytes + sizeof *l->params);
    if (l == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *l = (struct simgpu_launch){.function = f,
                                .grid = *g,
                                .block = *b,
                                .dynamic_shared = r->shared,
                                .cooperative = r->cooperative};
    CUresult result = gather(f, r, (char *)l->params);
    struct simgpu_op *op = NULL;
    if (result == CUDA_SUCCESS &&
        (op = simgpu_op_new(s, &launch_type, SIMGPU_ENGINE_COMPUTE)) == NULL)
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS) {
        free(l);
        return result;
    }
    op->ready_ns += simgpu_config.launch_ns;
    op->u.launch = l;
    op->launch_name = f->name;
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                               unsigned int bx, unsigned int by, unsigned int bz,
                               unsigned int shared, CUstream stream, void **params, void **extra)
{
    return launch(&(struct request){f, {gx, gy, gz}, {bx, by, bz}, shared, stream, false, params,
                                    extra});
}

CUresult simgpu_cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy,
                                          unsigned int gz, unsigned int bx, unsigned int by,
                                          unsigned int bz, unsigned int shared, CUstream stream,
                                          void **params)
{
    return launch(&(struct request){f, {gx, gy, gz}, {bx, by, bz}, shared, stream, true, params,
                                    NULL});
}

CUresult simgpu_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params,
                                 void **extra)
{
    if (config == NULL || (config->numAttrs != 0 && config->attrs == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    struct request r = {f,
                        {config->gridDimX, config->gridDimY, config->gridDimZ},
                        {config->blockDimX, config->blockDimY, config->blockDimZ},
                        config->sharedMemBytes,
                        config->hStream,
                        false,
                        params,
                        extra};
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            r.cooperative = config->attrs[i].value.cooperative != 0;
    return launch(&r);
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
