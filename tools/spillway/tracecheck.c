/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/tracecheck.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "preload/base/accessmode.h"
#include "preload/base/size.h"
#include "tools/spillway/lifeline.h"
#include "tools/spillway/planrow.h"
#include "tools/spillway/tracetext.h"

enum { SIZE_TEXT = 24, FEW = 3 };

static void check_iteration(const struct spill_trace *trace, struct spill_findings *found)
{
    char size[SIZE_TEXT];
    if (trace->iterations == 0)
        spill_finding_add(found, SPILL_FINDING_WARN, "iteration",
                          "profile more steps, or mark the steps by spillway_iteration()",
                          "nothing repeats: the %u operations are the whole run", trace->op_count);
    else if (trace->others > trace->iterations)
        spill_finding_add(found, SPILL_FINDING_WARN, "iteration",
                          "see 'spillway dump --only differences' for what differs",
                          "%u operations, seen %u times alike, but %u times something else came",
                          trace->op_count, trace->iterations, trace->others);
    else
        spill_finding_add(
            found, SPILL_FINDING_OK, "iteration", NULL,
            "%u operations, seen %u times alike; %u times something else came between",
            trace->op_count, trace->iterations, trace->others);
    if (trace->log_max > 0 && trace->log_bytes >= trace->log_max)
        spill_finding_add(
            found, SPILL_FINDING_WARN, "record", "raise SPILLWAY_PROFILE_MEM",
            "the %s for the record of what the program does were full: it is cut short",
            spill_size_format(trace->log_max, size, sizeof(size)));
}

static void check_times(const struct spill_trace *trace, struct spill_findings *found)
{
    uint64_t sum = 0;
    uint32_t none = 0;
    for (uint32_t k = 0; k < trace->op_count; k++) {
        sum += trace->ops[k].duration_ns;
        none += trace->ops[k].duration_ns == 0;
    }
    if (sum == 0)
        spill_finding_add(found, SPILL_FINDING_BAD, "times", "profile again",
                          "no operation has a duration: nothing can be planned");
    else if (none > trace->op_count / 2)
        spill_finding_add(found, SPILL_FINDING_WARN, "times", "profile again, for more steps",
                          "%u of %u operations have no duration: the plan will guess badly", none,
                          trace->op_count);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "times", NULL, "GPU busy %.3f ms an iteration",
                          (double)sum / 1e6);
}

/* Does buffer B exist when op K runs? */
static bool is_alive(const struct spill_trace *trace, uint32_t b, uint32_t k)
{
    const struct spill_trace_buffer *buffer = &trace->buffers[b];
    if (buffer->life == SPILL_TRACE_PERSISTENT)
        return true;
    if (buffer->free_op >= buffer->birth_op)
        return k >= buffer->birth_op && k < buffer->free_op;
    return k >= buffer->birth_op || k < buffer->free_op;
}

/* What the reader cannot know: accesses to buffers that do not exist then, or named twice. */
static void check_accesses(const struct spill_trace *trace, struct spill_findings *found)
{
    uint32_t *last = calloc((size_t)trace->buffer_count + 1, sizeof(*last));
    uint32_t unknown = 0, bad = 0;
    char name[SPILL_TRACETEXT_NAME];
    if (last == NULL) {
        found->lost = true;
        return;
    }
    for (uint32_t k = 0; k < trace->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        for (uint32_t a = op->access_first; a < op->access_first + op->access_count; a++) {
            uint32_t b = trace->accesses[a].buffer;
            const char *fault = last[b] == k + 1         ? "twice"
                                : !is_alive(trace, b, k) ? "outside its life"
                                                         : NULL;
            unknown += trace->accesses[a].mode == SPILL_ACCESS_UNKNOWN;
            last[b] = k + 1;
            if (fault != NULL && bad++ < FEW)
                spill_finding_add(found, SPILL_FINDING_BAD, "accesses", NULL,
                                  "op %u (%s) uses buffer %u %s", k,
                                  spill_tracetext_op(trace, k, name, sizeof(name)), b, fault);
        }
    }
    free(last);
    if (bad > 0)
        spill_finding_add(found, SPILL_FINDING_BAD, "accesses",
                          "the file was not written by spillway, or that has a bug: profile again",
                          "%u of %u accesses contradict the rest of the trace", bad,
                          trace->access_count);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "accesses", NULL,
                          "%u, of %u buffers; whether %u of them write was not told, so they count "
                          "as writes",
                          trace->access_count, trace->buffer_count, unknown);
}

static void check_memory(const struct spill_trace *trace, struct spill_findings *found)
{
    struct spill_lifeline line;
    uint64_t live = 0;
    char a[SIZE_TEXT], b[SIZE_TEXT];
    if (spill_lifeline_build(trace, &line) != SPILL_OK) {
        found->lost = true;
        return;
    }
    for (uint32_t k = 0; k <= trace->op_count; k++)
        live = line.live[k] > live ? line.live[k] : live;
    spill_lifeline_free(&line);
    spill_size_format(trace->peak_bytes, a, sizeof(a));
    if (live > trace->peak_bytes)
        spill_finding_add(found, SPILL_FINDING_BAD, "memory", "profile again",
                          "the buffers need %s at once, but the trace says that the peak was %s",
                          spill_size_format(live, b, sizeof(b)), a);
    else
        spill_finding_add(found, SPILL_FINDING_OK, "memory", NULL,
                          "peak %s, and %s of buffers below one page", a,
                          spill_size_format(trace->small_bytes, b, sizeof(b)));
    if (trace->paged_bytes > 0)
        spill_finding_add(found, SPILL_FINDING_WARN, "paging",
                          "profile with more GPU memory, or a smaller batch, for a truer step time",
                          "%s were moved while it was watched, as it did not fit: the step took "
                          "longer than it need",
                          spill_size_format(trace->paged_bytes, a, sizeof(a)));
}

static void check_pins(const struct spill_trace *trace, struct spill_findings *found)
{
    uint64_t bytes[SPILL_TRACE_PIN_COUNT] = {0}, pinned = 0, all = 0;
    char size[SIZE_TEXT];
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        all += buffer->bytes;
        if (buffer->pin == SPILL_TRACE_UNPINNED || buffer->pin >= SPILL_TRACE_PIN_COUNT)
            continue;
        bytes[buffer->pin] += buffer->bytes;
        pinned += buffer->bytes;
    }
    for (uint32_t pin = 1; pin < SPILL_TRACE_PIN_COUNT; pin++)
        if (bytes[pin] > 0)
            spill_finding_add(found, pinned > all / 2 ? SPILL_FINDING_WARN : SPILL_FINDING_OK,
                              "pinned", NULL, "%s never move: %s",
                              spill_size_format(bytes[pin], size, sizeof(size)),
                              spill_tracetext_pin(pin));
}

/* Nearly everything in one buffer that nearly every op uses: a caching allocator's block. */
static void check_blocks(const struct spill_trace *trace, struct spill_findings *found)
{
    uint32_t *uses = calloc((size_t)trace->buffer_count + 1, sizeof(*uses));
    uint64_t all = 0;
    char size[SIZE_TEXT];
    if (uses == NULL) {
        found->lost = true;
        return;
    }
    for (uint32_t a = 0; a < trace->access_count; a++)
        uses[trace->accesses[a].buffer]++;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        all += trace->buffers[b].bytes;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        if (trace->buffers[b].bytes > all / 2 && trace->op_count > FEW &&
            uses[b] > trace->op_count / 2)
            spill_finding_add(
                found, SPILL_FINDING_WARN, "blocks",
                "let each tensor be an allocation of its own: 'spillway run' sets the known "
                "switches of PyTorch, JAX and TensorFlow",
                "buffer %u holds %s of all the memory and %u of %u operations use it: a caching "
                "allocator cuts it up, and little of it can move",
                b, spill_size_format(trace->buffers[b].bytes, size, sizeof(size)), uses[b],
                trace->op_count);
    free(uses);
}

static void check_links(const struct spill_trace *trace, struct spill_findings *found)
{
    if (trace->out.bytes_per_s > 0 && trace->in.bytes_per_s > 0)
        spill_finding_add(
            found, SPILL_FINDING_OK, "links", NULL, "%.1f GB/s to the host, %.1f GB/s to the GPU",
            (double)trace->out.bytes_per_s / 1e9, (double)trace->in.bytes_per_s / 1e9);
    else
        spill_finding_add(found, SPILL_FINDING_WARN, "links", "profile again",
                          "their speed was not measured: a plan has to assume one");
}

void spill_tracecheck_trace(const struct spill_trace *trace, struct spill_findings *found)
{
    check_iteration(trace, found);
    check_times(trace, found);
    check_accesses(trace, found);
    check_memory(trace, found);
    check_pins(trace, found);
    check_blocks(trace, found);
    check_links(trace, found);
}

void spill_tracecheck_plan(const struct spill_trace *trace, uint64_t gpu_bytes, uint64_t host_bytes,
                           struct spill_findings *found)
{
    struct spill_planrow row;
    struct spill_planleast least;
    char gpu[SIZE_TEXT], cure[160], host[SIZE_TEXT], name[SPILL_TRACETEXT_NAME];
    spill_size_format(gpu_bytes, gpu, sizeof(gpu));
    if (spill_planrow_least(trace, host_bytes, &least) != SPILL_OK ||
        spill_planrow_solve(trace, gpu_bytes, host_bytes, "ours", &row) != SPILL_OK) {
        spill_finding_add(found, SPILL_FINDING_BAD, "plan", NULL,
                          "the trace cannot be planned for");
    } else if (row.fits) {
        spill_finding_add(
            found, SPILL_FINDING_OK, "plan", NULL,
            "keeps within %s, checked: step %.3f ms, %.1f %% above the time without a "
            "limit, %s of pinned host memory",
            gpu, (double)row.step_ns / 1e6,
            row.ideal_ns > 0 ? ((double)row.step_ns / (double)row.ideal_ns - 1) * 100 : 0.0,
            spill_size_format(row.host_bytes, host, sizeof(host)));
    } else if (least.gpu_bytes != UINT64_MAX && least.gpu_bytes > gpu_bytes) {
        snprintf(cure, sizeof(cure), "give --gpu-mem %" PRIu64 "MiB or more",
                 (least.gpu_bytes + (1 << 20) - 1) >> 20);
        spill_finding_add(found, SPILL_FINDING_BAD, "plan", cure,
                          "none keeps within %s: %s (op %u) needs %s with all else moved away", gpu,
                          spill_tracetext_op(trace, least.op, name, sizeof(name)), least.op,
                          spill_size_format(least.gpu_bytes, host, sizeof(host)));
    } else {
        spill_finding_add(found, SPILL_FINDING_BAD, "plan", "raise --host-mem, or --gpu-mem",
                          "none keeps within %s and %s of pinned host memory", gpu,
                          spill_size_format(host_bytes, host, sizeof(host)));
    }
}
