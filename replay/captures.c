/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/captures.h"

#include "preload/base/driver.h"

/* An error is most often that the legacy stream may not be used while another one is captured. */
static bool capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return SPILL_CU(cuStreamIsCapturing) == NULL ||
           SPILL_CU(cuStreamIsCapturing)(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool spill_captures_begun(struct spill_captures *captures, CUstream stream, bool *full)
{
    *full = false;
    if (!capturing(stream))
        return false;
    for (uint32_t i = 0; i < captures->count; i++)
        if (captures->streams[i] == stream)
            return true;
    *full = captures->count == SPILL_CAPTURES;
    if (!*full)
        captures->streams[captures->count++] = stream;
    return true;
}

bool spill_captures_open(struct spill_captures *captures)
{
    for (uint32_t i = captures->count; i-- > 0;)
        if (!capturing(captures->streams[i]))
            captures->streams[i] = captures->streams[--captures->count];
    return captures->count > 0;
}

void spill_captures_end(struct spill_captures *captures, CUstream stream)
{
    for (uint32_t i = captures->count; i-- > 0;)
        if (captures->streams[i] == stream)
            captures->streams[i] = captures->streams[--captures->count];
}
