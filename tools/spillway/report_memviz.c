/* SPDX-License-Identifier: Apache-2.0 */
/* A memory snapshot as torch.cuda.memory._dump_snapshot() writes it, for pytorch.org/memory_viz and
 * torch/cuda/_memory_viz.py: one segment with one block for each buffer. The viewer knows no
 * border: what lives at the iteration's start is allocated by its first events. */
#include "tools/spillway/facts.h"

#include <stdlib.h>

#include "tools/spillway/pickle.h"
#include "tools/spillway/tracetext.h"

struct snapshot {
    const struct spill_facts *facts;
    FILE *out;
    bool *site_known; /* by offset in names: its frames were written and kept */
    bool none_known;
};

static void write_frame_list(const char *site, FILE *out)
{
    struct spill_siteframe frame;
    char name[SPILL_TRACETEXT_NAME + 24];
    spill_pickle_list(out);
    while (spill_tracetext_frame(&site, &frame)) {
        if (frame.offset != 0)
            snprintf(name, sizeof(name), "%s+0x%llx", frame.name, (unsigned long long)frame.offset);
        else
            snprintf(name, sizeof(name), "%s", frame.name);
        spill_pickle_dict(out);
        spill_pickle_text_item(out, "filename", frame.module);
        spill_pickle_int_item(out, "line", 0);
        spill_pickle_text_item(out, "name", name);
        spill_pickle_append(out);
    }
}

/* "frames": the call site of BUFFER. Written once for each site and then referred to. */
static void write_frames(struct snapshot *s, uint32_t buffer)
{
    const struct spill_trace *trace = s->facts->trace;
    uint32_t site = trace->buffers[buffer].site;
    bool *known = site == SPILL_TRACE_NONE ? &s->none_known : &s->site_known[site];
    uint32_t number = site == SPILL_TRACE_NONE ? trace->name_bytes : site;
    spill_pickle_text(s->out, "frames");
    if (*known) {
        spill_pickle_again(s->out, number);
    } else {
        write_frame_list(spill_tracetext_name(trace, site, ""), s->out);
        spill_pickle_keep(s->out, number);
        *known = true;
    }
    spill_pickle_set(s->out);
}

static void write_event(struct snapshot *s, const char *action, uint32_t buffer, uint64_t size,
                        uint64_t ns)
{
    spill_pickle_dict(s->out);
    spill_pickle_text_item(s->out, "action", action);
    spill_pickle_int_item(s->out, "addr", s->facts->trace->buffers[buffer].address);
    spill_pickle_int_item(s->out, "size", size);
    spill_pickle_int_item(s->out, "stream", 0);
    spill_pickle_int_item(s->out, "time_us", ns / 1000);
    write_frames(s, buffer);
    spill_pickle_append(s->out);
}

static void write_alloc(struct snapshot *s, uint32_t b, uint64_t ns)
{
    uint64_t bytes = s->facts->trace->buffers[b].bytes;
    write_event(s, "segment_alloc", b, spill_idle_pages(s->facts->trace, bytes), ns);
    write_event(s, "alloc", b, bytes, ns);
}

static void write_free(struct snapshot *s, uint32_t b, uint64_t ns)
{
    uint64_t bytes = s->facts->trace->buffers[b].bytes;
    write_event(s, "free_requested", b, bytes, ns);
    write_event(s, "free_completed", b, bytes, ns);
    write_event(s, "segment_free", b, spill_idle_pages(s->facts->trace, bytes), ns);
}

static void write_segment(struct snapshot *s, uint32_t b)
{
    const struct spill_trace_buffer *buffer = &s->facts->trace->buffers[b];
    uint64_t pages = spill_idle_pages(s->facts->trace, buffer->bytes);
    spill_pickle_dict(s->out);
    spill_pickle_int_item(s->out, "device", 0);
    spill_pickle_int_item(s->out, "address", buffer->address);
    spill_pickle_int_item(s->out, "total_size", pages);
    spill_pickle_int_item(s->out, "allocated_size", pages);
    spill_pickle_int_item(s->out, "active_size", pages);
    spill_pickle_int_item(s->out, "requested_size", buffer->bytes);
    spill_pickle_int_item(s->out, "stream", 0);
    spill_pickle_text_item(s->out, "segment_type", "large");
    write_frames(s, b);
    spill_pickle_text(s->out, "blocks");
    spill_pickle_list(s->out);
    spill_pickle_dict(s->out);
    spill_pickle_int_item(s->out, "address", buffer->address);
    spill_pickle_int_item(s->out, "size", pages);
    spill_pickle_int_item(s->out, "requested_size", buffer->bytes);
    spill_pickle_text_item(s->out, "state", "active_allocated");
    write_frames(s, b);
    spill_pickle_append(s->out);
    spill_pickle_set(s->out);
    spill_pickle_append(s->out);
}

static void write_device_traces(struct snapshot *s)
{
    const struct spill_facts *facts = s->facts;
    spill_pickle_text(s->out, "device_traces");
    spill_pickle_list(s->out);
    spill_pickle_list(s->out);
    for (uint32_t b = 0; b < facts->trace->buffer_count; b++)
        if (facts->line.at_border[b])
            write_alloc(s, b, 0);
    for (uint32_t i = 0; i < facts->line.event_count; i++) {
        const struct spill_lifeline_event *event = &facts->line.events[i];
        if (event->frees)
            write_free(s, event->buffer, facts->start[event->op]);
        else
            write_alloc(s, event->buffer, facts->start[event->op]);
    }
    spill_pickle_append(s->out);
    spill_pickle_set(s->out);
}

bool spill_report_memory_viz(const struct spill_facts *facts, FILE *out)
{
    struct snapshot s = {.facts = facts, .out = out};
    s.site_known = calloc((size_t)facts->trace->name_bytes + 1, sizeof(*s.site_known));
    if (s.site_known == NULL)
        return false;
    spill_pickle_begin(out);
    spill_pickle_dict(out);
    write_device_traces(&s);
    spill_pickle_text(out, "segments");
    spill_pickle_list(out);
    /* What lives at the end of the iteration is what lived at its start. */
    for (uint32_t b = 0; b < facts->trace->buffer_count; b++)
        if (facts->line.at_border[b])
            write_segment(&s, b);
    spill_pickle_set(out);
    spill_pickle_text(out, "allocator_settings");
    spill_pickle_dict(out);
    spill_pickle_set(out);
    spill_pickle_end(out);
    free(s.site_known);
    return !ferror(out);
}
