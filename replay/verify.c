/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify.h"

#include <string.h>

#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "profiler/mix.h"

struct spill_verify_tally spill_verify_tally;

static uint64_t checksum(const char *data, uint64_t bytes)
{
    uint64_t sum = 0, word;
    uint64_t i = 0;
    for (; i + sizeof(word) <= bytes; i += sizeof(word)) {
        memcpy(&word, data + i, sizeof(word));
        sum = spill_mix(sum, word);
    }
    for (; i < bytes; i++)
        sum = spill_mix(sum, (unsigned char)data[i]);
    return sum;
}

/* Both run on a driver thread, in their stream's order; no CUDA call is allowed here. */
static void take_sum(void *argument)
{
    struct spill_verify_job *job = argument;
    job->sum = checksum(job->home, job->bytes);
    __atomic_store_n(&job->known, 1, __ATOMIC_RELEASE);
}

static void compare(void *argument)
{
    const struct spill_verify_job *job = argument;
    if (__atomic_load_n(&job->known, __ATOMIC_ACQUIRE) == 0)
        return; /* it went out in a guarded iteration */
    __atomic_add_fetch(&spill_verify_tally.compared, 1, __ATOMIC_RELAXED);
    if (checksum(job->scratch, job->bytes) == job->sum)
        return;
    if (__atomic_add_fetch(&spill_verify_tally.different, 1, __ATOMIC_RELAXED) == 1)
        spill_log(
            SPILL_LOG_ERROR,
            "VERIFY: a move of %llu bytes came back other than it went out: results are wrong "
            "from here on; please report it",
            (unsigned long long)job->bytes);
}

uint64_t spill_verify_scratch(const struct spill_script *script)
{
    uint64_t largest = 0;
    for (uint32_t m = 0; m < script->move_count; m++)
        if (script->moves[m].page_count > largest)
            largest = script->moves[m].page_count;
    return largest * script->it.trace.page_bytes;
}

enum spill_status spill_verify_boot(struct spill_verify *verify, const struct spill_script *script,
                                    char *slab, size_t page_bytes)
{
    memset(verify, 0, sizeof(*verify));
    if (script->move_count == 0)
        return SPILL_OK;
    verify->jobs = spill_heap_alloc(script->move_count * sizeof(*verify->jobs));
    verify->job_count = script->move_count;
    if (SPILL_CU(cuLaunchHostFunc) == NULL || verify->jobs == NULL) {
        spill_verify_drop(verify);
        return SPILL_ERR_NOMEM;
    }
    for (uint32_t m = 0; m < script->move_count; m++)
        verify->jobs[m] =
            (struct spill_verify_job){.home = slab + script->moves[m].host_slot * page_bytes,
                                      .scratch = slab + script->slab_bytes,
                                      .bytes = script->moves[m].bytes};
    return SPILL_OK;
}

void spill_verify_drop(struct spill_verify *verify)
{
    spill_heap_free(verify->jobs, verify->job_count * sizeof(*verify->jobs));
    memset(verify, 0, sizeof(*verify));
}

CUresult spill_verify_out(const struct spill_verify *verify, struct spill_device *dev, uint32_t m)
{
    return SPILL_CU(cuLaunchHostFunc)(dev->out_stream, take_sum, &verify->jobs[m]);
}

CUresult spill_verify_in(const struct spill_verify *verify, struct spill_device *dev,
                         const struct spill_script_move *move, uint32_t m)
{
    /* The scratch is shared: the in stream does one move after another. */
    CUresult result = SPILL_CU(cuMemcpyDtoHAsync_v2)(verify->jobs[m].scratch,
                                                     spill_device_addr(dev, move->first_page),
                                                     move->bytes, dev->in_stream);
    return result == CUDA_SUCCESS
               ? SPILL_CU(cuLaunchHostFunc)(dev->in_stream, compare, &verify->jobs[m])
               : result;
}
