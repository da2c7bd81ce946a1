/* SPDX-License-Identifier: Apache-2.0 */
/* Stands behind the hooks in place of the engine: counts what reaches it and changes nothing. Its
 * table is exported, so that a test sees how often each call passed through. */
#include "tests/hooks/recsink.h"

#include <string.h>

#include "preload/base/sink.h"

struct recsink_counts recsink_counts;

static enum spill_handled on_alloc(CUdeviceptr *addr, size_t bytes, CUstream stream,
                                   CUresult *result)
{
    (void)addr, (void)bytes, (void)stream, (void)result;
    recsink_counts.others++;
    return SPILL_NOT_OURS;
}

static enum spill_handled on_free(CUdeviceptr addr, CUstream stream, CUresult *result)
{
    (void)addr, (void)stream, (void)result;
    recsink_counts.others++;
    return SPILL_NOT_OURS;
}

static CUdevice on_device_of(CUstream stream)
{
    (void)stream;
    recsink_counts.others++;
    return -1;
}

static void on_unmanaged(CUdevice device, int64_t bytes)
{
    (void)device;
    recsink_counts.unmanaged += bytes;
}

static unsigned carried(const struct spill_opcall *op)
{
    unsigned times = 0;
    uint64_t word;
    const char *data = op->host_source;
    for (uint64_t at = 0; data != NULL && at + sizeof(word) <= op->host_bytes; at += sizeof(word)) {
        memcpy(&word, data + at, sizeof(word));
        times += word == recsink_counts.sought;
    }
    return times;
}

static void note_stream(CUstream stream)
{
    recsink_counts.default_stream = stream == CU_STREAM_LEGACY       ? 1
                                    : stream == CU_STREAM_PER_THREAD ? 2
                                                                     : 0;
}

static CUresult on_before(struct spill_opcall *op)
{
    recsink_counts.kind = op->kind;
    recsink_counts.ranges = op->range_count + op->more_count;
    note_stream(op->stream);
    recsink_counts.carried = recsink_counts.sought == 0 ? 0 : carried(op);
    recsink_counts.before++;
    return CUDA_SUCCESS;
}

static void on_after(struct spill_opcall *op, CUresult result)
{
    (void)op, (void)result;
    recsink_counts.after++;
}

static void on_capture_begins(void)
{
    recsink_counts.captures++;
}

static void on_capture_changed(CUstream stream, bool open)
{
    (void)open;
    recsink_counts.captures++;
    recsink_counts.default_stream = stream == CU_STREAM_LEGACY       ? 1
                                    : stream == CU_STREAM_PER_THREAD ? 2
                                                                     : 0;
}

static void on_graph(CUgraphExec exec)
{
    (void)exec;
    recsink_counts.graphs++;
}

static void on_graph_node(CUgraphExec exec, CUgraphNode node, CUgraphNode owner,
                          const struct spill_opcall *op)
{
    (void)exec, (void)node, (void)owner, (void)op;
    recsink_counts.graphs++;
}

static void on_graph_emptied(CUgraphExec exec, CUgraphNode owner)
{
    (void)exec, (void)owner;
    recsink_counts.graphs++;
}

static CUresult on_unseen(void)
{
    recsink_counts.others++;
    return CUDA_SUCCESS;
}

static bool on_capturing(void)
{
    return false;
}

static void on_stream(CUstream stream)
{
    (void)stream;
    recsink_counts.others++;
}

static void on_ordered(enum spill_ordered what, CUevent event, CUstream stream)
{
    (void)what, (void)event;
    recsink_counts.ordered++;
    note_stream(stream);
}

static bool on_find(CUdeviceptr addr, struct spill_found *found)
{
    recsink_counts.others++;
    *found = (struct spill_found){
        .base = recsink_counts.managed_base, .bytes = recsink_counts.managed_bytes, .serial = 1};
    return addr >= found->base && addr < found->base + found->bytes;
}

static void on_pin(CUdeviceptr addr, enum spill_trace_pin reason)
{
    (void)reason;
    recsink_counts.pinned = addr;
    recsink_counts.others++;
}

/* What it cannot remember is pinned. */
static bool on_tensor_map(const void *map, CUdeviceptr addr)
{
    (void)map;
    recsink_counts.mapped = addr;
    recsink_counts.others++;
    return false;
}

static bool on_context_managed(CUcontext context)
{
    (void)context;
    recsink_counts.others++;
    return false;
}

static bool on_memory(size_t *left, size_t *total)
{
    recsink_counts.others++;
    *left = *total = 0;
    return false;
}

static void on_functions_end(void)
{
    recsink_counts.others++;
}

static void on_save(CUcontext context)
{
    (void)context;
}

static void on_context_made(void)
{
    recsink_counts.others++;
}

static CUdevice on_context_end(CUcontext context, bool gone)
{
    (void)context, (void)gone;
    return -1;
}

static CUresult on_peer(CUcontext owner)
{
    (void)owner;
    recsink_counts.others++;
    return CUDA_SUCCESS;
}

static CUresult on_admit(CUdevice owner, CUdevice device)
{
    (void)owner, (void)device;
    recsink_counts.others++;
    return CUDA_SUCCESS;
}

static void on_finish(bool cuda_used)
{
    (void)cuda_used;
}

static void on_child(void)
{
}

const struct spill_sink *spill_engine_sink(const struct spill_config *config,
                                           const uint64_t *hooked_calls)
{
    static const struct spill_sink sink = {
        .alloc = on_alloc,
        .free = on_free,
        .device_of = on_device_of,
        .unmanaged = on_unmanaged,
        .before = on_before,
        .after = on_after,
        .capture_begins = on_capture_begins,
        .capture_changed = on_capture_changed,
        .capturing = on_capturing,
        .graph_made = on_graph,
        .graph_node = on_graph_node,
        .graph_emptied = on_graph_emptied,
        .graph_end = on_graph,
        .unseen = on_unseen,
        .synchronized = on_stream,
        .ordered = on_ordered,
        .find = on_find,
        .pin = on_pin,
        .tensor_map = on_tensor_map,
        .context_managed = on_context_managed,
        .memory = on_memory,
        .stream_end = on_stream,
        .functions_end = on_functions_end,
        .save = on_save,
        .context_made = on_context_made,
        .context_end = on_context_end,
        .peer = on_peer,
        .admit = on_admit,
        .finish = on_finish,
        .child = on_child,
    };
    (void)config, (void)hooked_calls;
    return &sink;
}
