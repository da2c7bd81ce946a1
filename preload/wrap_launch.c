/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of kernel launches and host functions. */
#include "preload/around.h"
#include "preload/base/log.h"
#include "preload/opcalls.h"

static struct spill_opcall kernel_ex_op(CUstream when_null, const CUlaunchConfig *config,
                                        CUfunction function, void **params, void **extra)
{
    if (config == NULL)
        return (struct spill_opcall){.kind = SPILL_OPKIND_HOST_FUNC, .stream = when_null};
    return spill_opcalls_kernel(spill_around_stream(config->hStream, when_null), function,
                                config->gridDimX, config->gridDimY, config->gridDimZ,
                                config->blockDimX, config->blockDimY, config->blockDimZ, params,
                                extra);
}

#define LAUNCH(symbol, home)                                                                       \
    CUresult symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
                    unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)    \
    {                                                                                              \
        SPILL_AROUND(                                                                              \
            spill_opcalls_kernel(spill_around_stream(stream, home), f, gx, gy, gz, bx, by, bz,     \
                                 params, extra),                                                   \
            SPILL_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra));         \
    }
LAUNCH(cuLaunchKernel, SPILL_STREAM_L)
LAUNCH(cuLaunchKernel_ptsz, SPILL_STREAM_T)

#define LAUNCH_EX(symbol, home)                                                                    \
    CUresult symbol(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)       \
    {                                                                                              \
        SPILL_AROUND(kernel_ex_op(home, config, f, params, extra),                                 \
                     SPILL_REAL(symbol)(config, f, params, extra));                                \
    }
LAUNCH_EX(cuLaunchKernelEx, SPILL_STREAM_L)
LAUNCH_EX(cuLaunchKernelEx_ptsz, SPILL_STREAM_T)

#define LAUNCH_COOPERATIVE(symbol, home)                                                           \
    CUresult symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
                    unsigned bz, unsigned shared, CUstream stream, void **params)                  \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_kernel(spill_around_stream(stream, home), f, gx, gy, gz, bx,    \
                                          by, bz, params, NULL),                                   \
                     SPILL_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params));       \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, SPILL_STREAM_L)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, SPILL_STREAM_T)

#define HOST_FUNC(symbol, home)                                                                    \
    CUresult symbol(CUstream stream, CUhostFn fn, void *data)                                      \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_host(spill_around_stream(stream, home)),                        \
                     SPILL_REAL(symbol)(stream, fn, data));                                        \
    }
HOST_FUNC(cuLaunchHostFunc, SPILL_STREAM_L)
HOST_FUNC(cuLaunchHostFunc_ptsz, SPILL_STREAM_T)

#define CALLBACK(symbol, home)                                                                     \
    CUresult symbol(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)    \
    {                                                                                              \
        SPILL_AROUND(spill_opcalls_host(spill_around_stream(stream, home)),                        \
                     SPILL_REAL(symbol)(stream, callback, data, flags));                           \
    }
CALLBACK(cuStreamAddCallback, SPILL_STREAM_L)
CALLBACK(cuStreamAddCallback_ptsz, SPILL_STREAM_T)

/* One kernel on several devices: its parameters are several lists, so it counts as touching all. */
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *list, unsigned int devices,
                                              unsigned int flags)
{
    SPILL_AROUND(spill_opcalls_plain(SPILL_OPKIND_ALL, SPILL_STREAM_L),
                 SPILL_REAL(cuLaunchCooperativeKernelMultiDevice)(list, devices, flags));
}

/* The launches of before CUDA 4: their parameters were set one by one, by calls that we do not
 * follow. */
static struct spill_opcall old_op(CUstream stream)
{
    spill_log_once(SPILL_LOG_WARN,
                   "this program launches by cuLaunch, cuLaunchGrid or cuLaunchGridAsync, whose "
                   "parameters are not seen: all its memory stays on the GPU");
    return spill_opcalls_plain(SPILL_OPKIND_ALL, stream);
}

CUresult cuLaunch(CUfunction f)
{
    SPILL_AROUND(old_op(SPILL_STREAM_L), SPILL_REAL(cuLaunch)(f));
}

CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
    SPILL_AROUND(old_op(SPILL_STREAM_L), SPILL_REAL(cuLaunchGrid)(f, width, height));
}

CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
    SPILL_AROUND(old_op(spill_around_stream(stream, SPILL_STREAM_L)),
                 SPILL_REAL(cuLaunchGridAsync)(f, width, height, stream));
}
