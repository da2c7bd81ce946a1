/* SPDX-License-Identifier: Apache-2.0 */
/* One event a stream is enough: its last record comes after all that were before it. */
#include "replay/freepoints.h"

#include <string.h>

#define NO_STREAM UINT32_MAX

static uint32_t find(const struct spill_freepoints *f, CUstream stream)
{
    for (uint32_t i = 0; i < SPILL_FREEPOINTS; i++)
        if (f->list[i].stream == stream)
            return i;
    return NO_STREAM;
}

/* A place for STREAM: an empty one, or that of a stream that went away or freed nothing for
 * longest. */
static uint32_t take(struct spill_freepoints *f, CUstream stream)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < SPILL_FREEPOINTS; i++) {
        const struct spill_freepoint *a = &f->list[i], *b = &f->list[best];
        if ((a->stream == NULL) != (b->stream == NULL) ? a->stream == NULL : a->number < b->number)
            best = i;
    }
    f->list[best].stream = stream;
    memset(f->list[best].seen, 0, sizeof(f->list[best].seen));
    return best;
}

/* The handle means another stream in each thread. */
static bool alone(CUstream stream)
{
    return stream != CU_STREAM_PER_THREAD;
}

CUresult spill_freepoints_add(struct spill_freepoints *f, CUstream stream, spill_freemark *mark)
{
    uint32_t i = find(f, stream);
    CUresult result = CUDA_SUCCESS;
    bool shared = i == NO_STREAM || !alone(stream);
    if (i == NO_STREAM)
        i = take(f, stream);
    struct spill_freepoint *p = &f->list[i];
    if (p->event == NULL)
        result = SPILL_CU(cuEventCreate)(&p->event, CU_EVENT_DISABLE_TIMING);
    /* The event takes the place of a record in another stream, which it has to come after. */
    if (result == CUDA_SUCCESS && shared && p->number > f->over)
        result = SPILL_CU(cuStreamWaitEvent)(stream, p->event, 0);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuEventRecord)(p->event, stream);
    if (result != CUDA_SUCCESS) {
        /* Without an event, waiting tells as much. The last record, if any, is still as it was. */
        if (shared)
            p->stream = NULL;
        *mark = 0;
        return SPILL_CU(cuStreamSynchronize)(stream);
    }
    p->number = ++f->number;
    *mark = p->number * SPILL_FREEPOINTS + i;
    return CUDA_SUCCESS;
}

CUresult spill_freepoints_follow(struct spill_freepoints *f, const struct spill_freemarks *marks,
                                 CUstream stream)
{
    uint32_t to = alone(stream) ? find(f, stream) : NO_STREAM;
    for (uint32_t i = 0; i < SPILL_FREEPOINTS; i++) {
        if (marks->number[i] <= f->over || i == to ||
            (to != NO_STREAM && marks->number[i] <= f->list[to].seen[i]))
            continue;
        CUresult result = SPILL_CU(cuStreamWaitEvent)(stream, f->list[i].event, 0);
        if (result != CUDA_SUCCESS)
            return result;
        if (to != NO_STREAM)
            f->list[to].seen[i] = f->list[i].number;
    }
    return CUDA_SUCCESS;
}

CUresult spill_freepoints_pass(const struct spill_freepoints *f,
                               const struct spill_freemarks *marks,
                               CUresult (*hold)(void *arg, CUevent event), void *arg)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < SPILL_FREEPOINTS; i++)
        if (marks->number[i] > f->over)
            result = hold(arg, f->list[i].event);
    return result;
}

void spill_freepoints_drained(struct spill_freepoints *f)
{
    f->over = f->number;
}

void spill_freepoints_end(struct spill_freepoints *f, CUstream stream)
{
    uint32_t i = find(f, stream);
    if (i != NO_STREAM)
        f->list[i].stream = NULL;
}
