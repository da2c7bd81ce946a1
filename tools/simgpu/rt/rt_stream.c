/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events: straight to the driver. */
#include "rt.h"

SIMGPU_RT_EXPORT cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamCreate(stream, CU_STREAM_DEFAULT));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamCreate(stream, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                                          int priority)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamCreateWithPriority(stream, flags, priority));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamDestroy(stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamSynchronize(stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamQuery(stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                 unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamWaitEvent(stream, event, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamGetPriority(stream, priority));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamGetFlags(stream, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuStreamGetId(stream, id));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                                   cudaStreamCallback_t callback, void *data,
                                                   unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(
        cuStreamAddCallback(stream, (CUstreamCallback)(void (*)(void))callback, data, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                   enum cudaStreamCaptureStatus *status)
{
    CUstreamCaptureStatus s = CU_STREAM_CAPTURE_STATUS_NONE;
    SIMGPU_RT_READY(true);
    CUresult result = DRV.cuStreamIsCapturing(stream, &s);
    if (result == CUDA_SUCCESS && status != NULL)
        *status = (enum cudaStreamCaptureStatus)s;
    return simgpu_rt_done(simgpu_rt_result(result));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventCreate(event, CU_EVENT_DEFAULT));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventCreate(event, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventDestroy(event));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventRecord(event, stream));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                      unsigned int flags)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventRecordWithFlags(event, stream, flags));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventQuery(event));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventSynchronize(event));
}

SIMGPU_RT_EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    SIMGPU_RT_READY(true);
    return SIMGPU_RT_CALL(cuEventElapsedTime(ms, start, end));
}
