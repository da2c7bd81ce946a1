/* SPDX-License-Identifier: Apache-2.0 */
/* The program's ops: what happens before and after each, by state. */
#include "replay/engine.h"

#include <string.h>

#include "preload/base/log.h"
#include "preload/base/trace.h"
#include "profiler/graphs.h"
#include "profiler/kernels.h"
#include "profiler/tensormaps.h"

/* Is OP what the script expects? The buffers must be the same ones, found in the same order. */
static bool matches(const struct spill_engine *e, const struct spill_opcall *op,
                    const struct spill_iteration_event *event)
{
    if (event == NULL || event->kind != SPILL_LOGREC_OP)
        return false;
    const struct spill_script *s = e->plan->perform.script;
    const struct spill_script_op *planned = &s->ops[event->index];
    if (!spill_planset_same_op(planned, op, e->touches.count))
        return false;
    for (uint32_t i = 0; i < e->touches.count; i++)
        if (e->dev.buffers.bufs[e->touches.list[i].slot].plan_id !=
            s->touches[planned->touches.first + i])
            return false;
    return true;
}

CUresult spill_engine_bring(struct spill_engine *e, uint32_t slot)
{
    struct spill_touch touch = {slot, SPILL_ACCESS_UNKNOWN};
    struct spill_touches one = {.list = &touch, .cap = 1, .count = 1};
    e->dev.op_number++;
    return spill_pager_ensure(&e->dev, &one);
}

CUresult spill_engine_pin(struct spill_engine *e, uint32_t slot, enum spill_trace_pin reason)
{
    struct spill_buf *buf = &e->dev.buffers.bufs[slot];
    bool planned = e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY;
    if (buf->pin != SPILL_TRACE_UNPINNED && planned)
        return CUDA_SUCCESS; /* the plan keeps it resident */
    if (planned)
        spill_engine_diverge(e, SPILL_REASON_NEW_PIN);
    CUresult result = spill_engine_bring(e, slot);
    if (buf->pin == SPILL_TRACE_UNPINNED)
        buf->pin = reason;
    if (result != CUDA_SUCCESS)
        spill_log_once(SPILL_LOG_ERROR,
                       "buffers whose addresses are stored where no op shows them must stay "
                       "resident, and they do not fit the GPU budget: raise SPILLWAY_GPU_MEM "
                       "(--gpu-mem)");
    return result;
}

static void pin_stored(void *arg, uint32_t slot)
{
    (void)spill_engine_pin(arg, slot, SPILL_TRACE_PIN_STORED_ADDRESS);
}

bool spill_engine_tensor_map(struct spill_engine *e, const void *map, CUdeviceptr addr)
{
    uint32_t slot = spill_bufmap_find(&e->dev.buffers, addr),
             unsettled = spill_tensormaps_unsettled;
    if (slot == SPILL_NO_BUFFER)
        return true;
    if (!spill_tensormaps_note(map, addr))
        return false;
    /* Where a first use would not be seen it is better there already. If it does not fit, it is
     * brought in when a launch names it, or the kernel faults. */
    if (e->state == SPILL_STATE_OBSERVE && spill_tensormaps_unsettled > unsettled)
        (void)spill_engine_bring(e, slot);
    return true;
}

/* SPILLWAY_PIN names kernels of this graph: what they touch stays. */
static void pin_held(struct spill_engine *e, const struct spill_opcall *op)
{
    uint32_t count;
    const struct spill_graph_word *words = spill_graphs_words(op->graph, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot =
            words[i].held ? spill_bufmap_find(&e->dev.buffers, words[i].addr) : SPILL_NO_BUFFER;
        if (slot != SPILL_NO_BUFFER)
            (void)spill_engine_pin(e, slot, SPILL_TRACE_PIN_USER);
    }
}

/* SPILLWAY_PIN names this kernel: what it touches stays. */
static void pin_touched(struct spill_engine *e, const struct spill_opcall *op)
{
    const struct spill_kernel *kernel = spill_kernels_get(op->function);
    if (kernel == NULL || !kernel->held)
        return;
    for (uint32_t i = 0; i < e->touches.count; i++)
        (void)spill_engine_pin(e, e->touches.list[i].slot, SPILL_TRACE_PIN_USER);
}

/* Whose STREAM is, if its handle does not tell. */
static uint64_t owner_of(CUstream stream)
{
    return stream == CU_STREAM_PER_THREAD ? spill_threadorder_number() : 0;
}

static bool is_to_host(const struct spill_engine *e, CUstream stream)
{
    return e->to_host_stream == stream && e->to_host_thread == owner_of(stream);
}

static void note_to_host(struct spill_engine *e, CUstream stream)
{
    if (e->to_host_stream != NULL && !is_to_host(e, stream))
        e->to_host_many = true;
    e->to_host_stream = stream;
    e->to_host_thread = owner_of(stream);
}

static void forget_to_host(struct spill_engine *e)
{
    e->to_host_stream = NULL;
    e->to_host_many = false;
}

CUresult spill_engine_wait_for_host(struct spill_engine *e, bool everything)
{
    CUresult result = CUDA_SUCCESS;
    everything = everything || e->to_host_many ||
                 (e->to_host_stream != NULL && !is_to_host(e, e->to_host_stream));
    if (everything)
        result = spill_device_drain(&e->dev);
    else if (e->to_host_stream != NULL)
        result = SPILL_CU(cuStreamSynchronize)(e->to_host_stream);
    if (everything && result == CUDA_SUCCESS)
        spill_engine_drained(e);
    forget_to_host(e);
    return result;
}

static void scan_source(void *arg, const void *data, uint64_t bytes)
{
    struct spill_engine *e = arg;
    spill_access_stored(&e->dev.buffers, data, bytes, sizeof(uint64_t), pin_stored, e);
}

void spill_engine_sources(struct spill_engine *e, const struct spill_opcall *op)
{
    bool all = e->state == SPILL_STATE_OBSERVE &&
               (e->recording || e->dev.paged_out_bytes != e->paged_at_rest);
    if (op->graph != NULL) {
        spill_graphs_sources(op->graph, all ? UINT64_MAX : SPILL_HOST_SOURCE_MAX, scan_source, e);
        return;
    }
    /* Addresses are aligned where they will stand. */
    uint64_t skip = op->range_count > 0 ? -op->ranges[0].addr & 7 : 0;
    if (op->host_source != NULL && op->host_bytes > skip &&
        (all || op->host_bytes <= SPILL_HOST_SOURCE_MAX))
        scan_source(e, (const char *)op->host_source + skip, op->host_bytes - skip);
}

static CUresult observe_before(struct spill_engine *e, struct spill_opcall *op)
{
    uint64_t misses = e->dev.misses;
    CUresult result = spill_pager_ensure(&e->dev, &e->touches);
    if (e->dev.misses == misses) { /* most often, and not worth two looks at the clock */
        e->account.ops_resident++;
    } else {
        e->account.ops_paged++;
        spill_account_held(&e->account, SPILL_STALL_PAGING, e->dev.missed_at);
    }
    if (result != CUDA_SUCCESS)
        return result;
    if (!e->recording && !e->gave_up && e->config->mode == SPILL_MODE_OFFLOAD &&
        e->dev.paged_out_bytes != e->paged_at_rest)
        spill_engine_start_recording(e); /* it fitted, and no longer does */
    e->rec.paged = e->dev.paged_out_bytes + e->dev.paged_in_bytes;
    if (e->recording &&
        spill_recorder_op_begin(&e->rec, &e->dev.buffers, op, &e->touches) != SPILL_OK)
        spill_engine_give_up(e); /* out of memory: page on without a plan */
    if (op->kind == SPILL_OPKIND_ALL)
        spill_engine_become_resident(e,
                                     "the program launches what may touch anything (a CUDA graph "
                                     "that is not understood, most often)");
    return CUDA_SUCCESS;
}

static bool is_next(const struct spill_engine *e, const struct spill_opcall *op)
{
    return (e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY) &&
           matches(e, op, spill_engine_expected(e));
}

/* OP is the next one of the plan in force. */
static CUresult planned_before(struct spill_engine *e, const struct spill_opcall *op)
{
    CUresult result;
    e->open_op = spill_engine_expected(e)->index;
    if (e->state == SPILL_STATE_REPLAY) {
        result = spill_freeorder_op(&e->free_order, op->stream);
        return result == CUDA_SUCCESS ? spill_perform_replay_before(&e->plan->perform, e->open_op)
                                      : result;
    }
    uint64_t start = spill_account_clock();
    result = spill_perform_guard_before(&e->plan->perform, &e->dev, e->open_op);
    spill_account_held(&e->account, SPILL_STALL_GUARDING, start);
    if (result != CUDA_SUCCESS) /* the pager can serve any op */
        spill_engine_diverge(e, SPILL_REASON_OTHER_OP);
    return result;
}

CUresult spill_engine_before(struct spill_engine *e, struct spill_opcall *op)
{
    if (e->state == SPILL_STATE_BROKEN)
        return e->broken;
    e->dev.op_number++;
    if (op->host_pending)
        note_to_host(e, op->stream);
    spill_engine_sources(e, op);
    if (spill_access_scan(&e->dev.buffers, op, &e->touches) != SPILL_OK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (op->kind == SPILL_OPKIND_KERNEL && e->config->pin[0] != '\0')
        pin_touched(e, op);
    if (op->kind == SPILL_OPKIND_GRAPH && e->config->pin[0] != '\0')
        pin_held(e, op);
    struct spill_event event = {.kind = SPILL_LOGREC_OP, .op = op};
    if (is_next(e, op) || spill_planset_expects(e, &event)) {
        CUresult result = planned_before(e, op);
        if (result == CUDA_SUCCESS || e->state != SPILL_STATE_OBSERVE)
            return result;
    }
    if (e->state == SPILL_STATE_RESIDENT && e->recording &&
        spill_recorder_op_begin(&e->rec, &e->dev.buffers, op, &e->touches) != SPILL_OK)
        spill_engine_give_up(e);
    return e->state == SPILL_STATE_OBSERVE ? observe_before(e, op) : CUDA_SUCCESS;
}

static void planned_after(struct spill_engine *e, const struct spill_opcall *op, CUresult result)
{
    uint32_t k = e->open_op;
    e->open_op = SPILL_NO_EVENT;
    if (result != CUDA_SUCCESS) {
        spill_engine_diverge(e, SPILL_REASON_FAILED_OP);
        return;
    }
    CUresult ours;
    if (e->state == SPILL_STATE_REPLAY) {
        ours = spill_freeorder_done(&e->free_order, op->stream);
        if (ours == CUDA_SUCCESS)
            ours = spill_perform_replay_after(&e->plan->perform, &e->dev, k);
    } else {
        uint64_t start = spill_account_clock();
        ours = spill_perform_guard_after(&e->plan->perform, &e->dev, k);
        spill_account_held(&e->account, SPILL_STALL_GUARDING, start);
    }
    if (ours != CUDA_SUCCESS) {
        spill_engine_break(e, ours);
        return;
    }
    e->ops_done++;
    e->frees_left = e->plan->perform.script->ops[k].frees;
    e->account.ops_planned++;
    if (e->state == SPILL_STATE_REPLAY && e->ops_done == e->plan->perform.script->op_count)
        spill_account_border(e, op->stream);
    spill_engine_advance(e);
}

void spill_engine_after(struct spill_engine *e, const struct spill_opcall *op, CUresult result)
{
    if (spill_captures_any() && result == CUDA_SUCCESS)
        spill_captures_beside(op->stream);
    if (e->open_op != SPILL_NO_EVENT &&
        (e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY)) {
        planned_after(e, op, result);
        return;
    }
    if (e->state == SPILL_STATE_OBSERVE)
        spill_planset_happened(e, result != CUDA_SUCCESS);
    if (!spill_engine_watching(e))
        return;
    if (result != CUDA_SUCCESS) {
        spill_engine_start_recording(e); /* what failed is no part of an iteration */
        return;
    }
    spill_recorder_op_end(&e->rec, op);
    spill_engine_recorded(e);
}

void spill_engine_ordered(struct spill_engine *e, enum spill_ordered what, CUevent event,
                          CUstream stream)
{
    if (!spill_engine_watching(e))
        return;
    struct spill_streamorder *order = &e->rec.order;
    struct spill_afters after;
    switch (what) {
    case SPILL_ORDERED_RECORD:
        spill_streamorder_record(order, event, stream);
        break;
    case SPILL_ORDERED_WAIT:
        spill_streamorder_wait(order, event, stream);
        break;
    case SPILL_ORDERED_SYNCHRONIZE:
        after = spill_streamorder_of_event(order, event);
        spill_recorder_host_waited(&e->rec, &after);
        break;
    }
}

void spill_engine_synchronized(struct spill_engine *e, CUstream stream)
{
    if (spill_engine_watching(e)) {
        struct spill_afters after = spill_streamorder_of_stream(&e->rec.order, stream);
        spill_recorder_host_waited(&e->rec, &after);
    }
    if (stream == NULL || (is_to_host(e, stream) && !e->to_host_many))
        forget_to_host(e);
}

/* A stream that goes away cannot be waited for any more; the device can. */
void spill_engine_stream_end(struct spill_engine *e, CUstream stream)
{
    if (e->to_host_stream == stream)
        e->to_host_many = true;
    spill_freeorder_end(&e->free_order, stream);
    spill_freepoints_end(&e->free_points, stream);
}

/* What happens from now on is not seen: it is all brought back, and stays. */
static CUresult bring_everything(struct spill_engine *e)
{
    struct spill_opcall everything = {.kind = SPILL_OPKIND_ALL};
    if (e->state == SPILL_STATE_BROKEN)
        return e->broken;
    if (e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY)
        spill_engine_diverge(e, SPILL_REASON_NEW_PIN);
    e->dev.op_number++;
    if (spill_access_scan(&e->dev.buffers, &everything, &e->touches) != SPILL_OK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return spill_pager_ensure(&e->dev, &e->touches);
}

CUresult spill_engine_peer(struct spill_engine *e, CUdevice device)
{
    CUresult result = bring_everything(e);
    if (result == CUDA_SUCCESS)
        result = spill_device_admit(&e->dev, device);
    if (result == CUDA_SUCCESS)
        spill_engine_become_resident(e, "another device was given access to this one's memory");
    return result;
}

CUresult spill_engine_unseen(struct spill_engine *e)
{
    CUresult result = bring_everything(e);
    if (result == CUDA_SUCCESS)
        spill_engine_become_resident(e, "the program lets the device launch graphs");
    return result;
}
