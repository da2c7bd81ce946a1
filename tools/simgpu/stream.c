/* SPDX-License-Identifier: Apache-2.0 */
/* Streams. Their memory is never given back to libc, so that a stale handle is recognised, not
 * followed. */
#include <stdlib.h>

#include "graph.h"
#include "races.h"
#include "stream.h"

static struct simgpu_stream *spare;
static unsigned long long next_id;

/* Each thread has its own default stream per context; a handful of contexts is all there ever is.
 */
#define THREAD_STREAMS 8
static _Thread_local struct {
    struct simgpu_ctx *ctx;
    struct simgpu_stream *stream;
} thread_streams[THREAD_STREAMS];

static struct simgpu_stream *stream_new(struct simgpu_ctx *ctx, unsigned int flags, int priority)
{
    struct simgpu_stream *s = spare;
    if (s != NULL)
        spare = s->next;
    else if ((s = malloc(sizeof *s)) == NULL)
        return NULL;
    *s = (struct simgpu_stream){.magic = SIMGPU_STREAM_MAGIC,
                                .next = ctx->streams,
                                .ctx = ctx,
                                .flags = flags,
                                .priority = priority,
                                .id = ++next_id,
                                .luck = (uint32_t)simgpu_random()};
    ctx->streams = s;
    return s;
}

bool simgpu_stream_boot(struct simgpu_ctx *ctx)
{
    ctx->legacy = stream_new(ctx, 0, 0);
    if (ctx->legacy == NULL)
        return false;
    ctx->legacy->legacy = true;
    return true;
}

bool simgpu_stream_blocks(const struct simgpu_stream *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

static struct simgpu_stream *thread_stream(struct simgpu_ctx *ctx)
{
    int i = 0;
    while (i < THREAD_STREAMS && thread_streams[i].ctx != NULL && thread_streams[i].ctx != ctx)
        i++;
    if (i == THREAD_STREAMS)
        i = 0;
    if (thread_streams[i].ctx != ctx) {
        struct simgpu_stream *s = stream_new(ctx, 0, 0);
        if (s == NULL)
            return NULL;
        s->per_thread = true;
        thread_streams[i].ctx = ctx;
        thread_streams[i].stream = s;
    }
    return thread_streams[i].stream;
}

struct simgpu_stream *simgpu_stream_of(CUstream handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (value <= 2) {
        struct simgpu_ctx *ctx = simgpu_ctx_current();
        if (ctx == NULL)
            return NULL;
        bool per_thread = value == 2 || (value == 0 && simgpu_call.per_thread);
        return per_thread ? thread_stream(ctx) : ctx->legacy;
    }
    struct simgpu_stream *s = (struct simgpu_stream *)handle;
    return s->magic == SIMGPU_STREAM_MAGIC && !s->destroyed ? s : NULL;
}

static void recycle(struct simgpu_stream *s)
{
    struct simgpu_stream **link = &s->ctx->streams;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    simgpu_races_stream_gone(s->last, simgpu_stream_blocks(s));
    simgpu_op_release(s->last);
    s->magic = 0;
    s->next = spare;
    spare = s;
}

void simgpu_stream_op_gone(struct simgpu_stream *stream)
{
    if (--stream->unfinished == 0 && stream->destroyed)
        recycle(stream);
}

CUresult simgpu_stream_wait_all(struct simgpu_ctx *ctx, bool blocking_only)
{
    /* Start again after each wait: a destroyed stream leaves the list with its last operation. */
    for (struct simgpu_stream *s = ctx->streams; s != NULL;) {
        bool counts = !blocking_only || simgpu_stream_blocks(s);
        bool pending = counts && s->last != NULL && !s->last->done;
        if (counts) {
            CUresult result = simgpu_op_wait(s->last);
            if (result != CUDA_SUCCESS)
                return result;
        }
        s = pending ? ctx->streams : s->next;
    }
    simgpu_races_host_saw_gone(ctx->device, blocking_only);
    return ctx->device->sticky;
}

CUresult simgpu_stream_wait(struct simgpu_stream *stream)
{
    CUresult forbidden = simgpu_capture_forbids(stream);
    if (forbidden == CUDA_SUCCESS && stream->legacy)
        forbidden = simgpu_capture_forbids_legacy(stream);
    if (forbidden != CUDA_SUCCESS)
        return forbidden;
    if (stream->legacy)
        return simgpu_stream_wait_all(stream->ctx, true);
    return simgpu_op_wait(stream->last);
}

CUresult simgpu_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    struct simgpu_ctx *ctx = simgpu_ctx_current();
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stream == NULL || (flags & ~(unsigned int)CU_STREAM_NON_BLOCKING) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    /* Out-of-range priorities are clamped, as documented. */
    priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
    struct simgpu_stream *s = stream_new(ctx, flags, priority);
    if (s == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *stream = (CUstream)s;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return simgpu_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult simgpu_cuStreamDestroy_v2(CUstream handle)
{
    struct simgpu_stream *s = (uintptr_t)handle > 2 ? simgpu_stream_of(handle) : NULL;
    if (s == NULL || s->legacy || s->per_thread)
        return CUDA_ERROR_INVALID_HANDLE;
    /* The handle is dead at once; the stream stays in the list until its operations have run,
     * because later work of the legacy stream must still wait for them. */
    s->destroyed = true;
    if (s->unfinished == 0)
        recycle(s);
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamGetPriority(CUstream handle, int *priority)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (priority == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = s->priority;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = s->flags;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamGetId(CUstream handle, unsigned long long *id)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *id = s->id;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ctx == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *ctx = (CUcontext)s->ctx;
    return CUDA_SUCCESS;
}

CUresult simgpu_cuStreamQuery(CUstream handle)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult forbidden = simgpu_capture_forbids(s);
    if (forbidden == CUDA_SUCCESS)
        forbidden = s->legacy ? simgpu_capture_forbids_legacy(s) : simgpu_capture_forbids(NULL);
    if (forbidden != CUDA_SUCCESS)
        return forbidden;
    bool over = simgpu_op_query(s->last);
    if (s->legacy)
        for (struct simgpu_stream *t = s->ctx->streams; over && t != NULL; t = t->next)
            if (simgpu_stream_blocks(t))
                over = simgpu_op_query(t->last);
    if (s->ctx->device->sticky != CUDA_SUCCESS)
        return s->ctx->device->sticky;
    return over ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult simgpu_cuStreamSynchronize(CUstream handle)
{
    struct simgpu_stream *s = simgpu_stream_of(handle);
    if (s == NULL)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult forbidden = s->capture == NULL ? simgpu_capture_forbids(NULL) : CUDA_SUCCESS;
    return forbidden != CUDA_SUCCESS ? forbidden : simgpu_stream_wait(s);
}
