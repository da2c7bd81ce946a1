/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "preload/base/size.h"
#include "tools/spillway/demangle.h"
#include "tools/spillway/facts.h"
#include "tools/spillway/textline.h"
#include "tools/spillway/tracetext.h"

/* With all that can be said, this is 40 lines. */
enum { LONGEST = 6, FRAMES = 3, DIFFERENCES = 2 };
enum { SIZE_TEXT = 24, NAME_COLUMNS = 40, IDLE_INDENT = 19 };

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* The name of op OP in COLUMNS columns. */
static char *op_text(const struct spill_trace *trace, uint32_t op, size_t columns, char *out)
{
    char name[SPILL_TRACETEXT_NAME];
    return spill_textline_clip(spill_tracetext_op(trace, op, name, sizeof(name)), columns, out);
}

/* BEFORE, FIRST, MIDDLE, SECOND and AFTER in one line: both names share the room that is left. */
static void print_names(FILE *out, int indent, const char *const fixed[3], const char *first,
                        const char *second)
{
    char texts[2][SPILL_TEXTLINE_BYTES];
    size_t room = SPILL_TEXTLINE_COLUMNS - (size_t)indent - strlen(fixed[0]) - strlen(fixed[1]) -
                  strlen(fixed[2]);
    size_t half = room / 2, a = strlen(first), b = strlen(second);
    a = a <= half ? a : b <= half ? room - b : half;
    fprintf(out, "%*s%s%s%s", indent, "", fixed[0], spill_textline_clip(first, a, texts[0]),
            fixed[1]);
    fprintf(out, "%s%s\n", spill_textline_clip(second, room - a, texts[1]), fixed[2]);
}

/* The first few of them: the same thing mostly comes again and again. */
static void print_differences(const struct spill_trace *trace, FILE *out)
{
    char expected[SPILL_TRACETEXT_NAME], found[SPILL_TRACETEXT_NAME], place[NAME_COLUMNS];
    for (uint32_t i = 0; i < trace->difference_count && i < DIFFERENCES; i++) {
        const struct spill_trace_difference *d = &trace->differences[i];
        spill_demangle(spill_tracetext_name(trace, d->expected, "?"), expected, sizeof(expected));
        spill_demangle(spill_tracetext_name(trace, d->found, "?"), found, sizeof(found));
        snprintf(place, sizeof(place), "iteration %u, op %u: ", d->iteration, d->op);
        print_names(out, SPILL_TEXTLINE_LABEL, (const char *const[]){place, " instead of ", ""},
                    found, expected);
    }
}

static void print_iterations(const struct spill_trace *trace, FILE *out)
{
    if (trace->iterations == 0) {
        spill_textline_print(out, "iterations",
                             "none found that repeats: below is the whole run, %u ops in %.3f ms",
                             trace->op_count, ms(trace->step_ns));
        return;
    }
    spill_textline_print(out, "iterations",
                         "%u of %" PRIu64 " watched alike (%.1f %%), each %u ops in %.3f ms",
                         trace->iterations, spill_facts_watched(trace),
                         100 * spill_facts_match(trace), trace->op_count, ms(trace->step_ns));
    print_differences(trace, out);
}

static void print_head(const struct spill_trace *trace, FILE *out)
{
    char program[SPILL_TEXTLINE_BYTES], device[SPILL_TEXTLINE_BYTES], text[2][SIZE_TEXT];
    struct spill_timesum time;
    if (spill_timeline_sum(trace, &time) != SPILL_OK)
        return;
    const char *name = spill_tracetext_name(trace, trace->program, "(unnamed program)");
    /* Of a long path, the end says most. */
    const char *slash = strlen(name) > NAME_COLUMNS ? strrchr(name, '/') : NULL;
    fprintf(out, "%s on %s, %s\n",
            spill_textline_clip(slash == NULL ? name : slash + 1, NAME_COLUMNS, program),
            spill_textline_clip(spill_tracetext_name(trace, trace->device_name, "(unnamed device)"),
                                NAME_COLUMNS - 16, device),
            spill_size_format(trace->gpu_bytes, text[0], SIZE_TEXT));
    print_iterations(trace, out);
    if (!time.measured)
        spill_textline_print(out, "GPU time", "busy %.3f ms", ms(time.busy_ns));
    else if (trace->paged_bytes == 0)
        spill_textline_print(out, "GPU time", "busy %.3f ms, waiting for the host %.3f ms",
                             ms(time.busy_ns), ms(time.host_gap_ns));
    else
        spill_textline_print(out, "GPU time",
                             "busy %.3f ms, waiting for the host %.3f ms, the pager %.3f ms",
                             ms(time.busy_ns), ms(time.host_gap_ns), ms(time.page_gap_ns));
    if (trace->paged_bytes > 0)
        spill_textline_print(out, "paged",
                             "%s in the iteration, which does not fit: the step is longer by that "
                             "wait, its ops are not",
                             spill_size_format(trace->paged_bytes, text[0], SIZE_TEXT));
    if (trace->log_max > 0)
        spill_textline_print(out, "profiler", "%s of memory, %s at most",
                             spill_size_format(trace->log_bytes, text[0], SIZE_TEXT),
                             spill_size_format(trace->log_max, text[1], SIZE_TEXT));
    if (trace->hooked_calls > 0)
        spill_textline_print(out, "hooks", "%" PRIu64 " driver calls seen up to this trace",
                             trace->hooked_calls);
}

static void print_pins(const struct spill_trace *trace, FILE *out)
{
    char text[512], size[SIZE_TEXT];
    uint64_t bytes[SPILL_TRACE_PIN_COUNT] = {0}, all = 0;
    uint32_t count[SPILL_TRACE_PIN_COUNT] = {0};
    size_t used = 0;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        count[trace->buffers[b].pin]++;
        bytes[trace->buffers[b].pin] += trace->buffers[b].bytes;
    }
    for (unsigned pin = SPILL_TRACE_UNPINNED + 1; pin < SPILL_TRACE_PIN_COUNT; pin++)
        if (count[pin] > 0) {
            all += bytes[pin];
            used += (size_t)snprintf(
                text + used, sizeof(text) - used, "%s%s %s", used == 0 ? "" : ", ",
                spill_size_format(bytes[pin], size, SIZE_TEXT), spill_tracetext_pin(pin));
        }
    if (used > 0)
        spill_textline_print(out, "pinned", "%u of them (%s), never moved: %s",
                             trace->buffer_count - count[SPILL_TRACE_UNPINNED],
                             spill_size_format(all, size, SIZE_TEXT), text);
}

static void print_memory(const struct spill_trace *trace, FILE *out)
{
    char text[2][SIZE_TEXT], name[SPILL_TEXTLINE_BYTES];
    uint64_t bytes[2] = {0, 0}, largest;
    uint32_t count[2] = {0, 0};
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        count[trace->buffers[b].life]++;
        bytes[trace->buffers[b].life] += trace->buffers[b].bytes;
    }
    spill_textline_print(out, "buffers",
                         "%u: %u persistent (%s), %u of one iteration (%s together)",
                         trace->buffer_count, count[SPILL_TRACE_PERSISTENT],
                         spill_size_format(bytes[SPILL_TRACE_PERSISTENT], text[0], SIZE_TEXT),
                         count[SPILL_TRACE_ITERATION],
                         spill_size_format(bytes[SPILL_TRACE_ITERATION], text[1], SIZE_TEXT));
    print_pins(trace, out);
    spill_textline_print(out, "peak", "%s, and %s of buffers below one page",
                         spill_size_format(trace->peak_bytes, text[0], SIZE_TEXT),
                         spill_size_format(trace->small_bytes, text[1], SIZE_TEXT));
    uint32_t op = spill_idle_largest_op(trace, &largest);
    if (op != SPILL_TRACE_NONE)
        spill_textline_print(out, "largest op", "%s: %s needs that much at once",
                             spill_size_format(largest, text[0], SIZE_TEXT),
                             op_text(trace, op, 28, name));
    if (trace->out.bytes_per_s > 0 && trace->in.bytes_per_s > 0)
        spill_textline_print(out, "links", "%.1f GB/s to the host, %.1f GB/s to the GPU",
                             (double)trace->out.bytes_per_s / 1e9,
                             (double)trace->in.bytes_per_s / 1e9);
}

static bool is_python(const struct spill_siteframe *frame)
{
    return frame->len > 3 && strncmp(frame->text + frame->len - 3, ".py", 3) == 0;
}

static bool has_python(const char *site)
{
    struct spill_siteframe frame;
    while (spill_tracetext_frame(&site, &frame))
        if (is_python(&frame))
            return true;
    return false;
}

/* The innermost frames of a call site: the runtime's own says nothing, nor do native ones where
 * there are Python's, and beyond a few nobody reads. */
static void print_site(const char *site, FILE *out)
{
    char text[FRAMES * 2 * SPILL_TRACETEXT_NAME + 64], line[SPILL_TEXTLINE_BYTES];
    bool python = has_python(site);
    struct spill_siteframe frame;
    size_t used = 0;
    for (int shown = 0; shown < FRAMES && spill_tracetext_frame(&site, &frame);) {
        if (python ? !is_python(&frame) : strncmp(frame.module, "libcudart", 9) == 0)
            continue;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 shown++ == 0 ? "at " : " < ", frame.name);
        if (frame.offset != 0)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "+0x%" PRIx64, frame.offset);
        if (frame.module[0] != '\0')
            used += (size_t)snprintf(text + used, sizeof(text) - used, " in %s", frame.module);
    }
    if (used > 0)
        fprintf(out, "%*s%s\n", IDLE_INDENT, "",
                spill_textline_clip(text, SPILL_TEXTLINE_COLUMNS - IDLE_INDENT, line));
}

static void print_gap(const struct spill_trace *trace, const struct spill_idle *idle, FILE *out)
{
    const struct spill_trace_buffer *buffer = &trace->buffers[idle->buffer];
    const char *pin = spill_tracetext_pin(buffer->pin);
    char size[SIZE_TEXT], after[NAME_COLUMNS], before[NAME_COLUMNS];
    char from[SPILL_TRACETEXT_NAME], to[SPILL_TRACETEXT_NAME];
    fprintf(out, "%12.3f ms  %10s  %s%s%s\n", ms(idle->ns),
            spill_size_format(buffer->bytes, size, sizeof(size)),
            spill_tracetext_life(buffer->life),
            pin == NULL ? "" : ", pinned: ", pin == NULL ? "" : pin);
    if (idle->after_op == SPILL_TRACE_NONE) {
        fprintf(out, "%*snot used in the iteration\n", IDLE_INDENT, "");
    } else {
        snprintf(after, sizeof(after), " (op %u) to ", idle->after_op);
        snprintf(before, sizeof(before), " (op %u%s)", idle->before_op,
                 idle->before_op <= idle->after_op ? " of the next" : "");
        print_names(out, IDLE_INDENT, (const char *const[]){"from ", after, before},
                    spill_tracetext_op(trace, idle->after_op, from, sizeof(from)),
                    spill_tracetext_op(trace, idle->before_op, to, sizeof(to)));
    }
    print_site(spill_tracetext_name(trace, buffer->site, ""), out);
}

static void print_idle(const struct spill_trace *trace, FILE *out)
{
    struct spill_idle *idle;
    char size[SIZE_TEXT];
    uint64_t bytes = 0;
    uint32_t others = 0;
    if (spill_idle_find(trace, &idle) != SPILL_OK)
        return;
    fprintf(out, "  longest idle (size x time between two uses)\n");
    for (uint32_t i = 0; i < trace->buffer_count && idle[i].ns > 0; i++) {
        if (i < LONGEST) {
            print_gap(trace, &idle[i], out);
            continue;
        }
        others++;
        bytes += trace->buffers[idle[i].buffer].bytes;
    }
    if (others > 0)
        fprintf(out, "       and %u more, %s together\n", others,
                spill_size_format(bytes, size, sizeof(size)));
    free(idle);
}

bool spill_summary_print(const struct spill_trace *trace, FILE *out)
{
    print_head(trace, out);
    print_memory(trace, out);
    print_idle(trace, out);
    return !ferror(out);
}
