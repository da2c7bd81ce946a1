/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/freeorder.h"

#include "replay/captures.h"

#define NO_STREAM UINT32_MAX

static uint32_t find(const struct spill_freeorder *o, CUstream stream)
{
    for (uint32_t i = 0; i < o->count; i++)
        if (o->list[i].stream == stream)
            return i;
    return NO_STREAM;
}

static CUresult follow_one(struct spill_freeorder *o, CUstream to, CUstream from)
{
    if (from == CU_STREAM_PER_THREAD && !spill_threadorder_mine(&o->threads))
        return spill_threadorder_follow(&o->threads, to);
    if (o->event == NULL &&
        SPILL_CU(cuEventCreate)(&o->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return spill_captures_drain();
    CUresult result = SPILL_CU(cuEventRecord)(o->event, from);
    return result == CUDA_SUCCESS ? SPILL_CU(cuStreamWaitEvent)(to, o->event, 0) : result;
}

static CUresult follow(struct spill_freeorder *o, uint32_t to)
{
    CUresult result = CUDA_SUCCESS;
    if (spill_captures_any())
        return spill_captures_drain();
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < o->count; i++)
        if (i != to && o->list[i].last > o->list[to].seen)
            result = follow_one(o, o->list[to].stream, o->list[i].stream);
    return result;
}

CUresult spill_freeorder_op(struct spill_freeorder *o, CUstream stream)
{
    CUresult result = spill_threadorder_before(&o->threads, stream);
    uint32_t i = find(o, stream);
    if (i == NO_STREAM && o->count == SPILL_FREEORDER_STREAMS) {
        if (result == CUDA_SUCCESS)
            result = spill_captures_drain(); /* then there is nothing left to keep in mind */
        o->count = 0;
    }
    if (i == NO_STREAM) {
        i = o->count++;
        o->list[i] = (struct spill_freeorder_stream){.stream = stream};
    }
    if (o->list[i].frees != o->frees && result == CUDA_SUCCESS) {
        result = follow(o, i);
        o->list[i].frees = o->frees;
        o->list[i].seen = o->ops;
    }
    o->list[i].last = ++o->ops;
    return result;
}

CUresult spill_freeorder_after(struct spill_freeorder *o, CUevent event)
{
    CUresult result = CUDA_SUCCESS;
    /* Another thread's stream of that handle would not come after this thread's wait. */
    if (o->count == 0 || find(o, CU_STREAM_PER_THREAD) != NO_STREAM || spill_captures_any())
        return SPILL_CU(cuEventSynchronize)(event);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < o->count; i++)
        result = SPILL_CU(cuStreamWaitEvent)(o->list[i].stream, event, 0);
    if (o->frees == 0)
        o->frees = 1; /* a stream that is new then comes after these, as after a free */
    return result;
}

void spill_freeorder_end(struct spill_freeorder *o, CUstream stream)
{
    uint32_t i = find(o, stream);
    if (i == NO_STREAM)
        return;
    if (!spill_captures_any() || !spill_captures_hold(stream))
        (void)SPILL_CU(cuStreamSynchronize)(stream); /* its error comes back at the next op */
    o->list[i] = o->list[--o->count];
}
