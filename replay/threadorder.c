/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/threadorder.h"

#include "replay/captures.h"

uint64_t spill_threadorder_number(void)
{
    static uint64_t last;
    static __thread uint64_t number __attribute__((tls_model("initial-exec")));
    if (number == 0)
        number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number;
}

bool spill_threadorder_mine(const struct spill_threadorder *o)
{
    return o->thread == spill_threadorder_number();
}

CUresult spill_threadorder_follow(const struct spill_threadorder *o, CUstream stream)
{
    return o->several && o->event != NULL ? SPILL_CU(cuStreamWaitEvent)(stream, o->event, 0)
                                          : spill_captures_drain();
}

CUresult spill_threadorder_before(struct spill_threadorder *o, CUstream stream)
{
    if (stream != CU_STREAM_PER_THREAD || spill_threadorder_mine(o))
        return CUDA_SUCCESS;
    CUresult result = o->thread == 0 ? CUDA_SUCCESS : spill_threadorder_follow(o, stream);
    o->several = o->thread != 0;
    o->thread = spill_threadorder_number();
    return result;
}

CUresult spill_threadorder_after(struct spill_threadorder *o, CUstream stream)
{
    if (stream != CU_STREAM_PER_THREAD || !o->several ||
        (o->event == NULL &&
         SPILL_CU(cuEventCreate)(&o->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS))
        return CUDA_SUCCESS; /* without an event the host waits */
    return SPILL_CU(cuEventRecord)(o->event, stream);
}
