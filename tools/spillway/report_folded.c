/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites as folded stacks ("outer;inner 123"), which flamegraph.pl, inferno and speedscope
 * read: weighted by bytes, or by bytes times seconds idle. Equal stacks may stand on several lines;
 * their readers add them up. */
#include "tools/spillway/facts.h"

#include <inttypes.h>
#include <string.h>

#include "tools/spillway/tracetext.h"

enum { DEEPEST = 64 };

/* Semicolons part frames and a line is a stack. */
static void print_frame(const struct spill_siteframe *frame, FILE *out)
{
    for (const char *p = frame->name; *p != '\0'; p++)
        fputc(*p == ';' || *p == '\n' ? '_' : *p, out);
    if (frame->module[0] != '\0')
        fprintf(out, " in %s", frame->module);
}

static void print_stack(const char *site, FILE *out)
{
    const char *starts[DEEPEST];
    struct spill_siteframe frame;
    int depth = 0;
    for (const char *next = site; depth < DEEPEST;) {
        starts[depth] = next;
        if (!spill_tracetext_frame(&next, &frame))
            break;
        depth++;
    }
    if (depth == 0)
        fputs("(no call site)", out);
    for (int i = depth - 1; i >= 0; i--) {
        const char *next = starts[i];
        (void)spill_tracetext_frame(&next, &frame);
        print_frame(&frame, out);
        if (i > 0)
            fputc(';', out);
    }
}

static bool print_all(const struct spill_facts *facts, bool idle, FILE *out)
{
    for (uint32_t b = 0; b < facts->trace->buffer_count; b++) {
        const struct spill_trace_buffer *buffer = &facts->trace->buffers[b];
        double idle_weight = (double)buffer->bytes * (double)facts->idle[b].total_ns / 1e9;
        uint64_t weight = !idle                ? buffer->bytes
                          : idle_weight < 1e18 ? (uint64_t)(idle_weight + 0.5)
                                               : UINT64_C(1000000000000000000);
        if (weight == 0)
            continue;
        print_stack(spill_tracetext_name(facts->trace, buffer->site, ""), out);
        fprintf(out, " %" PRIu64 "\n", weight);
    }
    return !ferror(out);
}

bool spill_report_folded(const struct spill_facts *facts, FILE *out)
{
    return print_all(facts, false, out);
}

bool spill_report_folded_idle(const struct spill_facts *facts, FILE *out)
{
    return print_all(facts, true, out);
}
