/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks' way in: each call is given to the engine that it concerns. */
#include "preload/base/log.h"
#include "profiler/graphs.h"
#include "profiler/kernels.h"
#include "profiler/stack.h"
#include "replay/engines.h"
#include "replay/stats.h"

static struct spill_config settings;
static const uint64_t *calls; /* the program's, so far */

/* The engine of the op between before and after; NULL: none. */
static struct spill_engine *serving;

/* Copies and graphs may name other devices' memory, which must then be there and stay. Kernels may
 * not, unless the device was opened to them (spill_engine_peer). */
static CUresult pin_foreign(const struct spill_engine *own, CUdeviceptr addr)
{
    struct spill_engine *e = spill_engines_at(addr);
    if (e == NULL || e == own)
        return CUDA_SUCCESS;
    uint32_t slot = spill_bufmap_find(&e->dev.buffers, addr);
    if (slot == SPILL_NO_BUFFER)
        return CUDA_SUCCESS; /* in a slab, which never moves */
    struct spill_entered entered = spill_engines_enter(e);
    CUresult result = spill_engine_pin(e, slot, SPILL_TRACE_PIN_EXPORTED);
    spill_engines_leave(entered);
    return result;
}

static CUresult pin_foreign_graph(const struct spill_engine *own, CUgraphExec exec)
{
    CUresult result = CUDA_SUCCESS;
    uint32_t count;
    const struct spill_graph_word *words = spill_graphs_words(exec, &count);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < count; i++)
        result = pin_foreign(own, words[i].addr);
    return result;
}

static CUresult before_foreign(const struct spill_engine *own, const struct spill_opcall *op)
{
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->range_count; i++)
        result = pin_foreign(own, op->ranges[i].addr);
    for (uint32_t i = 0; result == CUDA_SUCCESS && i < op->more_count; i++)
        result = pin_foreign(own, op->more[i].addr);
    if (op->kind == SPILL_OPKIND_GRAPH && result == CUDA_SUCCESS)
        result = pin_foreign_graph(own, op->graph);
    return result;
}

/* With several devices: what OP may reach on those that it does not run on. */
static CUresult before_others(const struct spill_engine *own, struct spill_opcall *op)
{
    CUresult result = before_foreign(own, op);
    for (unsigned i = 0; result == CUDA_SUCCESS && i < SPILL_ENGINES; i++) {
        struct spill_engine *e = &spill_engines[i];
        if (e == own || !spill_engines_managed(e))
            continue;
        struct spill_entered entered = spill_engines_enter(e);
        if (op->kind == SPILL_OPKIND_ALL)
            result = spill_engine_before(e, op);
        else
            spill_engine_sources(e, op);
        spill_engines_leave(entered);
    }
    return result;
}

static CUresult before(struct spill_opcall *op)
{
    struct spill_engine *e = serving = spill_engines_of(op);
    CUresult result = CUDA_SUCCESS;
    if (op->kind == SPILL_OPKIND_GRAPH)
        spill_graphs_launch(op);
    if (__builtin_expect(spill_engines_one != NULL && !spill_captures_any(), 1))
        return spill_engine_before(e, op);
    if (spill_captures_any() && spill_captures_hold(op->stream)) {
        serving = NULL; /* it does not run now */
        return CUDA_SUCCESS;
    }
    if (op->kind != SPILL_OPKIND_KERNEL)
        result = before_others(e, op);
    if (e == NULL || result != CUDA_SUCCESS)
        return result;
    struct spill_entered entered = spill_engines_enter(e);
    result = spill_engine_before(e, op);
    spill_engines_leave(entered);
    return result;
}

static void after(struct spill_opcall *op, CUresult result)
{
    if (serving == NULL)
        return;
    struct spill_entered entered = spill_engines_enter(serving);
    spill_engine_after(serving, op, result);
    spill_engines_leave(entered);
}

static enum spill_handled alloc(CUdeviceptr *addr, size_t bytes, CUstream stream, CUresult *result)
{
    if (bytes == 0 || spill_stack_held())
        return SPILL_NOT_OURS;
    struct spill_entered entered = spill_engines_enter(NULL);
    struct spill_engine *e =
        stream == NULL ? spill_engines_for_alloc() : spill_engines_for_stream(stream);
    if (e != NULL) {
        struct spill_entered home = spill_engines_enter(e);
        *result = spill_engine_alloc(e, bytes, stream, addr);
        spill_engines_leave(home);
    }
    spill_engines_leave(entered);
    return e != NULL ? SPILL_HANDLED : SPILL_NOT_OURS;
}

static enum spill_handled release(CUdeviceptr addr, CUstream stream, CUresult *result)
{
    struct spill_engine *e = spill_engines_at(addr);
    if (e == NULL)
        return SPILL_NOT_OURS;
    if (stream != NULL && spill_captures_hold(stream))
        return SPILL_NOT_OURS;
    /* No event of ours can be recorded in another device's stream: what is in it is waited for, and
     * then the memory is free for E's own streams as after any other free. */
    struct spill_entered entered = spill_engines_enter(NULL);
    bool foreign = stream != NULL && !spill_engines_has_stream(e, stream);
    *result = foreign ? SPILL_CU(cuStreamSynchronize)(stream) : CUDA_SUCCESS;
    spill_engines_leave(entered);
    if (*result != CUDA_SUCCESS)
        return SPILL_HANDLED;
    entered = spill_engines_enter(e);
    *result = spill_engine_free(e, addr, foreign ? NULL : stream);
    spill_engines_leave(entered);
    return SPILL_HANDLED;
}

static CUdevice device_of(CUstream stream)
{
    return !spill_driver_complete() || !spill_captures_runs(stream)
               ? -1
               : spill_engines_device_of(stream);
}

static void unmanaged(CUdevice device, int64_t bytes)
{
    if (device < 0 || device >= SPILL_ENGINES)
        return;
    struct spill_engine *e = &spill_engines[device];
    struct spill_entered entered = spill_engines_enter(spill_engines_managed(e) ? e : NULL);
    spill_engine_unmanaged(e, bytes);
    spill_engines_leave(entered);
}

/* Within a capture the device cannot be waited for, and what moves memory may have to. */
static void capture_begins(void)
{
    if (!spill_captures_any())
        (void)spill_engines_drain(); /* an error comes back at the program's next call */
}

static bool capturing(void)
{
    return spill_captures_any();
}

/* The start of the page of a managed span that ADDR lies in; 0: in none. */
static uint64_t page_of(uint64_t addr)
{
    const struct spill_engine *e = spill_engines_at(addr);
    return e == NULL ? 0 : addr & ~(e->dev.page_bytes - 1);
}

static void graph_node(CUgraphExec exec, CUgraphNode node, CUgraphNode owner,
                       const struct spill_opcall *op)
{
    spill_graphs_node(exec, node, owner, op, page_of);
}

static CUresult unseen(void)
{
    CUresult result = CUDA_SUCCESS;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < SPILL_ENGINES; i++) {
        if (!spill_engines_managed(&spill_engines[i]))
            continue;
        struct spill_entered entered = spill_engines_enter(&spill_engines[i]);
        result = spill_engine_unseen(&spill_engines[i]);
        spill_engines_leave(entered);
    }
    return result;
}

static void synchronized(CUstream stream)
{
    struct spill_engine *e = spill_engines_here();
    if (e != NULL)
        spill_engine_synchronized(e, stream);
}

static void ordered(enum spill_ordered what, CUevent event, CUstream stream)
{
    struct spill_engine *e = spill_engines_here();
    if (spill_captures_any() && what != SPILL_ORDERED_SYNCHRONIZE && spill_captures_hold(stream))
        return; /* it orders nodes of a graph */
    if (e != NULL)
        spill_engine_ordered(e, what, event, stream);
}

static void mark(void)
{
    struct spill_engine *e = spill_engines_here();
    if (e == NULL || !spill_engine_watching(e))
        return;
    struct spill_entered entered = spill_engines_enter(e);
    spill_engine_marked(e);
    spill_engines_leave(entered);
}

static bool find(CUdeviceptr addr, struct spill_found *found)
{
    const struct spill_engine *e = spill_engines_at(addr);
    if (e == NULL || !spill_engine_find(e, addr, found))
        return false;
    found->context = e->dev.context;
    found->device = e->dev.ordinal;
    return true;
}

static void pin(CUdeviceptr addr, enum spill_trace_pin reason)
{
    struct spill_engine *e = spill_engines_at(addr);
    uint32_t slot = e == NULL ? SPILL_NO_BUFFER : spill_bufmap_find(&e->dev.buffers, addr);
    if (slot == SPILL_NO_BUFFER)
        return; /* not ours, or in a slab, which never moves */
    struct spill_entered entered = spill_engines_enter(e);
    (void)spill_engine_pin(e, slot, reason);
    spill_engines_leave(entered);
}

static bool tensor_map(const void *map, CUdeviceptr addr)
{
    struct spill_engine *e = spill_engines_at(addr);
    if (e == NULL)
        return true;
    struct spill_entered entered = spill_engines_enter(e);
    bool noted = spill_engine_tensor_map(e, map, addr);
    spill_engines_leave(entered);
    return noted;
}

/* The view that the budget gives: what is managed counts as asked for, wherever it is. */
static bool memory(size_t *left, size_t *total)
{
    const struct spill_engine *e = spill_engines_here();
    if (e == NULL)
        return false;
    uint64_t used = ((e->dev.buffers.live_pages + e->dev.slab_pages) << e->dev.page_shift) +
                    e->dev.unmanaged_bytes;
    *total = e->dev.gpu_budget;
    *left = used < e->dev.gpu_budget ? e->dev.gpu_budget - used : 0;
    return true;
}

static void stream_end(CUstream stream)
{
    spill_captures_stream_end(stream);
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        if (spill_engines_managed(&spill_engines[i]))
            spill_engine_stream_end(&spill_engines[i], stream);
    spill_engines_forget_streams();
}

static bool context_managed(CUcontext context)
{
    return context != NULL && spill_engines_owner(context) != NULL;
}

static void save(CUcontext context)
{
    struct spill_engine *e = spill_engines_owner(context);
    if (e == NULL)
        return;
    struct spill_entered entered = spill_engines_enter(e);
    spill_engine_write_partial_trace(e);
    spill_engines_leave(entered);
}

static CUdevice context_end(CUcontext context, bool gone)
{
    struct spill_engine *e = spill_engines_owner(context);
    if (e == NULL)
        return -1;
    CUdevice device = e->dev.ordinal;
    struct spill_entered entered = spill_engines_enter(gone ? NULL : e);
    spill_engines_end(e, gone);
    spill_engines_leave(entered);
    return device;
}

static CUresult peer(CUcontext owner)
{
    CUdevice device = -1;
    if (SPILL_CU(cuCtxGetDevice) == NULL || SPILL_CU(cuCtxGetDevice)(&device) != CUDA_SUCCESS)
        return CUDA_SUCCESS; /* the driver will say what is wrong */
    return spill_engines_peer(owner, device);
}

static CUresult admit(CUdevice owner, CUdevice device)
{
    if (owner < 0 || owner >= SPILL_ENGINES || !spill_engines_managed(&spill_engines[owner]))
        return CUDA_SUCCESS;
    return spill_engines_peer(spill_engines[owner].dev.context, device);
}

static void finish(bool cuda_used)
{
    if (*calls == 0 && cuda_used) {
        spill_log(
            SPILL_LOG_ERROR,
            "THIS CUDA PROGRAM ENDED AND NOT ONE OF ITS CALLS PASSED THROUGH SPILLWAY: nothing "
            "was watched or moved. A static driver, RTLD_DEEPBIND or another preload may hide "
            "them");
        return;
    }
    for (unsigned i = 0; i < SPILL_ENGINES; i++) {
        struct spill_engine *e = &spill_engines[i];
        e->rec.timing = false;
        if (spill_engines_managed(e))
            spill_engine_write_partial_trace(e);
        /* Nothing is said of memory that was never managed, nor where only a trace was wanted. */
        if (e->dev.peak_bytes != 0 &&
            (e->account.started_said || settings.mode == SPILL_MODE_OFFLOAD))
            spill_account_say(e);
    }
    spill_stats_write(&settings, *calls);
}

static void report(void)
{
    bool any = false;
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        if (spill_engines[i].dev.peak_bytes != 0) {
            spill_account_say(&spill_engines[i]);
            any = true;
        }
    if (!any)
        spill_log(SPILL_LOG_INFO, "no memory is managed so far");
    spill_stats_write(&settings, *calls);
}

static void in_child(void)
{
    for (unsigned i = 0; i < SPILL_ENGINES; i++)
        spill_engines[i].state = SPILL_STATE_OFF;
    spill_engines_more();
}

const struct spill_sink *spill_engine_sink(const struct spill_config *config,
                                           const uint64_t *hooked_calls)
{
    static const struct spill_sink sink = {
        .alloc = alloc,
        .free = release,
        .device_of = device_of,
        .unmanaged = unmanaged,
        .before = before,
        .after = after,
        .capture_begins = capture_begins,
        .capture_changed = spill_captures_look,
        .capturing = capturing,
        .graph_made = spill_graphs_made,
        .graph_node = graph_node,
        .graph_emptied = spill_graphs_emptied,
        .graph_end = spill_graphs_end,
        .unseen = unseen,
        .synchronized = synchronized,
        .ordered = ordered,
        .mark = mark,
        .find = find,
        .pin = pin,
        .tensor_map = tensor_map,
        .context_managed = context_managed,
        .memory = memory,
        .stream_end = stream_end,
        .functions_end = spill_kernels_forget,
        .save = save,
        .context_made = spill_engines_more,
        .context_end = context_end,
        .peer = peer,
        .admit = admit,
        .finish = finish,
        .report = report,
        .child = in_child,
    };
    settings = *config;
    calls = hooked_calls;
    for (unsigned i = 0; i < SPILL_ENGINES; i++) {
        spill_engines[i].config = &settings;
        spill_engines[i].hooked_calls = hooked_calls;
    }
    return &sink;
}
