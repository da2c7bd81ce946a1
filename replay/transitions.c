/* SPDX-License-Identifier: Apache-2.0 */
/* From state to state. Everything here may wait for the device: it happens at starts, borders and
 * divergences, never on the planned path. */
#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "profiler/stack.h"
#include "replay/engine.h"

#define GUARDED_ITERATIONS 2
#define SHORT_STRETCH      8 /* iterations: a plan that is left sooner may be part of a longer one */
#define LONGER_TIMES       24 /* how many of its iterations are then watched for it */

bool spill_engine_boot(struct spill_engine *e)
{
    if (e->planner == NULL)
        e->planner = spill_heap_alloc(sizeof(*e->planner));
    if (e->planner != NULL && spill_device_boot(&e->dev, e->config) == SPILL_OK) {
        spill_planner_boot(e->planner);
        e->open_op = SPILL_NO_EVENT;
        e->state = SPILL_STATE_OBSERVE;
        spill_stack_python(e->config->mode == SPILL_MODE_PROFILE || e->config->output[0] != '\0');
        e->rec.bytes_max = e->config->profile_mem;
        e->rec.marks_only = e->config->iteration[0] != '\0';
        spill_engine_start_recording(e);
        return true;
    }
    spill_log_once(SPILL_LOG_WARN,
                   "this device's memory is not managed; passing everything through");
    e->state = SPILL_STATE_OFF;
    return false;
}

void spill_engine_end(struct spill_engine *e, bool gone)
{
    e->rec.timing = e->rec.timing && !gone;
    spill_engine_write_partial_trace(e);
    spill_planner_cancel(e->planner);
    if (!gone)
        (void)SPILL_CU(cuCtxSynchronize)();
    for (uint32_t p = 0; p < e->dev.page_total; p++)
        e->dev.pages[p].where = SPILL_NOWHERE; /* nothing is worth keeping */
    spill_perform_drop(&e->perform, &e->dev);
    spill_follow_end(&e->follow);
    spill_recorder_end(&e->rec);
    spill_slab_end(&e->slabs, &e->dev);
    spill_device_end(&e->dev);
    const struct spill_engine before = *e;
    *e = (struct spill_engine){.config = before.config,
                               .booted = before.booted,
                               .numbered = before.numbered,
                               .dev = before.dev,
                               .account = before.account,
                               .touches = before.touches,
                               .planner = before.planner,
                               .links = before.links,
                               .trace_written = before.trace_written,
                               .watched = before.watched,
                               .watched_marked = before.watched_marked};
    e->account.border_events_made = false;
    e->account.borders = 0;
}

void spill_engine_start_recording(struct spill_engine *e)
{
    spill_recorder_reset(&e->rec);
    e->recording = true;
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
    uint64_t start = spill_account_clock();
    CUresult result = spill_perform_alias(&e->perform, &e->dev);
    e->state = SPILL_STATE_REPLAY;
    e->cursor = e->ops_done = e->stretch = 0;
    e->recording = e->rec.timing = e->shadowed = false;
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    e->account.borders = 0; /* times are taken within one stretch of replayed iterations */
    if (result != CUDA_SUCCESS) {
        spill_log_once(SPILL_LOG_WARN, "mapping the plan's frames failed (%s); paging instead",
                       spill_driver_error(result));
        spill_engine_diverge(e, SPILL_REASON_MEMORY);
    }
}

/* No plan is to be had for this program: page on, and do not try again at every border. */
void spill_engine_give_up(struct spill_engine *e)
{
    e->recording = e->rec.timing = false;
    e->gave_up = true;
}

/* The plan for the iteration whose border is now is ready: put it in force. */
void spill_engine_adopt(struct spill_engine *e, struct spill_script *script)
{
    uint64_t start = spill_account_clock();
    if (e->perform.script != NULL)
        spill_perform_drop(&e->perform, &e->dev);
    enum spill_status status = spill_perform_place(&e->perform, &e->dev, script, e->config->verify);
    if (status != SPILL_OK && script->slab_bytes > spill_hostpool_plannable(&e->dev.host)) {
        spill_script_free(script); /* a smaller one will be made for what can be pinned */
        return;
    }
    if (status != SPILL_OK) {
        spill_log_once(SPILL_LOG_WARN,
                       "the plan needs %llu MiB of pinned host memory, which cannot be had (%s); "
                       "paging on demand instead, slowly",
                       (unsigned long long)(script->slab_bytes >> 20), spill_status_text(status));
        spill_script_free(script);
        spill_engine_give_up(e);
        return;
    }
    CUresult result = spill_perform_settle(&e->perform, &e->dev);
    if (result != CUDA_SUCCESS) {
        spill_log_once(SPILL_LOG_WARN, "the plan could not be put in force (%s); paging instead",
                       spill_driver_error(result));
        spill_perform_drop(&e->perform, &e->dev);
        spill_engine_give_up(e);
        return;
    }
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    spill_account_adopted(e);
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
        spill_account_plan(&e->account)->replayed++;
        return;
    }
    spill_account_plan(&e->account)->guarded++;
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
    uint64_t start = spill_account_clock();
    CUresult result = spill_perform_release(&e->perform, &e->dev, e->ops_done);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
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

void spill_engine_become_resident(struct spill_engine *e, const char *why)
{
    spill_log_once(SPILL_LOG_WARN, "%s: everything stays resident from here on", why);
    e->state = SPILL_STATE_RESIDENT;
    e->dev.hold_all = true;
    e->shadowed = false;
    /* A profile goes on, but for what is captured. */
    e->paused = true;
    if (e->config->mode != SPILL_MODE_PROFILE || SPILL_CU(cuStreamIsCapturing) == NULL)
        e->recording = e->rec.timing = false;
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
    uint64_t start = spill_account_clock();
    CUresult result = spill_perform_settle(&e->perform, &e->dev);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    if (result == CUDA_SUCCESS)
        enter_replay(e);
    else
        spill_log_once(SPILL_LOG_WARN, "the plan could not be put in force again (%s)",
                       spill_driver_error(result));
}
