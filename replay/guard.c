/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded iterations: the plan's residency, op by op, with what is out unmapped. The device is
 * drained after every op, so that a fault is known to be that op's. */
#include "preload/base/log.h"
#include "profiler/graphs.h"
#include "profiler/kernels.h"
#include "replay/perform.h"

/* Maps the plan's frames behind COUNT pages of plan buffer B from page P on. Nobody may be in them.
 */
static CUresult enter(struct spill_perform *perform, struct spill_device *dev, uint32_t b,
                      uint32_t p, uint32_t count)
{
    const struct spill_script *s = perform->script;
    uint32_t first = s->buffers[b].first_page + p;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < count; i++) {
        uint32_t frame = perform->bound[s->plan->frame_of[s->plan->page_base[b] + p + i]];
        if (dev->frames[frame].page != SPILL_NO_BUFFER) {
            spill_log_once(SPILL_LOG_ERROR, "plan error: two buffers want one frame; not used");
            return CUDA_ERROR_INVALID_VALUE;
        }
        result = spill_device_map(dev, first + i, frame);
        if (result == CUDA_SUCCESS)
            dev->frames[frame].page = first + i;
    }
    return result == CUDA_SUCCESS ? spill_device_allow(dev, first, count) : result;
}

static CUresult leave(struct spill_device *dev, uint32_t first, uint32_t count)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t page = first; result == CUDA_SUCCESS && page < first + count; page++) {
        uint32_t frame = dev->pages[page].frame;
        if (frame == SPILL_NO_FRAME) {
            spill_log_once(SPILL_LOG_ERROR, "plan error: an absent page leaves; not used");
            return CUDA_ERROR_INVALID_VALUE;
        }
        result = spill_device_unmap(dev, page);
        if (result == CUDA_SUCCESS)
            dev->frames[frame].page = SPILL_NO_BUFFER;
    }
    return result;
}

static void mark(struct spill_device *dev, uint32_t first, uint32_t count, enum spill_where where)
{
    for (uint32_t page = first; page < first + count; page++)
        dev->pages[page].where = where;
}

CUresult spill_perform_guard_before(struct spill_perform *perform, struct spill_device *dev,
                                    uint32_t k)
{
    const struct spill_script *s = perform->script;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < s->ops[k].births.count; i++) {
        uint32_t b = s->lives[s->ops[k].births.first + i];
        result = enter(perform, dev, b, 0, s->buffers[b].page_count);
        if (result == CUDA_SUCCESS)
            mark(dev, s->buffers[b].first_page, s->buffers[b].page_count, SPILL_ON_DEVICE);
    }
    return result;
}

static CUresult move_out(struct spill_perform *perform, struct spill_device *dev, uint32_t m)
{
    const struct spill_script_move *move = &perform->script->moves[m];
    char *at = spill_perform_host(perform, dev, move);
    CUresult result = SPILL_CU(cuMemcpyDtoHAsync_v2)(at, spill_device_addr(dev, move->first_page),
                                                     move->bytes, dev->out_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuStreamSynchronize)(dev->out_stream);
    if (result == CUDA_SUCCESS)
        result = leave(dev, move->first_page, move->page_count);
    if (result != CUDA_SUCCESS)
        return result;
    mark(dev, move->first_page, move->page_count, SPILL_ON_HOST);
    for (uint32_t i = 0; i < move->page_count; i++)
        dev->pages[move->first_page + i].host = at + i * dev->page_bytes;
    dev->out_bytes += move->bytes;
    return CUDA_SUCCESS;
}

static CUresult move_in(struct spill_perform *perform, struct spill_device *dev, uint32_t m)
{
    const struct spill_script_move *move = &perform->script->moves[m];
    const struct spill_move *planned = &perform->script->plan->moves[m];
    CUresult result =
        enter(perform, dev, planned->buffer, planned->page_first, planned->page_count);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuMemcpyHtoDAsync_v2)(spill_device_addr(dev, move->first_page),
                                                spill_perform_host(perform, dev, move), move->bytes,
                                                dev->in_stream);
    if (result == CUDA_SUCCESS)
        result = SPILL_CU(cuStreamSynchronize)(dev->in_stream);
    if (result != CUDA_SUCCESS)
        return result;
    mark(dev, move->first_page, move->page_count, SPILL_ON_DEVICE);
    dev->in_bytes += move->bytes;
    return CUDA_SUCCESS;
}

/* Op K did not survive: say which kernel, and what was out while it ran. */
static void name_fault(const struct spill_perform *perform, const struct spill_device *dev,
                       uint32_t k, CUresult result)
{
    const struct spill_script *s = perform->script;
    const char *name = "op";
    if (s->ops[k].kind == SPILL_OPKIND_GRAPH)
        name = ((const struct spill_graph_shape *)s->ops[k].function)->name;
    if (s->ops[k].kind == SPILL_OPKIND_KERNEL) {
        const struct spill_kernel *kernel = spill_kernels_get(s->ops[k].function);
        name = kernel == NULL ? "kernel" : kernel->name;
    }
    spill_log(
        SPILL_LOG_ERROR,
        "%s in %s (op %u of the iteration) while these buffers were out; it may reach one of "
        "them by an address that no parameter shows. Run with SPILLWAY_MODE=off and report it:",
        spill_driver_error(result), name, k);
    for (uint32_t b = 0; b < s->buffer_count; b++)
        for (uint32_t i = 0; i < s->buffers[b].page_count; i++)
            if (dev->pages[s->buffers[b].first_page + i].where == SPILL_ON_HOST) {
                spill_log(SPILL_LOG_ERROR, "  %llu bytes at 0x%llx",
                          (unsigned long long)s->buffers[b].bytes,
                          (unsigned long long)s->buffers[b].addr);
                break;
            }
}

CUresult spill_perform_guard_after(struct spill_perform *perform, struct spill_device *dev,
                                   uint32_t k)
{
    const struct spill_script *s = perform->script;
    const struct spill_script_op *op = &s->ops[k];
    CUresult result = spill_device_drain(dev);
    if (result != CUDA_SUCCESS) {
        name_fault(perform, dev, k, result);
        return result;
    }
    if (perform->guarded[k] < SPILL_GUARDED_TIMES) {
        perform->guarded[k]++;
        perform->guard_left--;
    }
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->outs.count; i++)
        result = move_out(perform, dev, op->outs.first + i);
    return result == CUDA_SUCCESS && op->frees == 0 ? spill_perform_guard_freed(perform, dev, k)
                                                    : result;
}

CUresult spill_perform_guard_freed(struct spill_perform *perform, struct spill_device *dev,
                                   uint32_t k)
{
    const struct spill_script *s = perform->script;
    const struct spill_script_op *op = &s->ops[k];
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->deaths.count; i++) {
        uint32_t b = s->lives[op->deaths.first + i];
        result = leave(dev, s->buffers[b].first_page, s->buffers[b].page_count);
        mark(dev, s->buffers[b].first_page, s->buffers[b].page_count, SPILL_NOWHERE);
    }
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->ins.count; i++)
        result = move_in(perform, dev, s->plan->in_order[op->ins.first + i]);
    return result;
}
