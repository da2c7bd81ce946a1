/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of kernel launches, host functions and graphs. */
#include "preload/around.h"

static struct spill_opcall kernel_op(CUstream stream, CUfunction function, unsigned gx, unsigned gy,
                                     unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                     void **params, void **extra)
{
    return (struct spill_opcall){.kind = SPILL_OPKIND_KERNEL,
                                 .stream = stream,
                                 .function = function,
                                 .params = params,
                                 .extra = extra,
                                 .grid = {gx, gy, gz},
                                 .block = {bx, by, bz}};
}

static struct spill_opcall kernel_ex_op(CUstream when_null, const CUlaunchConfig *config,
                                        CUfunction function, void **params, void **extra)
{
    if (config == NULL)
        return (struct spill_opcall){.kind = SPILL_OPKIND_HOST_FUNC, .stream = when_null};
    return kernel_op(spill_around_stream(config->hStream, when_null), function, config->gridDimX,
                     config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                     config->blockDimZ, params, extra);
}

static struct spill_opcall plain_op(enum spill_opkind kind, CUstream stream)
{
    return (struct spill_opcall){.kind = kind, .stream = stream};
}

#define LAUNCH(symbol, home)                                                                       \
    CUresult symbol(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
                    unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)    \
    {                                                                                              \
        SPILL_AROUND(                                                                              \
            kernel_op(spill_around_stream(stream, home), f, gx, gy, gz, bx, by, bz, params,        \
                      extra),                                                                      \
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
        SPILL_AROUND(                                                                              \
            kernel_op(spill_around_stream(stream, home), f, gx, gy, gz, bx, by, bz, params, NULL), \
            SPILL_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params));                \
    }
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, SPILL_STREAM_L)
LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, SPILL_STREAM_T)

#define HOST_FUNC(symbol, home)                                                                    \
    CUresult symbol(CUstream stream, CUhostFn fn, void *data)                                      \
    {                                                                                              \
        SPILL_AROUND(plain_op(SPILL_OPKIND_HOST_FUNC, spill_around_stream(stream, home)),          \
                     SPILL_REAL(symbol)(stream, fn, data));                                        \
    }
HOST_FUNC(cuLaunchHostFunc, SPILL_STREAM_L)
HOST_FUNC(cuLaunchHostFunc_ptsz, SPILL_STREAM_T)

#define GRAPH_LAUNCH(symbol, home)                                                                 \
    CUresult symbol(CUgraphExec graph, CUstream stream)                                            \
    {                                                                                              \
        SPILL_AROUND(plain_op(SPILL_OPKIND_ALL, spill_around_stream(stream, home)),                \
                     SPILL_REAL(symbol)(graph, stream));                                           \
    }
GRAPH_LAUNCH(cuGraphLaunch, SPILL_STREAM_L)
GRAPH_LAUNCH(cuGraphLaunch_ptsz, SPILL_STREAM_T)

/* What is captured runs later, at addresses that must then hold data: same as a launch of
 * everything. */
#define BEGIN_CAPTURE(symbol, home)                                                                \
    CUresult symbol(CUstream stream, CUstreamCaptureMode mode)                                     \
    {                                                                                              \
        SPILL_AROUND(plain_op(SPILL_OPKIND_ALL, spill_around_stream(stream, home)),                \
                     SPILL_REAL(symbol)(stream, mode));                                            \
    }
BEGIN_CAPTURE(cuStreamBeginCapture_v2, SPILL_STREAM_L)
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, SPILL_STREAM_T)
