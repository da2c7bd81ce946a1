/* SPDX-License-Identifier: Apache-2.0 */
/* What an observed iteration leads to: a trace, a plan, or both. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/outname.h"
#include "preload/base/size.h"
#include "profiler/iteration.h"
#include "profiler/timers.h"
#include "profiler/tracefile.h"
#include "replay/contents.h"
#include "replay/engine.h"

#define WATCHED_TIMES  8    /* iterations of one kind, after which a profile is complete, */
#define WATCHED_EVENTS 2000 /* if they were that many events */

static void describe(struct spill_engine *e, struct spill_iteration *it)
{
    struct spill_trace *trace = &it->trace;
    trace->out = e->links.out;
    trace->in = e->links.in;
    trace->duplex_permille = e->links.duplex_permille;
    trace->page_bytes = e->dev.page_bytes;
    trace->gpu_bytes = e->dev.gpu_bytes;
    trace->gpu_budget = e->dev.gpu_budget;
    trace->small_bytes = (uint64_t)e->dev.slab_pages << e->dev.page_shift;
    trace->log_bytes = spill_recorder_bytes(&e->rec);
    trace->log_max = e->rec.bytes_max;
    trace->hooked_calls = *e->hooked_calls;
    trace->device_name = spill_iteration_name(it, e->dev.name);
    trace->program = spill_iteration_name(it, program_invocation_name);
}

/* A further device's trace has its number before the last dot: x.trace, x.gpu1.trace. */
static const char *number_name(const struct spill_engine *e, const char *name, char *out,
                               size_t cap)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    size_t stem =
        dot != NULL && (slash == NULL || dot > slash) ? (size_t)(dot - name) : strlen(name);
    spill_fmt(out, stem + 1 < cap ? stem + 1 : cap, "%s", name);
    size_t n = strlen(out);
    spill_fmt(out + n, cap - n, ".gpu%d%s", (int)e->dev.ordinal, name + stem);
    return out;
}

static void write_trace(struct spill_engine *e, const struct spill_trace *trace)
{
    char path[1024], numbered[1024];
    const char *pattern = e->config->output[0] != '\0' ? e->config->output : "spillway.%p.trace";
    e->trace_written = true;
    if (e->numbered)
        pattern = number_name(e, pattern, numbered, sizeof(numbered));
    if (!spill_outname_expand_ranked(pattern, (int)getpid(), path, sizeof(path)))
        spill_log(SPILL_LOG_ERROR, "no trace: the name %s becomes too long", pattern);
    else if (spill_tracefile_write(path, trace) != SPILL_OK)
        spill_log(SPILL_LOG_ERROR, "cannot write the trace %s: %s", path, strerror(errno));
}

static bool trace_wanted(const struct spill_engine *e)
{
    return !e->trace_written &&
           (e->config->mode == SPILL_MODE_PROFILE || e->config->output[0] != '\0');
}

/* Profiling: what was learnt since the trace was written. */
static void complete_trace(struct spill_engine *e)
{
    struct spill_trace *trace = &e->watched.trace;
    if (e->follow.period == 0 ||
        (trace->iterations == e->follow.matched && trace->others == e->follow.others))
        return;
    trace->iterations = e->follow.matched;
    trace->others = e->follow.others;
    trace->log_bytes = spill_recorder_bytes(&e->rec);
    trace->hooked_calls = *e->hooked_calls;
    write_trace(e, trace);
}

void spill_engine_write_partial_trace(struct spill_engine *e)
{
    struct spill_iteration it;
    complete_trace(e);
    if (!trace_wanted(e) || e->rec.record_count == 0 ||
        spill_iteration_build(&it, &e->rec, &e->dev.buffers, 0) != SPILL_OK)
        return;
    describe(e, &it);
    write_trace(e, &it.trace);
    spill_iteration_free(&it);
    if (e->config->iteration[0] != '\0' && e->rec.mark_total == 0)
        spill_log(SPILL_LOG_WARN,
                  "nothing marked an iteration as SPILLWAY_ITERATION=%s says: the trace holds the "
                  "whole run",
                  e->config->iteration);
    else
        spill_log(SPILL_LOG_WARN,
                  "no repeating iteration was found: the trace holds the whole run");
}

/* The last PERIOD records as an iteration, with all that a trace says. */
static bool see_iteration(struct spill_engine *e, uint32_t period, struct spill_iteration *it)
{
    spill_contents_pin_unsettled(&e->dev);
    if (spill_device_drain(&e->dev) != CUDA_SUCCESS ||
        spill_contents_scan_slabs(&e->dev) != CUDA_SUCCESS ||
        spill_contents_scan_buffers(&e->dev, SPILL_CONTENTS_LIMIT) != CUDA_SUCCESS ||
        spill_pager_bring_pins(&e->dev) != CUDA_SUCCESS)
        return false;
    if (spill_iteration_build(it, &e->rec, &e->dev.buffers, period) != SPILL_OK)
        return false;
    e->planned_before_ns = spill_timers_elapsed(&e->rec, period);
    if (!e->links.measured)
        spill_calibrate(&e->dev, &e->links);
    describe(e, it);
    e->planned_period = period;
    e->planned_sum = spill_border_sum(&e->rec, period);
    e->planned_at = e->rec.record_count;
    return true;
}

/* Profiling: a loop at the program's start may repeat, too. The trace is of the iteration that the
 * program marks, or else that needs most memory; watching ends when one has come again often
 * enough.
 */
static bool better_watched(const struct spill_engine *e, const struct spill_iteration *it,
                           bool marked)
{
    if (!e->trace_written || marked != e->watched_marked)
        return !e->trace_written || marked;
    return it->trace.peak_bytes > e->watched.trace.peak_bytes;
}

static void watch(struct spill_engine *e, uint32_t period, bool marked)
{
    struct spill_iteration it;
    if (period == e->planned_period && spill_border_sum(&e->rec, period) == e->planned_sum) {
        uint32_t since = e->rec.record_count - e->planned_at;
        if (since >= WATCHED_TIMES * period && since >= WATCHED_EVENTS) {
            spill_engine_stop_recording(e);
            complete_trace(e);
        }
        return;
    }
    if (!see_iteration(e, period, &it))
        return;
    if (!better_watched(e, &it, marked) ||
        spill_follow_start(&e->follow, &e->rec, period) != SPILL_OK) {
        spill_iteration_free(&it);
        return;
    }
    spill_iteration_free(&e->watched);
    e->watched = it;
    e->watched_marked = marked;
    write_trace(e, &it.trace);
}

enum spill_status spill_engine_plan(struct spill_engine *e, struct spill_iteration *it,
                                    const struct spill_script *rival)
{
    uint32_t limit = spill_device_frame_limit(&e->dev);
    uint64_t frames = limit > e->dev.slab_pages ? limit - e->dev.slab_pages : 0;
    return spill_planner_start(e->planner, it, frames << e->dev.page_shift,
                               spill_hostpool_plannable(&e->dev.host), e->config->method, rival);
}

static void start_planning(struct spill_engine *e, uint32_t period)
{
    struct spill_iteration it;
    if (strcmp(e->config->method, "page") == 0 && !trace_wanted(e)) {
        spill_engine_give_up(e);
        return;
    }
    if (!spill_border_admit(&e->rec, period) || !see_iteration(e, period, &it))
        return;
    if (trace_wanted(e))
        write_trace(e, &it.trace);
    (void)spill_engine_plan(e, &it, NULL);
}

static void say_no_plan(const struct spill_engine *e)
{
    const struct spill_planner *planner = e->planner;
    char size[32];
    uint64_t slabs = (uint64_t)e->dev.slab_pages << e->dev.page_shift;
    if (planner->status == SPILL_ERR_INFEASIBLE &&
        planner->obstacle.bytes_needed <= planner->gpu_budget)
        spill_log_once(SPILL_LOG_WARN,
                       "no plan keeps within the %s of pinned host memory that may be used: raise "
                       "SPILLWAY_HOST_MEM (--host-mem); paging on demand, slowly",
                       spill_size_format(planner->host_budget, size, sizeof(size)));
    else if (planner->status == SPILL_ERR_INFEASIBLE)
        spill_log_once(
            SPILL_LOG_WARN,
            "no plan keeps within the GPU budget, the smallest one is %s: raise "
            "SPILLWAY_GPU_MEM (--gpu-mem); paging on demand, slowly",
            spill_size_format(planner->obstacle.bytes_needed + slabs, size, sizeof(size)));
    else
        spill_log_once(SPILL_LOG_WARN, "planning failed (%s); paging on demand, slowly",
                       spill_status_text(planner->status));
}

bool spill_engine_find_border(const struct spill_engine *e, struct spill_script *s)
{
    if (e->dev.buffers.live_count != s->border_buffers)
        return false;
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        const struct spill_trace_buffer *recorded = &s->it.trace.buffers[b];
        if (!s->buffers[b].at_border)
            continue;
        uint32_t slot = spill_bufmap_at(&e->dev.buffers, recorded->address);
        if (slot == SPILL_NO_BUFFER || e->dev.buffers.bufs[slot].bytes != recorded->bytes ||
            e->dev.buffers.bufs[slot].pin != recorded->pin)
            return false;
        s->buffers[b].live_slot = slot;
    }
    return true;
}

/* The planner has answered. */
static void take_plan(struct spill_engine *e, bool border)
{
    struct spill_planner *planner = e->planner;
    if (planner->status == SPILL_OK && planner->script == NULL) {
        spill_engine_stop_recording(e); /* it all fits: nothing to learn, nothing to move */
        e->paged_at_rest = e->dev.paged_out_bytes;
    } else if (planner->status == SPILL_OK && border &&
               spill_engine_find_border(e, planner->script)) {
        spill_engine_adopt(e, planner->script);
    } else if (planner->status == SPILL_OK) {
        spill_script_free(planner->script); /* the program went on otherwise meanwhile */
    } else if (planner->status == SPILL_ERR_INFEASIBLE && spill_planset_shed(e, NULL)) {
        /* Other plans hold host memory: without them it is tried again. */
        while (spill_planset_shed(e, NULL))
            ;
    } else {
        spill_engine_give_up(e);
        say_no_plan(e);
    }
}

/* A repetition is noticed wherever it happens to be complete; iterations of several kinds are to
 * meet at their borders. So they begin where least lives, and something is allocated next. */
static bool begins_here(const struct spill_recorder *rec, uint32_t period)
{
    const struct spill_logrec *first = &rec->records[rec->record_count - period];
    int64_t live = 0, least = 0; /* against now, backwards */
    bool any = false;
    for (uint32_t i = period; i-- > 0;) {
        any = any || first[i].kind != SPILL_LOGREC_OP;
        if (first[i].kind == SPILL_LOGREC_ALLOC)
            live -= (int64_t)first[i].bytes;
        else if (first[i].kind == SPILL_LOGREC_FREE)
            live += (int64_t)first[i].bytes;
        if (live < least)
            least = live;
    }
    return !any || (least == 0 && first->kind == SPILL_LOGREC_ALLOC);
}

/* Here the last PERIOD records end an iteration that repeats. */
static void at_repetition(struct spill_engine *e, uint32_t period, bool marked)
{
    if (e->config->mode == SPILL_MODE_PROFILE) {
        watch(e, period, marked);
        return;
    }
    if (!spill_feedback_drop(e))
        return; /* the planner is busy with what is no longer wanted */
    if (!e->planner->running && (marked || begins_here(&e->rec, period))) {
        if (spill_planset_resume(e, spill_border_sum(&e->rec, period)))
            return;
        start_planning(e, period);
    }
    if (!e->planner->running)
        return;
    /* Adopt only at the same place of the iteration at which the plan begins. */
    bool border = period == e->planned_period && e->rec.record_count >= e->planned_at &&
                  (e->rec.record_count - e->planned_at) % period == 0;
    if (!border && period == e->planned_period)
        return;
    uint64_t start = spill_account_clock();
    bool ready = spill_planner_join(e->planner, border ? e->config->plan_wait : 0);
    spill_account_held(&e->account, SPILL_STALL_PLANNING, start);
    if (ready)
        take_plan(e, border);
}

void spill_engine_recorded(struct spill_engine *e)
{
    spill_follow_event(&e->follow, &e->rec, &e->watched);
    uint32_t period = spill_border_period(&e->rec);
    if (e->hold > 0 && --e->hold == 0)
        e->rec.known_period = 0;
    if (period != 0)
        at_repetition(e, period, false);
}

void spill_engine_marked(struct spill_engine *e)
{
    uint32_t period = spill_border_mark(&e->rec);
    if (period != 0)
        at_repetition(e, period, true);
}
