/* SPDX-License-Identifier: Apache-2.0 */
/* A forecast as JSON: what the page draws, to the last number. */
#include "tools/spillway/forecast.h"

#include "tools/spillway/tracetext.h"

enum { NAME_TEXT = 64 };

static void write_budget(const struct spill_forecast *f, struct spill_json *json)
{
    spill_json_open(json, "budget", '{', false);
    spill_json_count(json, "gpu_bytes", f->gpu_bytes);
    spill_json_text(json, "why", f->why);
    if (f->host_bytes == UINT64_MAX)
        spill_json_text(json, "host_bytes", NULL);
    else
        spill_json_count(json, "host_bytes", f->host_bytes);
    spill_json_close(json);
    spill_json_open(json, "smallest", '{', false);
    if (f->least.gpu_bytes == UINT64_MAX)
        spill_json_text(json, "gpu_bytes", NULL);
    else
        spill_json_count(json, "gpu_bytes", f->least.gpu_bytes);
    spill_forecast_json_op(json, f->facts->trace, "op", f->least.op);
    spill_json_close(json);
}

static void write_curve(const struct spill_forecast *f, struct spill_json *json)
{
    spill_planrow_json_row(json, "plan", &f->row);
    spill_planrow_json_row(json, "unlimited", &f->whole);
    spill_json_open(json, "curve", '[', true);
    for (uint32_t i = 0; i < f->curve_count; i++)
        spill_planrow_json_row(json, NULL, &f->curve[i]);
    spill_json_close(json);
    spill_json_open(json, "cards", '[', true);
    for (int i = 0; i < SPILL_FORECAST_CARDS; i++) {
        spill_json_open(json, NULL, '{', false);
        spill_json_count(json, "gib", f->cards[i].gib);
        spill_json_count(json, "gpu_bytes", f->cards[i].gpu_bytes);
        spill_json_bool(json, "fits", f->cards[i].fits);
        if (f->cards[i].step_ns == 0)
            spill_json_text(json, "step_ns", NULL);
        else
            spill_json_count(json, "step_ns", f->cards[i].step_ns);
        spill_json_close(json);
    }
    spill_json_close(json);
}

static void write_classes(const struct spill_forecast *f, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    uint64_t bytes[SPILL_BUFCLASS_COUNT] = {[SPILL_BUFCLASS_SMALL] = trace->small_bytes};
    uint32_t count[SPILL_BUFCLASS_COUNT] = {0};
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        enum spill_bufclass c = spill_facts_class(f->facts, b);
        count[c]++;
        bytes[c] += spill_idle_pages(trace, trace->buffers[b].bytes);
    }
    spill_json_open(json, "classes", '[', true);
    for (int c = 0; c < SPILL_BUFCLASS_COUNT; c++) {
        spill_json_open(json, NULL, '{', false);
        spill_json_text(json, "class", spill_bufclass_key(c));
        spill_json_text(json, "label", spill_bufclass_label(c));
        spill_json_count(json, "buffers", count[c]);
        spill_json_count(json, "page_bytes", bytes[c]);
        spill_json_close(json);
    }
    spill_json_close(json);
}

/* Column by column, so that each is an array a chart takes as it is. */
static void write_holding(const struct spill_forecast *f, const char *key,
                          const struct spill_holding *holding, struct spill_json *json)
{
    char name[NAME_TEXT];
    if (holding->count == 0) {
        spill_json_text(json, key, NULL);
        return;
    }
    spill_json_open(json, key, '{', true);
    spill_json_count(json, "length_ns", holding->length_ns);
    spill_json_count(json, "peak_bytes", holding->peak_bytes);
    spill_json_count(json, "peak_at_ns", holding->peak_ns);
    spill_json_bool(json, "decimated", holding->decimated);
    spill_json_open(json, "ns", '[', false);
    for (uint32_t i = 0; i < holding->count; i++)
        spill_json_count(json, NULL, holding->points[i].ns);
    spill_json_close(json);
    spill_json_open(json, "op", '[', false);
    for (uint32_t i = 0; i < holding->count; i++)
        spill_json_text(
            json, NULL,
            spill_tracetext_op(f->facts->trace, holding->points[i].op, name, sizeof(name)));
    spill_json_close(json);
    spill_json_open(json, "bytes", '{', true);
    for (int c = 0; c < SPILL_BUFCLASS_COUNT; c++) {
        spill_json_open(json, spill_bufclass_key(c), '[', false);
        for (uint32_t i = 0; i < holding->count; i++)
            spill_json_count(json, NULL, holding->points[i].bytes[c]);
        spill_json_close(json);
    }
    spill_json_close(json);
    spill_json_close(json);
}

static void write_lanes(const struct spill_forecast *f, struct spill_json *json)
{
    static const char *const names[SPILL_LANES_COUNT] = {"out", "in", "wait"};
    if (f->after.count == 0) {
        spill_json_text(json, "lanes", NULL);
        return;
    }
    spill_json_open(json, "lanes", '{', true);
    for (int l = 0; l < SPILL_LANES_COUNT; l++) {
        const struct spill_lane *lane = &f->lanes[l];
        spill_json_open(json, names[l], '{', false);
        spill_json_count(json, "busy_ns", lane->busy_ns);
        spill_json_bool(json, "decimated", lane->decimated);
        spill_json_open(json, "from_to_permille", '[', false);
        for (uint32_t i = 0; i < lane->count; i++) {
            spill_json_open(json, NULL, '[', false);
            spill_json_count(json, NULL, lane->spans[i].from_ns);
            spill_json_count(json, NULL, lane->spans[i].to_ns);
            spill_json_count(json, NULL, lane->spans[i].permille);
            spill_json_close(json);
        }
        spill_json_close(json);
        spill_json_close(json);
    }
    spill_json_close(json);
}

static void write_trust(const struct spill_forecast *f, struct spill_json *json)
{
    const struct spill_trace *trace = f->facts->trace;
    uint32_t kinds[8] = {0}, modes[4] = {0}, pins[SPILL_TRACE_PIN_COUNT] = {0}, blind = 0,
             sites = 0;
    uint64_t pinned[SPILL_TRACE_PIN_COUNT] = {0};
    for (uint32_t k = 0; k < trace->op_count; k++) {
        kinds[trace->ops[k].kind < 7 ? trace->ops[k].kind : 7]++;
        blind += trace->ops[k].kind == 0 && trace->ops[k].access_count == 0;
    }
    for (uint32_t a = 0; a < trace->access_count; a++)
        modes[trace->accesses[a].mode < 3 ? trace->accesses[a].mode : 3]++;
    for (uint32_t b = 0; b < trace->buffer_count; b++) {
        pins[trace->buffers[b].pin]++;
        pinned[trace->buffers[b].pin] += trace->buffers[b].bytes;
        sites += trace->buffers[b].site != SPILL_TRACE_NONE;
    }
    spill_json_open(json, "trust", '{', true);
    spill_json_open(json, "ops", '[', false);
    for (uint32_t i = 0; i < 8; i++) {
        if (kinds[i] == 0)
            continue;
        spill_json_open(json, NULL, '{', false);
        spill_json_text(json, "kind", spill_tracetext_kind(i));
        spill_json_count(json, "count", kinds[i]);
        spill_json_close(json);
    }
    spill_json_close(json);
    spill_json_count(json, "kernels_without_buffers", blind);
    spill_json_open(json, "accesses", '[', false);
    for (uint32_t i = 0; i < 4; i++) {
        if (modes[i] == 0)
            continue;
        spill_json_open(json, NULL, '{', false);
        spill_json_text(json, "mode", spill_tracetext_mode(i));
        spill_json_count(json, "count", modes[i]);
        spill_json_close(json);
    }
    spill_json_close(json);
    spill_json_open(json, "pinned", '[', false);
    for (uint32_t i = SPILL_TRACE_UNPINNED + 1; i < SPILL_TRACE_PIN_COUNT; i++) {
        if (pins[i] == 0)
            continue;
        spill_json_open(json, NULL, '{', false);
        spill_json_text(json, "reason", spill_tracetext_pin(i));
        spill_json_count(json, "buffers", pins[i]);
        spill_json_count(json, "bytes", pinned[i]);
        spill_json_close(json);
    }
    spill_json_close(json);
    spill_json_count(json, "buffers_with_call_site", sites);
    spill_json_bool(json, "links_measured",
                    trace->out.bytes_per_s > 0 && trace->in.bytes_per_s > 0);
    spill_json_bool(json, "duplex_measured", trace->duplex_permille > 0);
    spill_json_close(json);
}

void spill_forecast_json(const struct spill_forecast *forecast, struct spill_json *json)
{
    char verdict[SPILL_FORECAST_TEXT];
    spill_json_text(json, "verdict", spill_forecast_verdict(forecast, verdict, sizeof(verdict)));
    write_budget(forecast, json);
    write_curve(forecast, json);
    write_classes(forecast, json);
    write_holding(forecast, "before", &forecast->before, json);
    write_holding(forecast, "after", &forecast->after, json);
    write_lanes(forecast, json);
    spill_forecast_json_tables(forecast, json);
    write_trust(forecast, json);
    if (forecast->achieved != NULL)
        spill_json_raw(json, "achieved", forecast->achieved);
    else
        spill_json_text(json, "achieved", NULL);
}
