/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/captures.h"

#include "preload/base/driver.h"
#include "replay/threadorder.h"

#define CAPTURES 64 /* at once; after a further one, one counts as open for good */
#define BESIDE   16 /* streams; a further one is waited for at once */

uint32_t spill_captures_count;

static struct capture {
    CUstream stream;
    CUcontext context;
    uint64_t thread; /* of the per-thread default stream: each thread has one of that handle */
} captures[CAPTURES];

/* Streams that are not captured and were given ops meanwhile: the event comes after the last one.
 */
static struct beside {
    CUstream stream; /* NULL: free */
    CUcontext context;
    CUevent event;
} beside[BESIDE];

/* Nor can the legacy stream be used while a stream that blocks it is captured. */
bool spill_captures_hold(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = SPILL_CU(cuStreamIsCapturing)(stream, &status);
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
           (result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE);
}

bool spill_captures_runs(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return SPILL_CU(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

static uint32_t find(CUstream stream)
{
    uint32_t i = 0;
    while (i < spill_captures_count &&
           (captures[i].stream != stream ||
            (stream == CU_STREAM_PER_THREAD && captures[i].thread != spill_threadorder_number())))
        i++;
    return i;
}

static void set_count(uint32_t count)
{
    __atomic_store_n(&spill_captures_count, count, __ATOMIC_RELAXED);
}

static void add(CUstream stream)
{
    CUcontext context = NULL;
    if (spill_captures_count == CAPTURES) {
        captures[CAPTURES - 1] = (struct capture){.stream = NULL};
        return;
    }
    for (unsigned i = 0; spill_captures_count == 0 && i < BESIDE; i++)
        beside[i].stream = NULL;
    (void)SPILL_CU(cuCtxGetCurrent)(&context);
    captures[spill_captures_count] = (struct capture){stream, context, spill_threadorder_number()};
    set_count(spill_captures_count + 1);
}

static void drop(uint32_t i)
{
    captures[i] = captures[spill_captures_count - 1];
    set_count(spill_captures_count - 1);
}

void spill_captures_look(CUstream stream, bool expected)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint32_t i = find(stream);
    bool open = SPILL_CU(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS
                    ? status != CU_STREAM_CAPTURE_STATUS_NONE
                    : expected;
    if (open && i == spill_captures_count)
        add(stream);
    else if (!open && i < spill_captures_count)
        drop(i);
}

void spill_captures_stream_end(CUstream stream)
{
    uint32_t i = find(stream);
    if (i < spill_captures_count)
        drop(i);
}

void spill_captures_context_end(CUcontext context)
{
    for (uint32_t i = spill_captures_count; i-- > 0;)
        if (captures[i].context == context)
            drop(i);
    for (unsigned i = 0; i < BESIDE; i++)
        if (beside[i].context == context)
            beside[i] = (struct beside){.event = NULL};
}

/* An entry for STREAM with an event of the current context; NULL: none can be had. */
static struct beside *entry_of(CUstream stream)
{
    CUcontext context = NULL;
    struct beside *entry = NULL;
    if (stream == CU_STREAM_PER_THREAD || SPILL_CU(cuCtxGetCurrent)(&context) != CUDA_SUCCESS)
        return NULL;
    for (unsigned i = 0; i < BESIDE; i++) {
        if (beside[i].stream == stream)
            return &beside[i];
        if (beside[i].stream == NULL && (beside[i].event == NULL || beside[i].context == context))
            entry = &beside[i];
    }
    if (entry == NULL ||
        (entry->event == NULL &&
         SPILL_CU(cuEventCreate)(&entry->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS))
        return NULL;
    entry->context = context;
    return entry;
}

void spill_captures_beside(CUstream stream)
{
    struct beside *entry = entry_of(stream);
    if (entry != NULL && SPILL_CU(cuEventRecord)(entry->event, stream) == CUDA_SUCCESS)
        entry->stream = stream;
    else
        (void)SPILL_CU(cuStreamSynchronize)(stream); /* its error comes back at the next op */
}

CUresult spill_captures_drain(void)
{
    CUresult result = CUDA_SUCCESS;
    if (!spill_captures_any())
        return SPILL_CU(cuCtxSynchronize)();
    for (unsigned i = 0; result == CUDA_SUCCESS && i < BESIDE; i++)
        if (beside[i].stream != NULL)
            result = SPILL_CU(cuEventSynchronize)(beside[i].event);
    return result;
}

bool spill_captures_relax(CUstreamCaptureMode *mode)
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    return spill_captures_any() &&
           SPILL_CU(cuThreadExchangeStreamCaptureMode)(mode) == CUDA_SUCCESS;
}

void spill_captures_restore(CUstreamCaptureMode mode)
{
    (void)SPILL_CU(cuThreadExchangeStreamCaptureMode)(&mode);
}
