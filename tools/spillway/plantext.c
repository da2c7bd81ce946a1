/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/plantext.h"

#include <string.h>

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "tools/spillway/tracetext.h"

enum { SIZE_TEXT = 24, NAME_TEXT = 48 };

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* How much MORE is than BASE, in percent. */
static double above(uint64_t more, uint64_t base)
{
    return base == 0 ? 0 : ((double)more / (double)base - 1) * 100;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (double)part / (double)whole * 100;
}

static void print_memory(const struct spill_trace *trace, const struct spill_planrow *row,
                         FILE *out)
{
    char a[SIZE_TEXT], b[SIZE_TEXT];
    fprintf(out, "  budget       %s", spill_size_format(row->gpu_bytes, a, sizeof(a)));
    if (trace->small_bytes > 0)
        fprintf(out, ", %s of it for buffers below one page",
                spill_size_format(trace->small_bytes, b, sizeof(b)));
    fprintf(out, "\n  peak         %s; laid out in %s\n",
            spill_size_format(row->peak_bytes, a, sizeof(a)),
            spill_size_format(row->frame_bytes, b, sizeof(b)));
}

static void print_moves(const struct spill_planrow *row, FILE *out)
{
    char a[SIZE_TEXT], b[SIZE_TEXT];
    if (row->moves == 0 && row->parks == 0) {
        fprintf(out, "  moved        nothing: it fits\n");
        return;
    }
    fprintf(out, "  moved        %s out and %s in each iteration: %u moves of %u buffers\n",
            spill_size_format(row->out_bytes, a, sizeof(a)),
            spill_size_format(row->in_bytes, b, sizeof(b)), row->moves, row->moved_buffers);
    fprintf(out, "  links        busy %.0f %% of the step to the host, %.0f %% to the GPU\n",
            share(row->out_busy_ns, row->step_ns), share(row->in_busy_ns, row->step_ns));
    fprintf(out, "  host         %s pinned\n", spill_size_format(row->host_bytes, a, sizeof(a)));
}

bool spill_plantext_print(const struct spill_trace *trace, const struct spill_planrow *row,
                          const struct spill_planleast *least, FILE *out)
{
    char size[SIZE_TEXT], name[NAME_TEXT];
    fprintf(out, "%s on %s\n", spill_tracetext_name(trace, trace->program, "(unnamed program)"),
            spill_tracetext_name(trace, trace->device_name, "(unnamed device)"));
    if (strcmp(row->method, "ours") != 0)
        fprintf(out, "  method       %s\n", row->method);
    fprintf(out, "  step         %.3f ms predicted, %.1f %% above the %.3f ms without a limit\n",
            ms(row->step_ns), above(row->step_ns, row->ideal_ns), ms(row->ideal_ns));
    fprintf(out, "  bound        no plan is faster than %.3f ms: a gap of at most %.1f %%\n",
            ms(row->bound_ns), above(row->step_ns, row->bound_ns));
    fprintf(out, "  waits        %.3f ms for copies in, %.3f ms for memory\n", ms(row->stall_in_ns),
            ms(row->stall_memory_ns));
    print_memory(trace, row, out);
    print_moves(row, out);
    if (least->gpu_bytes != UINT64_MAX)
        fprintf(out, "  smallest     %s would do; %s (op %u) needs that much\n",
                spill_size_format(least->gpu_bytes, size, sizeof(size)),
                spill_tracetext_op(trace, least->op, name, sizeof(name)), least->op);
    return !ferror(out);
}

void spill_plantext_explain(const struct spill_trace *trace, const struct spill_planrow *row,
                            uint64_t host_bytes, const struct spill_planleast *least)
{
    char have[SIZE_TEXT], need[SIZE_TEXT], name[NAME_TEXT];
    spill_size_format(row->gpu_bytes, have, sizeof(have));
    if (least->gpu_bytes == UINT64_MAX) {
        spill_log(SPILL_LOG_ERROR,
                  "no plan exists within %s of pinned host memory: raise --host-mem",
                  spill_size_format(host_bytes, need, sizeof(need)));
    } else if (least->gpu_bytes > row->gpu_bytes) {
        spill_log(SPILL_LOG_ERROR,
                  "no plan keeps within %s: %s (op %u) needs %s with all else moved away; give "
                  "--gpu-mem %lluMiB or more",
                  have, spill_tracetext_op(trace, least->op, name, sizeof(name)), least->op,
                  spill_size_format(least->gpu_bytes, need, sizeof(need)),
                  (unsigned long long)((least->gpu_bytes + (1 << 20) - 1) >> 20));
    } else if (strcmp(row->method, "ours") != 0) {
        spill_log(SPILL_LOG_ERROR, "%s finds no plan within %s: leave --method out", row->method,
                  have);
    } else {
        spill_log(SPILL_LOG_ERROR,
                  "no plan keeps within %s and %s of pinned host memory: raise --host-mem, or "
                  "--gpu-mem",
                  have, spill_size_format(host_bytes, need, sizeof(need)));
    }
}
