/* SPDX-License-Identifier: Apache-2.0 */
/* From state to state. Everything here may wait for the device: it happens at starts, borders and
 * divergences, never on the planned path. */
#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "profiler/stack.h"
#include "replay/engine.h"

#define SHORT_STRETCH 8  /* iterations: a plan that is left sooner may be part of a longer one */
#define LONGER_TIMES  24 /* how many of its iterations are then watched for it */

bool spill_engine_boot(struct spill_engine *e)
{
    if (e->planner == NULL)
        e->planner = spill_heap_alloc(sizeof(*e->planner));
    if (e->planner != NULL && spill_device_boot(&e->dev, e->config) == SPILL_OK) {
        spill_planner_boot(e->planner);
        e->open_op = SPILL_NO_EVENT;
        e->plan = &e->plans[0];
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
        (void)spill_device_drain(&e->dev);
    for (uint32_t p = 0; p < e->dev.page_total; p++)
        e->dev.pages[p].where = SPILL_NOWHERE; /* nothing is worth keeping */
    spill_planset_end(e);
    spill_follow_end(&e->follow);
    spill_recorder_end(&e->rec);
    spill_sample_end(&e->feedback.sample);
    spill_slab_end(&e->slabs, &e->dev);
    spill_device_end(&e->dev);
    const struct spill_engine before = *e;
    *e = (struct spill_engine){.config = before.config,
                               .hooked_calls = before.hooked_calls,
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
    e->recording = e->rec.timing = true;
}

void spill_engine_stop_recording(struct spill_engine *e)
{
    e->recording = e->rec.timing = false;
}

const struct spill_iteration_event *spill_engine_expected(const struct spill_engine *e)
{
    const struct spill_script *s = e->plan->perform.script;
    return s != NULL && e->cursor < s->it.event_count ? &s->it.events[e->cursor] : NULL;
}

/* --- entering a plan --- */

/* Every page is mapped: from now on events order what the plan moves. */
static void enter_replay(struct spill_engine *e)
{
    uint64_t start = spill_account_clock();
    CUresult result = spill_perform_alias(&e->plan->perform, &e->dev);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    e->state = SPILL_STATE_REPLAY;
    if (result != CUDA_SUCCESS) {
        spill_log_once(SPILL_LOG_WARN, "mapping the plan's frames failed (%s); paging instead",
                       spill_driver_error(result));
        spill_engine_diverge(e, SPILL_REASON_MEMORY);
    }
}

/* What lives now gets the numbers that it has in the plan. */
static void number_buffers(struct spill_engine *e)
{
    const struct spill_script *s = e->plan->perform.script;
    struct spill_bufmap *map = &e->dev.buffers;
    for (uint32_t slot = 0; slot < map->slot_count; slot++)
        map->bufs[slot].plan_id = SPILL_NO_PLAN;
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        uint32_t slot = spill_bufmap_at(map, s->buffers[b].addr);
        if (slot != SPILL_NO_BUFFER)
            map->bufs[slot].plan_id = b;
    }
}

bool spill_engine_take_up(struct spill_engine *e, struct spill_planned *plan, uint32_t cursor,
                          uint32_t ops)
{
    uint64_t start = spill_account_clock();
    for (unsigned i = 0; i < SPILL_PLANS; i++)
        if (e->plans[i].perform.slab_bytes > plan->perform.keep_bytes)
            plan->perform.keep_bytes = e->plans[i].perform.slab_bytes;
    const struct spill_script *s = plan->perform.script;
    uint32_t left = 0;
    /* Of the last op's frees, those that are still to come. */
    for (uint32_t i = cursor; ops > 0 && i < s->it.event_count; i++) {
        const struct spill_iteration_event *event = &s->it.events[i];
        if (event->kind == SPILL_LOGREC_OP)
            break;
        left += event->kind == SPILL_LOGREC_FREE && s->buffers[event->index].held_by == ops - 1;
    }
    CUresult result = spill_perform_settle(&plan->perform, &e->dev, ops, left > 0);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    if (result != CUDA_SUCCESS) {
        plan->wary = true;
        spill_log_once(SPILL_LOG_WARN, "the plan could not be put in force (%s); paging instead",
                       spill_driver_error(result));
        return false;
    }
    spill_engine_drained(e);
    e->plan = plan;
    plan->used = ++e->uses;
    number_buffers(e);
    spill_planset_restart(e);
    e->cursor = cursor;
    e->ops_done = ops;
    e->frees_left = left;
    e->stretch = 0;
    spill_engine_stop_recording(e);
    e->account.plan_now = plan->stat;
    spill_feedback_restart(e);
    e->account.borders = 0; /* times are taken within one stretch of replayed iterations */
    e->state = SPILL_STATE_GUARD;
    if (plan->perform.guard_left == 0)
        enter_replay(e);
    return e->state != SPILL_STATE_OBSERVE;
}

/* Back to the pager, where the plan in force is. */
static bool leave(struct spill_engine *e)
{
    uint64_t start = spill_account_clock();
    CUresult result =
        spill_perform_release(&e->plan->perform, &e->dev, e->ops_done, e->frees_left > 0);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
    e->open_op = SPILL_NO_EVENT;
    if (result != CUDA_SUCCESS) {
        spill_engine_break(e, result);
        return false;
    }
    spill_engine_drained(e);
    e->state = SPILL_STATE_OBSERVE;
    e->cursor = e->ops_done = e->frees_left = 0;
    spill_planset_restart(e);
    spill_feedback_restart(e);
    spill_engine_start_recording(e);
    return true;
}

bool spill_engine_change(struct spill_engine *e, struct spill_planned *plan)
{
    uint32_t cursor = e->cursor, ops = e->ops_done;
    e->account.changes++;
    return leave(e) && spill_engine_take_up(e, plan, cursor, ops);
}

/* No plan is to be had for this program: page on, and do not try again at every border. */
void spill_engine_give_up(struct spill_engine *e)
{
    spill_engine_stop_recording(e);
    e->gave_up = true;
}

/* SCRIPT has its addresses and host memory; plans that were not used for long make room for it. */
static enum spill_status place(struct spill_engine *e, struct spill_planned *plan,
                               struct spill_script *script)
{
    enum spill_status status;
    do {
        spill_planset_share(e, plan, script);
        status = spill_perform_place(&plan->perform, &e->dev, script, e->config->verify);
    } while (status != SPILL_OK && spill_planset_shed(e, plan));
    return status;
}

/* The plan for the iteration whose border is now is ready: put it in force. */
void spill_engine_adopt(struct spill_engine *e, struct spill_script *script)
{
    uint64_t start = spill_account_clock();
    struct spill_planned *plan = spill_planset_place(e, e->planned_sum);
    enum spill_status status = place(e, plan, script);
    spill_account_held(&e->account, SPILL_STALL_SWITCHING, start);
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
    plan->expected_ns = script->predicted.step_ns;
    if (!spill_engine_take_up(e, plan, 0, 0)) {
        spill_perform_drop(&plan->perform, &e->dev);
        spill_engine_give_up(e);
        return;
    }
    spill_account_adopted(e);
    e->hold = e->rec.known_period = 0;
    e->looked_longer = false;
    e->short_stretches = 0;
    if (!e->account.started_said)
        spill_account_started(e);
    e->account.started_said = true;
}

void spill_engine_replace(struct spill_engine *e, struct spill_script *script)
{
    e->account.changes++;
    if (!spill_engine_find_border(e, script) || !leave(e)) {
        spill_script_free(script);
        return;
    }
    spill_engine_adopt(e, script);
}

/* A buffer that the last op was held for is freed. */
static CUresult freed(struct spill_engine *e)
{
    struct spill_perform *perform = &e->plan->perform;
    if (--e->frees_left > 0)
        return CUDA_SUCCESS;
    return e->state == SPILL_STATE_REPLAY
               ? spill_perform_replay_freed(perform, &e->dev, e->ops_done - 1)
               : spill_perform_guard_freed(perform, &e->dev, e->ops_done - 1);
}

void spill_engine_advance(struct spill_engine *e)
{
    struct spill_planned *plan = e->plan;
    const struct spill_iteration_event *event = spill_engine_expected(e);
    if (e->frees_left > 0 && event->kind == SPILL_LOGREC_FREE &&
        plan->perform.script->buffers[event->index].held_by == e->ops_done - 1) {
        CUresult result = freed(e);
        if (result != CUDA_SUCCESS) {
            spill_engine_break(e, result);
            return;
        }
    }
    if (++e->cursor < plan->perform.script->it.event_count)
        return;
    e->cursor = e->ops_done = 0;
    plan->wary = false;
    e->stretch++;
    if (e->state == SPILL_STATE_REPLAY) {
        spill_account_plan(&e->account)->replayed++;
        spill_feedback_border(e);
        return;
    }
    spill_account_plan(&e->account)->guarded++;
    if (plan->perform.guard_left == 0)
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
    e->rec.known_period = e->plan->perform.script->it.event_count;
    e->rec.known_sum = e->plan->sum;
    e->hold = LONGER_TIMES * e->plan->perform.script->it.event_count;
}

void spill_engine_diverge(struct spill_engine *e, enum spill_reason reason)
{
    e->account.fallbacks[reason]++;
    e->plan->wary = e->plan->wary || e->stretch == 0;
    if (!leave(e))
        return;
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
    if (e->config->mode != SPILL_MODE_PROFILE)
        spill_engine_stop_recording(e);
}
