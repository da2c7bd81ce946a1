/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "preload/base/log.h"
#include "preload/base/size.h"
#include "tools/spillway/tracetext.h"

enum { SIZE_TEXT = 24, NAME_TEXT = 80 };
#define GIB (UINT64_C(1) << 30)

/* Memory sizes of the cards that people train on. The driver and the CUDA context take some of it:
 * half a GiB is what current ones take at most before the first allocation. */
static const uint32_t card_gib[SPILL_FORECAST_CARDS] = {6, 8, 12, 16, 24, 32, 40, 48, 80, 96, 141};
#define CARD_RESERVED (GIB / 2)

static uint64_t need(const struct spill_forecast *forecast)
{
    return forecast->before.peak_bytes;
}

/* Each point of a curve is a plan, whose cost grows faster than the trace and its memory: beyond
 * some seconds people want to be asked. */
enum { POINTS = 12, MANY_OPS = 2000, MOST_OPS = 10000, MANY_PAGES = 8192 };

static uint32_t default_points(const struct spill_forecast *forecast)
{
    const struct spill_trace *trace = forecast->facts->trace;
    if (trace->op_count > MOST_OPS)
        return 0;
    return trace->op_count > MANY_OPS || need(forecast) / trace->page_bytes > MANY_PAGES
               ? POINTS / 2
               : POINTS;
}

/* Without an order: the budget in which something has to be moved, and of these one that people
 * have. */
static void choose_budget(struct spill_forecast *forecast, uint64_t asked)
{
    const struct spill_trace *trace = forecast->facts->trace;
    uint64_t had = spill_planrow_budget(trace);
    uint64_t least = forecast->least.gpu_bytes, page = trace->page_bytes;
    forecast->gpu_bytes = asked;
    snprintf(forecast->why, sizeof(forecast->why), "as asked");
    if (asked != 0)
        return;
    if (had != 0 && had < need(forecast)) {
        forecast->gpu_bytes = had;
        snprintf(forecast->why, sizeof(forecast->why), "what the program had when profiled");
        return;
    }
    for (int i = SPILL_FORECAST_CARDS - 1; i >= 0; i--) {
        const struct spill_forecast_card *card = &forecast->cards[i];
        if (card->gpu_bytes >= need(forecast) || card->gpu_bytes < least)
            continue;
        forecast->gpu_bytes = card->gpu_bytes;
        snprintf(forecast->why, sizeof(forecast->why),
                 "a %u GB card, the largest that is too small", card->gib);
        return;
    }
    forecast->gpu_bytes = need(forecast) / 2 / page * page;
    snprintf(forecast->why, sizeof(forecast->why), "half of what it needs");
    if (forecast->gpu_bytes >= least || least == UINT64_MAX)
        return;
    forecast->gpu_bytes = least;
    snprintf(forecast->why, sizeof(forecast->why), "the least that any plan can do with");
}

static void name_cards(struct spill_forecast *forecast)
{
    for (int i = 0; i < SPILL_FORECAST_CARDS; i++)
        forecast->cards[i] = (struct spill_forecast_card){
            .gib = card_gib[i], .gpu_bytes = card_gib[i] * GIB - CARD_RESERVED};
}

/* What each card would do, as far as the curve tells. */
static void judge_cards(struct spill_forecast *forecast)
{
    for (int i = 0; i < SPILL_FORECAST_CARDS; i++) {
        struct spill_forecast_card *card = &forecast->cards[i];
        card->fits = card->gpu_bytes >= forecast->least.gpu_bytes;
        if (card->gpu_bytes >= forecast->whole.peak_bytes)
            card->step_ns = forecast->whole.step_ns;
        for (uint32_t r = 0; r < forecast->curve_count; r++)
            if (forecast->curve[r].fits && forecast->curve[r].gpu_bytes == card->gpu_bytes)
                card->step_ns = forecast->curve[r].step_ns;
    }
}

static enum spill_status build_curve(struct spill_forecast *forecast, int asked)
{
    const struct spill_trace *trace = forecast->facts->trace;
    uint32_t points = asked < 0 ? default_points(forecast) : (uint32_t)asked;
    uint64_t extra[SPILL_FORECAST_CARDS + 1];
    uint32_t count = 0;
    bool own = false;
    if (points < 2 || forecast->least.gpu_bytes == UINT64_MAX)
        return SPILL_OK;
    for (int i = 0; i < SPILL_FORECAST_CARDS; i++) {
        if (!own && forecast->gpu_bytes <= forecast->cards[i].gpu_bytes) {
            own = true;
            extra[count++] = forecast->gpu_bytes;
        }
        if (forecast->cards[i].gpu_bytes != forecast->gpu_bytes)
            extra[count++] = forecast->cards[i].gpu_bytes;
    }
    if (!own)
        extra[count++] = forecast->gpu_bytes;
    forecast->curve_count =
        spill_plancurve_solve(trace, forecast->host_bytes, "ours", &forecast->least,
                              &forecast->whole, points, extra, count, forecast->curve);
    return forecast->curve_count > 0 ? SPILL_OK : SPILL_ERR_INVAL;
}

static enum spill_status build_plan(struct spill_forecast *forecast)
{
    const struct spill_facts *facts = forecast->facts;
    enum spill_status status =
        spill_planrow_keep(facts->trace, forecast->gpu_bytes, forecast->host_bytes, "ours",
                           &forecast->row, &forecast->planned);
    if (status != SPILL_OK || !forecast->row.fits)
        return status;
    status = spill_holding_after(facts, &forecast->planned, &forecast->after);
    if (status == SPILL_OK)
        status = spill_lanes_build(&forecast->planned, forecast->lanes);
    if (status != SPILL_OK)
        spill_log(SPILL_LOG_ERROR, "out of memory");
    return status;
}

enum spill_status spill_forecast_build(const struct spill_facts *facts,
                                       const struct spill_forecast_ask *ask,
                                       struct spill_forecast *forecast)
{
    const struct spill_trace *trace = facts->trace;
    memset(forecast, 0, sizeof(*forecast));
    forecast->facts = facts;
    forecast->achieved = ask->achieved;
    forecast->host_bytes = ask->host_bytes != 0 ? ask->host_bytes : UINT64_MAX;
    enum spill_status status = spill_planrow_least(trace, forecast->host_bytes, &forecast->least);
    if (status != SPILL_OK)
        return status;
    status = spill_holding_before(facts, &forecast->before);
    if (status != SPILL_OK) {
        spill_log(SPILL_LOG_ERROR, "out of memory");
        return status;
    }
    name_cards(forecast);
    choose_budget(forecast, ask->gpu_bytes);
    status = build_plan(forecast);
    if (status == SPILL_OK)
        status = spill_planrow_solve(trace, spill_planrow_most(trace), forecast->host_bytes, "ours",
                                     &forecast->whole);
    if (status == SPILL_OK)
        status = build_curve(forecast, ask->points);
    judge_cards(forecast);
    return status;
}

void spill_forecast_free(struct spill_forecast *forecast)
{
    spill_planrow_release(&forecast->planned);
    spill_holding_free(&forecast->before);
    spill_holding_free(&forecast->after);
    spill_lanes_free(forecast->lanes);
}

static void describe_cost(const struct spill_planrow *row, char *out, size_t out_len)
{
    double percent =
        row->ideal_ns == 0 ? 0 : ((double)row->step_ns / (double)row->ideal_ns - 1) * 100;
    if (percent < 0.05)
        snprintf(out, out_len, "as long as without a limit");
    else
        snprintf(out, out_len, "%.1f %% longer than without a limit", percent);
}

char *spill_forecast_verdict(const struct spill_forecast *forecast, char *out, size_t out_len)
{
    const struct spill_trace *trace = forecast->facts->trace;
    const struct spill_planrow *row = &forecast->row;
    const char *program = spill_tracetext_name(trace, trace->program, "The program");
    char peak[SIZE_TEXT], have[SIZE_TEXT], other[SIZE_TEXT], name[NAME_TEXT], cost[NAME_TEXT];
    const char *slash = strrchr(program, '/');
    program = slash != NULL ? slash + 1 : program;
    spill_size_format(need(forecast), peak, sizeof(peak));
    spill_size_format(forecast->gpu_bytes, have, sizeof(have));
    if (!row->fits && forecast->least.gpu_bytes == UINT64_MAX)
        snprintf(out, out_len,
                 "%s needs %s of GPU memory, and no plan exists within this pinned host memory.",
                 program, peak);
    else if (!row->fits)
        snprintf(
            out, out_len,
            "%s needs %s of GPU memory and cannot run within %s: %s (op %u) takes %s with all "
            "else moved away.",
            program, peak, have, spill_tracetext_op(trace, forecast->least.op, name, sizeof(name)),
            forecast->least.op, spill_size_format(forecast->least.gpu_bytes, other, SIZE_TEXT));
    else if (row->moves == 0 && row->parks == 0)
        snprintf(out, out_len, "%s needs %s of GPU memory and fits within %s as it is.", program,
                 peak, have);
    else {
        describe_cost(row, cost, sizeof(cost));
        snprintf(out, out_len,
                 "%s needs %s of GPU memory. Within %s a step is predicted to take %.2f ms, %s, "
                 "with %s of pinned host memory.",
                 program, peak, have, (double)row->step_ns / 1e6, cost,
                 spill_size_format(row->host_bytes, other, SIZE_TEXT));
    }
    return out;
}

uint64_t spill_forecast_move_bytes(const struct spill_forecast *forecast, uint32_t m)
{
    const struct spill_trace *trace = forecast->facts->trace;
    const struct spill_move *move = &forecast->planned.plan->moves[m];
    uint64_t bytes = move->page_count * trace->page_bytes;
    uint64_t left = trace->buffers[move->buffer].bytes - move->page_first * trace->page_bytes;
    return bytes < left ? bytes : left;
}

uint64_t spill_forecast_spare_ns(const struct spill_forecast *forecast, uint32_t m)
{
    const struct spill_plan *plan = forecast->planned.plan;
    const struct spill_move *move = &plan->moves[m];
    /* Of the iteration that launches the copy out, or of the next. */
    uint64_t use = forecast->planned.op_start[move->use_op] +
                   (move->use_op <= move->out_op ? plan->step_ns : 0);
    return use > move->in_end_ns ? use - move->in_end_ns : 0;
}
