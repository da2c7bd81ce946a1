/* SPDX-License-Identifier: Apache-2.0 */
/* The program's ops: what happens before and after each, by state. */
#include "replay/engine.h"

#include <string.h>

#include "preload/base/log.h"
#include "preload/base/trace.h"
#include "profiler/kernels.h"
#include "profiler/tensormaps.h"

struct spill_engine spill_engine;

/* Is OP what the script expects? The buffers must be the same ones, found in the same order. */
static bool matches(const struct spill_engine *e, const struct spill_opcall *op,
                    const struct spill_iteration_event *event)
{
    if (event == NULL || event->kind != SPILL_LOGREC_OP)
        return false;
    const struct spill_script *s = e->perform.script;
    const struct spill_script_op *planned = &s->ops[event->index];
    if (planned->function != op->function || planned->stream != op->stream ||
        planned->kind != op->kind || planned->bytes != op->bytes ||
        planned->touches.count != e->touches.count)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (planned->grid[i] != op->grid[i] || planned->block[i] != op->block[i])
            return false;
    for (uint32_t i = 0; i < e->touches.count; i++)
        if (e->dev.buffers.bufs[e->touches.list[i].slot].plan_id !=
            s->touches[planned->touches.first + i])
            return false;
    return true;
}

/* The buffer is brought back and stays: it may be reached without any op naming it. */
static void pin_buffer(struct spill_engine *e, uint32_t slot, enum spill_trace_pin reason)
{
    struct spill_buf *buf = &e->dev.buffers.bufs[slot];
    bool planned = e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY;
    if (buf->pin != SPILL_TRACE_UNPINNED && planned)
        return; /* the plan keeps it resident */
    if (planned)
        spill_engine_diverge(e, SPILL_REASON_NEW_PIN);
    struct spill_touch touch = {slot, SPILL_ACCESS_UNKNOWN};
    struct spill_touches one = {.list = &touch, .cap = 1, .count = 1};
    CUresult result = spill_pager_ensure(&e->dev, &one);
    if (buf->pin == SPILL_TRACE_UNPINNED)
        buf->pin = reason;
    if (result != CUDA_SUCCESS)
        spill_log_once(SPILL_LOG_ERROR,
                       "buffers whose addresses are stored where no op shows them must stay "
                       "resident, and they do not fit the GPU budget: raise SPILLWAY_GPU_MEM "
                       "(--gpu-mem)");
}

static void pin_stored(void *arg, uint32_t slot)
{
    pin_buffer(arg, slot, SPILL_TRACE_PIN_STORED_ADDRESS);
}

static void pin_address(CUdeviceptr addr, enum spill_trace_pin reason)
{
    struct spill_engine *e = &spill_engine;
    if (e->state == SPILL_STATE_NEW || e->state == SPILL_STATE_OFF)
        return;
    uint32_t slot = spill_bufmap_find(&e->dev.buffers, addr);
    if (slot == SPILL_NO_BUFFER)
        return; /* not ours, or in a slab, which never moves */
    e->dev.op_number++;
    pin_buffer(e, slot, reason);
}

static bool tensor_map(const void *map, CUdeviceptr addr)
{
    struct spill_engine *e = &spill_engine;
    uint32_t slot = SPILL_NO_BUFFER, unsettled = spill_tensormaps_unsettled;
    if (e->state != SPILL_STATE_NEW && e->state != SPILL_STATE_OFF)
        slot = spill_bufmap_find(&e->dev.buffers, addr);
    if (slot == SPILL_NO_BUFFER)
        return true;
    if (!spill_tensormaps_note(map, addr))
        return false;
    if (e->state == SPILL_STATE_OBSERVE && spill_tensormaps_unsettled > unsettled) {
        /* Where a first use would not be seen it is better there already. If it does not fit, it is
         * brought in when a launch names it, or the kernel faults. */
        struct spill_touch touch = {slot, SPILL_ACCESS_UNKNOWN};
        struct spill_touches one = {.list = &touch, .cap = 1, .count = 1};
        e->dev.op_number++;
        (void)spill_pager_ensure(&e->dev, &one);
    }
    return true;
}

/* SPILLWAY_PIN names this kernel: what it touches stays. */
static void pin_touched(struct spill_engine *e, const struct spill_opcall *op)
{
    const struct spill_kernel *kernel = spill_kernels_get(op->function);
    if (kernel == NULL || !kernel->held)
        return;
    for (uint32_t i = 0; i < e->touches.count; i++)
        pin_buffer(e, e->touches.list[i].slot, SPILL_TRACE_PIN_USER);
}

static void note_to_host(struct spill_engine *e, CUstream stream)
{
    if (e->to_host_stream != NULL && e->to_host_stream != stream)
        e->to_host_many = true;
    e->to_host_stream = stream;
}

static void pin_sources(struct spill_engine *e, const struct spill_opcall *op)
{
    bool all = e->state == SPILL_STATE_OBSERVE &&
               (e->recording || e->dev.paged_out_bytes != e->paged_at_rest);
    /* Addresses are aligned where they will stand. */
    uint64_t skip = op->range_count > 0 ? -op->ranges[0].addr & 7 : 0;
    if (op->host_source != NULL && op->host_bytes > skip &&
        (all || op->host_bytes <= SPILL_HOST_SOURCE_MAX))
        spill_access_stored(&e->dev.buffers, (const char *)op->host_source + skip,
                            op->host_bytes - skip, sizeof(uint64_t), pin_stored, e);
}

static bool shadow_matches(struct spill_engine *e, const struct spill_opcall *op)
{
    if (spill_engine_shadow_ready(e) && matches(e, op, spill_engine_expected(e)))
        return true;
    spill_engine_shadow_restart(e);
    return spill_engine_shadow_ready(e) && matches(e, op, spill_engine_expected(e));
}

static CUresult observe_before(struct spill_engine *e, struct spill_opcall *op)
{
    e->shadow_hit = shadow_matches(e, op);
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
    if (op->kind == SPILL_OPKIND_ALL) {
        spill_engine_become_resident(e);
        return CUDA_SUCCESS;
    }
    if (!e->recording && !e->gave_up && e->config.mode == SPILL_MODE_OFFLOAD &&
        e->dev.paged_out_bytes != e->paged_at_rest)
        spill_engine_start_recording(e); /* it fitted, and no longer does */
    e->rec.paged = e->dev.paged_out_bytes + e->dev.paged_in_bytes;
    if (e->recording &&
        spill_recorder_op_begin(&e->rec, &e->dev.buffers, op, &e->touches) != SPILL_OK)
        spill_engine_give_up(e); /* out of memory: page on without a plan */
    return CUDA_SUCCESS;
}

/* A profile of a program with graphs: their launches are ops like others, what is captured is not
 * run now. */
static void resident_before(struct spill_engine *e, const struct spill_opcall *op)
{
    e->paused = spill_captures_open(&e->captures);
    if (spill_engine_watching(e) &&
        spill_recorder_op_begin(&e->rec, &e->dev.buffers, op, &e->touches) != SPILL_OK)
        spill_engine_give_up(e);
}

static void resident_after(struct spill_engine *e, const struct spill_opcall *op, CUresult result)
{
    bool full;
    if (result == CUDA_SUCCESS && op->kind == SPILL_OPKIND_ALL &&
        spill_captures_begun(&e->captures, op->stream, &full)) {
        e->paused = true;
        if (full)
            spill_engine_give_up(e);
    }
}

static CUresult op_before(struct spill_opcall *op)
{
    struct spill_engine *e = &spill_engine;
    if (e->state == SPILL_STATE_NEW || e->state == SPILL_STATE_OFF)
        return CUDA_SUCCESS;
    if (e->state == SPILL_STATE_BROKEN)
        return e->broken;
    e->dev.op_number++;
    if (op->host_pending)
        note_to_host(e, op->stream);
    pin_sources(e, op);
    if (spill_access_scan(&e->dev.buffers, op, &e->touches) != SPILL_OK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (op->kind == SPILL_OPKIND_KERNEL && e->config.pin[0] != '\0')
        pin_touched(e, op);
    if (e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY) {
        const struct spill_iteration_event *event = spill_engine_expected(e);
        if (matches(e, op, event)) {
            e->open_op = event->index;
            CUresult result;
            if (e->state == SPILL_STATE_REPLAY) {
                result = spill_freeorder_op(&e->free_order, op->stream);
                return result == CUDA_SUCCESS ? spill_perform_replay_before(&e->perform, e->open_op)
                                              : result;
            }
            uint64_t start = spill_account_clock();
            result = spill_perform_guard_before(&e->perform, &e->dev, e->open_op);
            spill_account_held(&e->account, SPILL_STALL_GUARDING, start);
            if (result == CUDA_SUCCESS)
                return result;
            e->open_op = SPILL_NO_EVENT; /* fall back to the pager, which can serve any op */
        }
        spill_engine_diverge(e, SPILL_REASON_OTHER_OP);
    }
    if (e->state == SPILL_STATE_RESIDENT && e->recording)
        resident_before(e, op);
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
        ours = spill_perform_replay_after(&e->perform, &e->dev, k);
    } else {
        uint64_t start = spill_account_clock();
        ours = spill_perform_guard_after(&e->perform, &e->dev, k);
        spill_account_held(&e->account, SPILL_STALL_GUARDING, start);
    }
    if (ours != CUDA_SUCCESS) {
        spill_engine_break(e, ours);
        return;
    }
    e->ops_done++;
    e->account.ops_planned++;
    if (e->state == SPILL_STATE_REPLAY && e->ops_done == e->perform.script->op_count)
        spill_account_border(e, op->stream);
    spill_engine_advance(e);
}

static void op_after(struct spill_opcall *op, CUresult result)
{
    struct spill_engine *e = &spill_engine;
    if (e->open_op != SPILL_NO_EVENT &&
        (e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY)) {
        planned_after(e, op, result);
        return;
    }
    if (e->state == SPILL_STATE_RESIDENT && e->recording)
        resident_after(e, op, result);
    if (e->state == SPILL_STATE_OBSERVE && e->shadow_hit && result == CUDA_SUCCESS)
        spill_engine_shadow_hit(e);
    if (!spill_engine_watching(e))
        return;
    if (result != CUDA_SUCCESS) {
        spill_engine_start_recording(e); /* what failed is no part of an iteration */
        return;
    }
    spill_recorder_op_end(&e->rec, op);
    spill_engine_recorded(e);
}

static void mark(void)
{
    struct spill_engine *e = &spill_engine;
    if (spill_engine_watching(e))
        spill_engine_marked(e);
}

static void synchronized(CUstream stream)
{
    struct spill_engine *e = &spill_engine;
    if (stream == NULL || (stream == e->to_host_stream && !e->to_host_many)) {
        e->to_host_stream = NULL;
        e->to_host_many = false;
    }
}

static bool managed_device(CUcontext *context, CUdevice *ordinal)
{
    const struct spill_engine *e = &spill_engine;
    if (e->state == SPILL_STATE_NEW || e->state == SPILL_STATE_OFF)
        return false;
    *context = e->dev.context;
    *ordinal = e->dev.ordinal;
    return true;
}

/* The view that the budget gives: what is managed counts as asked for, wherever it is. */
static bool memory_view(size_t *left, size_t *total)
{
    const struct spill_engine *e = &spill_engine;
    if (e->state == SPILL_STATE_NEW || e->state == SPILL_STATE_OFF)
        return false;
    uint64_t used = ((e->dev.buffers.live_pages + e->dev.slab_pages) << e->dev.page_shift) +
                    e->dev.unmanaged_bytes;
    *total = e->dev.gpu_budget;
    *left = used < e->dev.gpu_budget ? e->dev.gpu_budget - used : 0;
    return true;
}

/* A stream that goes away cannot be waited for any more; the device can. */
static void stream_end(CUstream stream)
{
    struct spill_engine *e = &spill_engine;
    if (e->to_host_stream == stream)
        e->to_host_many = true;
    spill_freeorder_end(&e->free_order, stream);
    spill_captures_end(&e->captures, stream);
}

static void save(void)
{
    struct spill_engine *e = &spill_engine;
    if (e->state != SPILL_STATE_NEW && e->state != SPILL_STATE_OFF)
        spill_engine_write_partial_trace(e);
}

static void context_end(bool gone)
{
    struct spill_engine *e = &spill_engine;
    if (e->state == SPILL_STATE_NEW || e->state == SPILL_STATE_OFF)
        return;
    e->rec.timing = e->rec.timing && !gone;
    spill_engine_write_partial_trace(e);
    /* Streams, events, frames go with the context; nothing of ours may touch them again. */
    e->state = SPILL_STATE_OFF;
}

static void finish(bool cuda_used, uint64_t hooked_calls)
{
    struct spill_engine *e = &spill_engine;
    e->rec.timing = false;
    spill_engine_write_partial_trace(e);
    spill_account_finish(e, cuda_used, hooked_calls);
    spill_stats_write(e);
}

/* As far as it has come. */
static void report(void)
{
    const struct spill_engine *e = &spill_engine;
    if (e->dev.peak_bytes == 0) {
        spill_log(SPILL_LOG_INFO, "no memory is managed so far");
        return;
    }
    spill_account_say(e);
    spill_stats_write(e);
}

static void in_child(void)
{
    spill_engine.state = SPILL_STATE_OFF;
}

const struct spill_sink *spill_engine_sink(const struct spill_config *config)
{
    static const struct spill_sink sink = {
        .alloc = spill_engine_alloc,
        .free = spill_engine_free,
        .unmanaged = spill_engine_unmanaged,
        .before = op_before,
        .after = op_after,
        .synchronized = synchronized,
        .mark = mark,
        .find = spill_engine_find,
        .pin = pin_address,
        .tensor_map = tensor_map,
        .device = managed_device,
        .memory = memory_view,
        .stream_end = stream_end,
        .functions_end = spill_kernels_forget,
        .save = save,
        .context_end = context_end,
        .finish = finish,
        .report = report,
        .child = in_child,
    };
    spill_engine.config = *config;
    spill_engine.open_op = SPILL_NO_EVENT;
    return &sink;
}
