/* SPDX-License-Identifier: Apache-2.0 */
/* Events and what waits on them. A record is an operation of its own on its stream, so an event is
 * just a reference to the newest one: waiting "captures the most recent record" by construction. */
#include <stdlib.h>

#include "graph.h"
#include "stream.h"

static struct simgpu_event *spare;

static CUresult run_nothing(struct simgpu_op *op, uint64_t *duration_ns)
{
    (void)op;
    *duration_ns = 0;
    return CUDA_SUCCESS;
}

static const struct simgpu_op_type record_type = {"event record", run_nothing, NULL, NULL};
static const struct simgpu_op_type wait_type = {"event wait", run_nothing, NULL, NULL};

static struct simgpu_event *event_of(CUevent handle)
{
    struct simgpu_event *e = (struct simgpu_event *)handle;
    return e != NULL && e->magic == SIMGPU_EVENT_MAGIC ? e : NULL;
}

CUresult simgpu_cuEventCreate(CUevent *event, unsigned int flags)
{
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    const unsigned int known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    bool untimed = flags & CU_EVENT_DISABLE_TIMING;
    if (event == NULL || (flags & ~known) != 0 || ((flags & CU_EVENT_INTERPROCESS) && !untimed))
        return CUDA_ERROR_INVALID_VALUE;
    struct simgpu_event *e = spare;
    if (e != NULL)
        spare = e->next_free;
    else if ((e = malloc(sizeof *e)) == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *e = (struct simgpu_event){.magic = SIMGPU_EVENT_MAGIC, .device = ctx->device, .flags = flags};
    *event = (CUevent)e;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuEventDestroy_v2(CUevent handle)
{
    struct simgpu_event *e = event_of(handle);
    if (e == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    simgpu_op_release(e->recorded);
    simgpu_event_uncapture(e);
    e->magic = 0;
    e->next_free = spare;
    spare = e;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned int flags)
{
    struct simgpu_event *e = event_of(handle);
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (e == NULL || s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (e->device != s->ctx->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (s->capture != NULL)
        return simgpu_capture_record(s, e);
    if (s->legacy && simgpu_capture_forbids_legacy(s) != CUDA_SUCCESS)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    simgpu_event_uncapture(e);
    struct simgpu_op *op = simgpu_op_new(s, &record_type, SIMGPU_ENGINE_NONE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    simgpu_op_release(e->recorded);
    e->recorded = simgpu_op_hold(op);
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuEventRecord(CUevent event, CUstream stream)
{
    return simgpu_cuEventRecordWithFlags(event, stream, 0);
}

CUresult simgpu_cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned int flags)
{
    struct simgpu_event *e = event_of(handle);
    struct simgpu_stream *s = simgpu_stream_of(stream);
    if (e == NULL || s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (s->capture != NULL || e->capture != NULL)
        return simgpu_capture_wait(s, e);
    simgpu_stats.stream_waits++;
    if (simgpu_inject_drops_wait() || e->recorded == NULL)
        return CUDA_SUCCESS;
    struct simgpu_op *op = simgpu_op_new(s, &wait_type, SIMGPU_ENGINE_NONE);
    if (op == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    simgpu_op_after(op, e->recorded);
    simgpu_op_submit(op);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuEventQuery(CUevent handle)
{
    struct simgpu_event *e = event_of(handle);
    if (e == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (e->capture != NULL)
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult forbidden = simgpu_capture_forbids(NULL);
    if (forbidden != CUDA_SUCCESS)
        return forbidden;
    bool over = simgpu_op_query(e->recorded);
    if (e->device->sticky != CUDA_SUCCESS)
        return e->device->sticky;
    return over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult simgpu_cuEventSynchronize(CUevent handle)
{
    struct simgpu_event *e = event_of(handle);
    if (e == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (e->capture != NULL)
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult forbidden = simgpu_capture_forbids(NULL);
    return forbidden != CUDA_SUCCESS ? forbidden : simgpu_op_wait(e->recorded);
}

CUresult simgpu_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    struct simgpu_event *a = event_of(start), *b = event_of(end);
    if (a == NULL || b == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ms == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING) || a->recorded == NULL ||
        b->recorded == NULL || a->device != b->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!simgpu_op_query(a->recorded) || !simgpu_op_query(b->recorded))
        return a->device->sticky != CUDA_SUCCESS ? a->device->sticky : CUDA_ERROR_NOT_READY;
    *ms = (float)(((double)b->recorded->end_ns - (double)a->recorded->end_ns) / 1e6);
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12080
CUresult simgpu_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    return simgpu_cuEventElapsedTime(ms, start, end);
}
#endif
