/* SPDX-License-Identifier: Apache-2.0 */
/* The planned path. Per op: the waits the script lists, the op, one event if anyone waits for it,
 * the copies it triggers. No malloc, no lock, no driver call beyond these, and the host never
 * waits. */
#include "replay/perform.h"

static inline CUresult wait_for(const struct spill_perform *perform, struct spill_slice waits,
                                CUstream stream)
{
    for (uint32_t i = 0; i < waits.count; i++) {
        CUevent event = perform->events[perform->script->waits[waits.first + i]];
        CUresult result = SPILL_CU(cuStreamWaitEvent)(stream, event, 0);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static inline CUresult record(const struct spill_perform *perform, uint32_t event, CUstream stream)
{
    return event == SPILL_NO_EVENT ? CUDA_SUCCESS
                                   : SPILL_CU(cuEventRecord)(perform->events[event], stream);
}

/* Of an iteration that is sampled. */
static inline void note(const struct spill_perform *perform, uint32_t item,
                        enum spill_sample_moment moment, CUstream stream)
{
    if (__builtin_expect(perform->sample != NULL, 0))
        spill_sample_note(perform->sample, item, moment, stream);
}

CUresult spill_perform_replay_before(const struct spill_perform *perform, uint32_t k)
{
    const struct spill_script_op *op = &perform->script->ops[k];
    if (op->waits.count > 0)
        note(perform, k, SPILL_SAMPLE_CAME, op->stream);
    CUresult result = wait_for(perform, op->waits, op->stream);
    note(perform, k, SPILL_SAMPLE_BEGAN, op->stream);
    return result;
}

static CUresult copy_out(const struct spill_perform *perform, struct spill_device *dev, uint32_t m)
{
    uint32_t item = perform->script->op_count + m;
    const struct spill_script_move *move = &perform->script->moves[m];
    CUresult result = wait_for(perform, move->out_waits, dev->out_stream);
    note(perform, item, SPILL_SAMPLE_BEGAN, dev->out_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuMemcpyDtoHAsync_v2)(spill_perform_host(perform, dev, move),
                                                spill_device_addr(dev, move->first_page),
                                                move->bytes, dev->out_stream);
    note(perform, item, SPILL_SAMPLE_ENDED, dev->out_stream);
    dev->out_bytes += move->bytes;
    if (result == CUDA_SUCCESS && perform->verify.jobs != NULL)
        result = spill_verify_out(&perform->verify, dev, m);
    return result == CUDA_SUCCESS ? record(perform, move->out_event, dev->out_stream) : result;
}

static CUresult copy_in(const struct spill_perform *perform, struct spill_device *dev, uint32_t m)
{
    uint32_t item = perform->script->op_count + perform->script->move_count + m;
    const struct spill_script_move *move = &perform->script->moves[m];
    CUresult result = wait_for(perform, move->in_waits, dev->in_stream);
    note(perform, item, SPILL_SAMPLE_BEGAN, dev->in_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuMemcpyHtoDAsync_v2)(spill_device_addr(dev, move->first_page),
                                                spill_perform_host(perform, dev, move), move->bytes,
                                                dev->in_stream);
    note(perform, item, SPILL_SAMPLE_ENDED, dev->in_stream);
    dev->in_bytes += move->bytes;
    if (result == CUDA_SUCCESS && perform->verify.jobs != NULL)
        result = spill_verify_in(&perform->verify, dev, move, m);
    return result == CUDA_SUCCESS ? record(perform, move->in_event, dev->in_stream) : result;
}

CUresult spill_perform_replay_after(const struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k)
{
    const struct spill_script *s = perform->script;
    const struct spill_script_op *op = &s->ops[k];
    note(perform, k, SPILL_SAMPLE_ENDED, op->stream);
    CUresult result = record(perform, op->event, op->stream);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->outs.count; i++)
        result = copy_out(perform, dev, op->outs.first + i);
    return result == CUDA_SUCCESS && op->frees == 0 ? spill_perform_replay_freed(perform, dev, k)
                                                    : result;
}

CUresult spill_perform_replay_freed(const struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k)
{
    const struct spill_script *s = perform->script;
    const struct spill_script_op *op = &s->ops[k];
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->ins.count; i++)
        result = copy_in(perform, dev, s->plan->in_order[op->ins.first + i]);
    return result;
}
