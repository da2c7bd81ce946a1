/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/summary.h"

#include <stdlib.h>
#include <string.h>

#include "preload/base/size.h"
#include "tools/spillway/idle.h"
#include "tools/spillway/tracetext.h"

enum { LONGEST = 10, SIZE_TEXT = 24, NAME_TEXT = 48, FRAMES = 3 };

static char *op_text(const struct spill_trace *trace, uint32_t op, char *out)
{
    return spill_tracetext_op(trace, op, out, NAME_TEXT);
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void print_head(const struct spill_trace *trace, FILE *out)
{
    char text[SIZE_TEXT];
    uint64_t busy = 0;
    for (uint32_t k = 0; k < trace->op_count; k++)
        busy += trace->ops[k].duration_ns;
    fprintf(out, "%s on %s, %s\n", spill_tracetext_name(trace, trace->program, "(unnamed program)"),
            spill_tracetext_name(trace, trace->device_name, "(unnamed device)"),
            spill_size_format(trace->gpu_bytes, text, sizeof(text)));
    if (trace->iterations > 0)
        fprintf(out, "  iterations   %u alike, each %u ops in %.3f ms (GPU busy %.3f ms)\n",
                trace->iterations, trace->op_count, ms(trace->step_ns), ms(busy));
    else
        fprintf(out,
                "  iterations   none found that repeats: below is the whole run, %u ops (GPU busy "
                "%.3f ms)\n",
                trace->op_count, ms(busy));
}

static void print_memory(const struct spill_trace *trace, FILE *out)
{
    char text[2][SIZE_TEXT], name[NAME_TEXT];
    uint64_t bytes[2] = {0, 0}, pinned = 0, largest;
    uint32_t count[2] = {0, 0}, pins = 0;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[b];
        count[buffer->life]++;
        bytes[buffer->life] += buffer->bytes;
        if (buffer->pin != SPILL_TRACE_UNPINNED) {
            pins++;
            pinned += buffer->bytes;
        }
    }
    fprintf(out, "  buffers      %u: %u persistent (%s), %u of one iteration (%s together)\n",
            trace->buffer_count, count[SPILL_TRACE_PERSISTENT],
            spill_size_format(bytes[SPILL_TRACE_PERSISTENT], text[0], SIZE_TEXT),
            count[SPILL_TRACE_ITERATION],
            spill_size_format(bytes[SPILL_TRACE_ITERATION], text[1], SIZE_TEXT));
    if (pins > 0)
        fprintf(out, "  pinned       %u of them (%s): never moved\n", pins,
                spill_size_format(pinned, text[0], SIZE_TEXT));
    fprintf(out, "  peak         %s", spill_size_format(trace->peak_bytes, text[0], SIZE_TEXT));
    fprintf(out, ", and %s of buffers below one page\n",
            spill_size_format(trace->small_bytes, text[0], SIZE_TEXT));
    if (trace->paged_bytes > 0)
        fprintf(out, "  paged        %s in the iteration: it did not fit, so times are longer\n",
                spill_size_format(trace->paged_bytes, text[0], SIZE_TEXT));
    uint32_t op = spill_idle_largest_op(trace, &largest);
    if (op != SPILL_TRACE_NONE)
        fprintf(out, "  largest op   %s: %s needs that much at once\n",
                spill_size_format(largest, text[0], SIZE_TEXT), op_text(trace, op, name));
    if (trace->out.bytes_per_s > 0 && trace->in.bytes_per_s > 0)
        fprintf(out, "  links        %.1f GB/s to the host, %.1f GB/s to the GPU\n",
                (double)trace->out.bytes_per_s / 1e9, (double)trace->in.bytes_per_s / 1e9);
}

static const char *class_text(const struct spill_trace_buffer *buffer, char *out)
{
    const char *pin = spill_tracetext_pin(buffer->pin);
    if (pin == NULL)
        return spill_tracetext_life(buffer->life);
    snprintf(out, NAME_TEXT, "pinned: %s", pin);
    return out;
}

/* The innermost frames of a call site ("a in lib;b in prog;..."), each on its own line: the
 * runtime's own frame says nothing, and beyond a few nobody reads. */
static void print_site(const char *site, FILE *out)
{
    for (int shown = 0; *site != '\0' && shown < FRAMES;) {
        size_t len = strcspn(site, ";");
        const char *runtime = strstr(site, "in libcudart");
        if (runtime == NULL || runtime >= site + len) {
            fprintf(out, "%*s%.*s\n", 30, shown == 0 ? "at " : "", (int)len, site);
            shown++;
        }
        site += len + (site[len] != '\0');
    }
}

static void print_idle(const struct spill_trace *trace, FILE *out)
{
    struct spill_idle *idle;
    char size[SIZE_TEXT], from[NAME_TEXT], to[NAME_TEXT], class[NAME_TEXT];
    if (spill_idle_find(trace, &idle) != SPILL_OK)
        return;
    fprintf(out, "  longest idle (size x time between two uses)\n"
                 "       idle ms        size  class       between\n");
    for (uint32_t i = 0; i < trace->buffer_count && i < LONGEST; i++) {
        const struct spill_trace_buffer *buffer = &trace->buffers[idle[i].buffer];
        if (idle[i].ns == 0)
            break;
        fprintf(out, "    %10.3f  %10s  %-10s  ", ms(idle[i].ns),
                spill_size_format(buffer->bytes, size, sizeof(size)), class_text(buffer, class));
        if (idle[i].after_op == SPILL_TRACE_NONE)
            fprintf(out, "not used in the iteration");
        else
            fprintf(out, "%s (op %u) and %s (op %u%s)", op_text(trace, idle[i].after_op, from),
                    idle[i].after_op, op_text(trace, idle[i].before_op, to), idle[i].before_op,
                    idle[i].before_op <= idle[i].after_op ? " of the next" : "");
        fputc('\n', out);
        print_site(spill_tracetext_name(trace, buffer->site, ""), out);
    }
    free(idle);
}

bool spill_summary_print(const struct spill_trace *trace, FILE *out)
{
    print_head(trace, out);
    print_memory(trace, out);
    print_idle(trace, out);
    return !ferror(out);
}
