/* SPDX-License-Identifier: Apache-2.0 */
/* From state to state. Everything here may wait for the device: it happens at starts, borders and
 * divergences, never on the planned path. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "profiler/iteration.h"
#include "profiler/tracefile.h"
#include "replay/contents.h"
#include "replay/engine.h"

#define GUARDED_ITERATIONS 2
#define SHORT_STRETCH      8 /* iterations: a plan that is left sooner may be part of a longer one */
#define LONGER_TIMES       24 /* how many of its iterations are then watched for it */
#define SCAN_BYTES         ((uint64_t)1 << 30) /* of buffers, once a plan: their contents are searched */

bool spill_engine_boot(struct spill_engine *e)
{
    if (spill_driver_complete() && spill_device_boot(&e->dev, &e->config) == SPILL_OK) {
        e->state = SPILL_STATE_OBSERVE;
        spill_engine_start_recording(e);
        return true;
    }
    spill_log_once(SPILL_LOG_WARN,
                   "this device's memory is not managed; passing everything through");
    e->state = SPILL_STATE_OFF;
    return false;
}

void spill_engine_start_recording(struct spill_engine *e)
{
    spill_recorder_reset(&e->rec);
    e->recording = e->config.mode == SPILL_MODE_OFFLOAD || !e->trace_written;
    e->rec.timing = e->recording;
}

const struct spill_iteration_event *spill_engine_expected(const struct spill_engine *e)
{
    const struct spill_script *s = e->perform.script;
    return s != NULL && e->cursor < s->it.event_count ? &s->it.events[e->cursor] : NULL;
}

/* --- entering a plan --- */

static void enter_guard(struct spill_engine *e)
{
    e->state = SPILL_STATE_GUARD;
    e->guard_left = GUARDED_ITERATIONS;
    e->cursor = e->ops_done = e->stretch = 0;
    e->recording = e->rec.timing = e->looked_longer = false;
    e->short_stretches = 0;
}

static void enter_replay(struct spill_engine *e)
{
    CUresult result = spill_perform_alias(&e->perform, &e->dev);
    e->state = SPILL_STATE_REPLAY;
    e->cursor = e->ops_done = e->stretch = 0;
    e->recording = e->rec.timing = e->shadowed = false;
    e->account.borders = 0; /* times are taken within one stretch of replayed iterations */
    if (result != CUDA_SUCCESS) {
        spill_log_once(SPILL_LOG_WARN, "mapping the plan's frames failed (%s); paging instead",
                       spill_driver_error(result));
        spill_engine_diverge(e, SPILL_REASON_MEMORY);
    }
}

/* No plan is to be had for this program: page on, and do not try again at every border. */
static void give_up(struct spill_engine *e)
{
    e->recording = e->rec.timing = false;
    e->gave_up = true;
}

/* The plan for the iteration whose border is now is ready: put it in force. */
static void adopt(struct spill_engine *e, struct spill_script *script)
{
    if (e->perform.script != NULL)
        spill_perform_drop(&e->perform, &e->dev);
    enum spill_status status = spill_perform_place(&e->perform, &e->dev, script, e->config.verify);
    if (status != SPILL_OK) {
        spill_log_once(SPILL_LOG_WARN,
                       "the plan needs %llu MiB of pinned host memory, which cannot be had (%s); "
                       "paging on demand instead, slowly",
                       (unsigned long long)(script->slab_bytes >> 20), spill_status_text(status));
        spill_script_free(script);
        give_up(e);
        return;
    }
    CUresult result = spill_perform_settle(&e->perform, &e->dev);
    if (result != CUDA_SUCCESS) {
        spill_log_once(SPILL_LOG_WARN, "the plan could not be put in force (%s); paging instead",
                       spill_driver_error(result));
        spill_perform_drop(&e->perform, &e->dev);
        give_up(e);
        return;
    }
    const struct spill_plan *plan = e->perform.script->plan;
    e->account.planned_step_ns = plan->step_ns;
    e->account.compute_ns = plan->compute_ns;
    e->account.planned_peak_bytes =
        ((uint64_t)(plan->frame_count + e->dev.slab_pages) << e->dev.page_shift) +
        e->dev.unmanaged_bytes;
    e->hold = e->rec.known_period = 0;
    e->script_sum = e->planned_sum;
    enter_guard(e);
    if (!e->account.started_said)
        spill_account_started(e);
    e->account.started_said = true;
}

void spill_engine_advance(struct spill_engine *e)
{
    if (++e->cursor < e->perform.script->it.event_count)
        return;
    e->cursor = e->ops_done = 0;
    e->stretch++;
    if (e->state == SPILL_STATE_REPLAY) {
        e->account.replayed++;
        return;
    }
    e->account.guarded++;
    if (--e->guard_left == 0)
        enter_replay(e);
}

/* --- leaving it --- */

/* Micro-steps between optimizer steps, or training steps between evaluations, are iterations of
 * their own and parts of a longer one, which a plan can follow from end to end. Watch for that one,
 * once a plan: meanwhile all is paged. */
static void look_longer(struct spill_engine *e)
{
    if (e->looked_longer)
        return;
    e->looked_longer = true;
    e->rec.known_period = e->perform.script->it.event_count;
    e->rec.known_sum = e->script_sum;
    e->hold = LONGER_TIMES * e->perform.script->it.event_count;
}

void spill_engine_diverge(struct spill_engine *e, enum spill_reason reason)
{
    CUresult result = spill_perform_release(&e->perform, &e->dev, e->ops_done);
    e->account.fallbacks[reason]++;
    e->open_op = SPILL_NO_EVENT;
    if (result != CUDA_SUCCESS) {
        spill_engine_break(e, result);
        return;
    }
    e->state = SPILL_STATE_OBSERVE;
    e->shadowed = true;
    e->cursor = e->ops_done = 0;
    spill_engine_start_recording(e);
    e->short_stretches = e->stretch < SHORT_STRETCH ? e->short_stretches + 1 : 0;
    if (e->short_stretches >= 2) /* once may be chance */
        look_longer(e);
    spill_log(SPILL_LOG_DEBUG, "left the plan (reason %u), paging", reason);
}

void spill_engine_break(struct spill_engine *e, CUresult result)
{
    /* Most often the program's own fault, which the driver now answers to every call. */
    spill_log(SPILL_LOG_ERROR, "stopping: %s while moving memory", spill_driver_error(result));
    e->state = SPILL_STATE_BROKEN;
    e->broken = result;
}

void spill_engine_become_resident(struct spill_engine *e)
{
    spill_log_once(
        SPILL_LOG_WARN,
        "the program uses CUDA graphs, whose buffers must stay where they are: everything "
        "stays resident from here on");
    e->state = SPILL_STATE_RESIDENT;
    e->recording = e->rec.timing = e->shadowed = false;
}

/* --- watching for a plan that was left --- */

static bool at_border(const struct spill_engine *e)
{
    const struct spill_script *s = e->perform.script;
    if (e->dev.buffers.live_count != s->border_buffers)
        return false;
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        if (!s->buffers[b].at_border)
            continue;
        uint32_t slot = spill_bufmap_at(&e->dev.buffers, s->buffers[b].addr);
        if (slot == SPILL_NO_BUFFER || e->dev.buffers.bufs[slot].plan_id != b)
            return false;
    }
    return true;
}

bool spill_engine_shadow_ready(const struct spill_engine *e)
{
    return e->state == SPILL_STATE_OBSERVE && e->shadowed && e->perform.script != NULL &&
           e->hold == 0 && (e->cursor > 0 || at_border(e));
}

void spill_engine_shadow_restart(struct spill_engine *e)
{
    if (e->state == SPILL_STATE_OBSERVE)
        e->cursor = e->ops_done = 0;
}

void spill_engine_shadow_hit(struct spill_engine *e)
{
    if (e->state != SPILL_STATE_OBSERVE)
        return; /* the same event was the border at which a new plan was adopted */
    if (++e->cursor < e->perform.script->it.event_count)
        return;
    e->cursor = 0;
    if (e->hold > 0 || !at_border(e))
        return;
    CUresult result = spill_perform_settle(&e->perform, &e->dev);
    if (result == CUDA_SUCCESS)
        enter_replay(e);
    else
        spill_log_once(SPILL_LOG_WARN, "the plan could not be put in force again (%s)",
                       spill_driver_error(result));
}

/* --- planning --- */

static void expand_path(const struct spill_engine *e, char *out, size_t cap)
{
    const char *pattern = e->config.output[0] != '\0' ? e->config.output : "spillway.%p.trace";
    size_t n = 0;
    for (const char *p = pattern; *p != '\0' && n + 24 < cap; p++) {
        if (p[0] == '%' && p[1] == 'p') {
            n += spill_fmt(out + n, cap - n, "%d", (int)getpid());
            p++;
        } else {
            out[n++] = *p;
        }
    }
    out[n] = '\0';
}

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
    trace->paged_bytes = e->dev.paged_out_bytes + e->dev.paged_in_bytes;
    trace->device_name = spill_iteration_name(it, e->dev.name);
    trace->program = spill_iteration_name(it, program_invocation_name);
    for (uint32_t k = 0; k < trace->op_count; k++)
        trace->step_ns += trace->ops[k].duration_ns;
}

static void write_trace(struct spill_engine *e, const struct spill_trace *trace)
{
    char path[1024];
    expand_path(e, path, sizeof(path));
    e->trace_written = true;
    if (spill_tracefile_write(path, trace) != SPILL_OK)
        spill_log(SPILL_LOG_ERROR, "cannot write the trace %s: %s", path, strerror(errno));
}

static bool trace_wanted(const struct spill_engine *e)
{
    return !e->trace_written &&
           (e->config.mode == SPILL_MODE_PROFILE || e->config.output[0] != '\0');
}

void spill_engine_write_partial_trace(struct spill_engine *e)
{
    struct spill_iteration it;
    if (!trace_wanted(e) || e->rec.record_count == 0 ||
        spill_iteration_build(&it, &e->rec, &e->dev.buffers, 0) != SPILL_OK)
        return;
    describe(e, &it);
    write_trace(e, &it.trace);
    spill_iteration_free(&it);
    spill_log(SPILL_LOG_WARN, "no repeating iteration was found: the trace holds the whole run");
}

static void start_planning(struct spill_engine *e, uint32_t period)
{
    struct spill_iteration it;
    if (strcmp(e->config.method, "page") == 0 && !trace_wanted(e)) {
        give_up(e);
        return;
    }
    if (!spill_border_admit(&e->rec, period))
        return;
    if (SPILL_CU(cuCtxSynchronize)() != CUDA_SUCCESS ||
        spill_contents_scan_slabs(&e->dev) != CUDA_SUCCESS ||
        spill_contents_scan_buffers(&e->dev, SCAN_BYTES) != CUDA_SUCCESS ||
        spill_pager_bring_pins(&e->dev) != CUDA_SUCCESS)
        return;
    if (spill_iteration_build(&it, &e->rec, &e->dev.buffers, period) != SPILL_OK)
        return;
    if (!e->links.measured)
        spill_calibrate(&e->dev, &e->links);
    describe(e, &it);
    if (trace_wanted(e))
        write_trace(e, &it.trace);
    if (e->config.mode == SPILL_MODE_PROFILE) {
        e->recording = e->rec.timing = false;
        goto err_iteration;
    }
    uint32_t limit = spill_device_frame_limit(&e->dev);
    uint64_t frames = limit > e->dev.slab_pages ? limit - e->dev.slab_pages : 0;
    /* What the pager has out now stays until the plan's slab is filled. */
    spill_hostpool_trim(&e->dev.host);
    uint64_t host = e->dev.host.limit - e->dev.host.bytes;
    if (spill_planner_start(&e->planner, &it, frames << e->dev.page_shift, host,
                            e->config.method) != SPILL_OK)
        return;
    e->planned_period = period;
    e->planned_sum = spill_border_sum(&e->rec, period);
    e->planned_at = e->rec.record_count;
    return;
err_iteration:
    spill_iteration_free(&it);
}

static void say_no_plan(const struct spill_engine *e)
{
    const struct spill_planner *planner = &e->planner;
    char size[32];
    uint64_t slabs = (uint64_t)e->dev.slab_pages << e->dev.page_shift;
    if (planner->status == SPILL_ERR_INFEASIBLE &&
        planner->obstacle.bytes_needed <= planner->gpu_budget)
        spill_log_once(SPILL_LOG_WARN,
                       "no plan keeps within the %s of pinned host memory that are left: raise "
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

/* The planner may have taken an iteration or more: what lives at the border is where it was, but
 * not under the numbers that it had. False: it is no longer the same. */
static bool find_border(const struct spill_engine *e, struct spill_script *s)
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
    struct spill_planner *planner = &e->planner;
    if (planner->status == SPILL_OK && planner->script == NULL) {
        e->recording = e->rec.timing = false; /* it all fits: nothing to learn, nothing to move */
        e->paged_at_rest = e->dev.paged_out_bytes;
    } else if (planner->status == SPILL_OK && border && find_border(e, planner->script)) {
        adopt(e, planner->script);
    } else if (planner->status == SPILL_OK) {
        spill_script_free(planner->script); /* the program went on otherwise meanwhile */
    } else {
        give_up(e);
        say_no_plan(e);
    }
}

/* Here the last PERIOD records end an iteration that repeats. */
static void at_repetition(struct spill_engine *e, uint32_t period)
{
    if (!e->planner.running)
        start_planning(e, period);
    if (!e->planner.running)
        return;
    /* Adopt only at the same place of the iteration at which the plan begins. */
    bool border = period == e->planned_period && e->rec.record_count >= e->planned_at &&
                  (e->rec.record_count - e->planned_at) % period == 0;
    if (!border && period == e->planned_period)
        return;
    if (spill_planner_join(&e->planner, border ? e->config.plan_wait : 0))
        take_plan(e, border);
}

void spill_engine_recorded(struct spill_engine *e)
{
    uint32_t period = spill_border_period(&e->rec);
    if (e->hold > 0 && --e->hold == 0)
        e->rec.known_period = 0;
    if (period != 0)
        at_repetition(e, period);
}

void spill_engine_marked(struct spill_engine *e)
{
    uint32_t period = spill_border_mark(&e->rec);
    if (period != 0)
        at_repetition(e, period);
}
