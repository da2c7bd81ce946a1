/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/summary.h"

#include <stdlib.h>
#include <string.h>

#include "preload/base/size.h"
#include "tools/spillway/demangle.h"
#include "tools/spillway/idle.h"
#include "tools/spillway/timeline.h"
#include "tools/spillway/tracetext.h"

enum { LONGEST = 10, SIZE_TEXT = 24, NAME_TEXT = 48, FRAMES = 3, DIFFERENCES = 3 };

static char *op_text(const struct spill_trace *trace, uint32_t op, char *out)
{
    return spill_tracetext_op(trace, op, out, NAME_TEXT);
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* The first few of them: the same thing mostly comes again and again. */
static void print_differences(const struct spill_trace *trace, FILE *out)
{
    char expected[NAME_TEXT], found[NAME_TEXT];
    if (trace->others == 0)
        return;
    fprintf(out, "  others       %u stretch%s between them that did something else\n",
            trace->others, trace->others == 1 ? "" : "es");
    for (uint32_t i = 0; i < trace->difference_count && i < DIFFERENCES; i++) {
        const struct spill_trace_difference *d = &trace->differences[i];
        spill_demangle(spill_tracetext_name(trace, d->expected, "?"), expected, sizeof(expected));
        spill_demangle(spill_tracetext_name(trace, d->found, "?"), found, sizeof(found));
        fprintf(out, "               iteration %u, op %u: %s instead of %s\n", d->iteration, d->op,
                found, expected);
    }
}

static void print_head(const struct spill_trace *trace, FILE *out)
{
    char text[SIZE_TEXT];
    struct spill_timeline time;
    if (spill_timeline_sum(trace, &time) != SPILL_OK)
        return;
    fprintf(out, "%s on %s, %s\n", spill_tracetext_name(trace, trace->program, "(unnamed program)"),
            spill_tracetext_name(trace, trace->device_name, "(unnamed device)"),
            spill_size_format(trace->gpu_bytes, text, sizeof(text)));
    if (trace->iterations > 0)
        fprintf(out, "  iterations   %u alike, each %u ops in %.3f ms\n", trace->iterations,
                trace->op_count, ms(trace->step_ns));
    else
        fprintf(out,
                "  iterations   none found that repeats: below is the whole run, %u ops in %.3f "
                "ms\n",
                trace->op_count, ms(trace->step_ns));
    print_differences(trace, out);
    fprintf(out, "  GPU time     busy %.3f ms", ms(time.busy_ns));
    if (time.measured)
        fprintf(out, ", waiting for the host %.3f ms", ms(time.host_gap_ns));
    if (time.measured && trace->paged_bytes > 0)
        fprintf(out, ", for the pager %.3f ms", ms(time.page_gap_ns));
    fputc('\n', out);
    if (trace->paged_bytes > 0)
        fprintf(
            out,
            "  paged        %s in the iteration, which does not fit: the step is longer by that "
            "wait, its ops are not\n",
            spill_size_format(trace->paged_bytes, text, sizeof(text)));
    if (trace->log_max > 0) {
        fprintf(out, "  profiler     %s of memory",
                spill_size_format(trace->log_bytes, text, sizeof(text)));
        fprintf(out, ", %s at most\n", spill_size_format(trace->log_max, text, sizeof(text)));
    }
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

static bool names(const char *frame, size_t len, const char *text)
{
    const char *found = strstr(frame, text);
    return found != NULL && found < frame + len;
}

/* The innermost frames of a call site ("a in lib;b in prog;..."), each on its own line: the
 * runtime's own frame says nothing, nor do native ones where there are Python's, and beyond a few
 * nobody reads. */
static void print_site(const char *site, FILE *out)
{
    size_t all = strlen(site);
    bool python = strstr(site, ".py;") != NULL || (all > 3 && strcmp(site + all - 3, ".py") == 0);
    for (int shown = 0; *site != '\0' && shown < FRAMES;) {
        size_t len = strcspn(site, ";");
        bool is_python = len > 3 && strncmp(site + len - 3, ".py", 3) == 0;
        if (python ? is_python : !names(site, len, "in libcudart")) {
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
