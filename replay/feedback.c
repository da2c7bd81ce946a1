/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/feedback.h"

#include "preload/base/log.h"
#include "replay/captures.h"
#include "replay/engine.h"

#define SETTLES      2   /* timed steps after a plan came into force that do not count */
#define STEPS        4   /* whose mean does */
#define LATE_PERCENT 5   /* above the expected one: worth a look */
#define SAMPLES      2   /* iterations */
#define READ_TRIES   16  /* borders at which a sample is looked for */
#define ROUNDS       4   /* for one plan and those that replace it */
#define REST         16  /* iterations after a round, twice as many after the next */
#define SAME_PERCENT 2   /* a figure that is off by less is as it was */
#define GAIN_PERCENT 2   /* that a new plan must be better by, */
#define PAYS_WITHIN  100 /* iterations, for what its coming into force costs */

void spill_feedback_restart(struct spill_engine *e)
{
    struct spill_feedback *f = &e->feedback;
    f->phase = SPILL_FEEDBACK_WATCHING;
    f->rest = SETTLES;
    f->timed = 0;
    f->sum_ns = 0;
    e->account.last_step_ns = 0;
    for (unsigned i = 0; i < SPILL_PLANS; i++)
        e->plans[i].perform.sample = NULL;
}

/* This round is over; the plan is expected to take what it takes now. */
static void back_off(struct spill_engine *e, uint64_t expected_ns)
{
    spill_feedback_restart(e);
    e->feedback.rest = REST << e->plan->rounds;
    e->plan->rounds++;
    e->plan->expected_ns = expected_ns;
    spill_account_plan(&e->account)->expected_ns = expected_ns;
}

static void sample_next(struct spill_engine *e)
{
    e->feedback.sample.failed = false;
    e->feedback.phase = SPILL_FEEDBACK_SAMPLING;
    e->plan->perform.sample = &e->feedback.sample;
}

static void watch(struct spill_engine *e)
{
    struct spill_feedback *f = &e->feedback;
    uint64_t ns = e->account.last_step_ns;
    e->account.last_step_ns = 0;
    if (ns == 0 || e->plan->rounds == ROUNDS || !e->config->feedback || e->config->verify)
        return;
    if (f->rest > 0) {
        f->rest--;
        return;
    }
    f->sum_ns += ns;
    if (++f->timed < STEPS)
        return;
    f->achieved_ns = f->sum_ns / STEPS;
    f->timed = 0;
    f->sum_ns = 0;
    if (f->achieved_ns * 100 <= e->plan->expected_ns * (100 + LATE_PERCENT))
        return;
    if (spill_sample_open(&f->sample, e->plan->perform.script))
        sample_next(e);
    else
        back_off(e, f->achieved_ns);
}

static bool differs(uint64_t measured, uint64_t planned)
{
    uint64_t by = measured > planned ? measured - planned : planned - measured;
    return by * 100 > planned * SAME_PERCENT;
}

/* LINK, whose copies took MEASURED together and not PLANNED. */
static bool correct_link(struct spill_trace_link *link, uint64_t measured, uint64_t planned)
{
    if (measured == 0 || planned == 0 || link->bytes_per_s == 0 || !differs(measured, planned))
        return false;
    link->latency_ns = (uint64_t)((__uint128_t)link->latency_ns * measured / planned);
    link->bytes_per_s = (uint64_t)((__uint128_t)link->bytes_per_s * planned / measured);
    if (link->bytes_per_s == 0)
        link->bytes_per_s = 1;
    return true;
}

/* A copy of the program's own may have waited for a link that the plan's copies were using: what it
 * takes by itself the profile knows better. */
static bool tells(const struct spill_trace_op *op)
{
    return op->kind != SPILL_OPKIND_COPY;
}

/* TRACE, of the plan that was sampled, with what was measured. False: that is what it said. */
static bool correct(struct spill_trace *trace, const struct spill_sample *sample,
                    const struct spill_steptime *predicted)
{
    uint64_t measured = 0, planned = 0, out = 0, in = 0;
    for (uint32_t k = 0; k < trace->op_count; k++)
        if (tells(&trace->ops[k])) {
            measured += sample->least_ns[k];
            planned += trace->ops[k].duration_ns;
        }
    bool changed = differs(measured, planned);
    for (uint32_t k = 0; changed && k < trace->op_count; k++)
        if (tells(&trace->ops[k]))
            trace->ops[k].duration_ns = sample->least_ns[k];
    for (uint32_t m = 0; m < sample->move_count; m++) {
        out += sample->least_ns[spill_sample_out(sample, m)];
        in += sample->least_ns[spill_sample_in(sample, m)];
    }
    changed = correct_link(&trace->out, out, predicted->out_ns) || changed;
    return correct_link(&trace->in, in, predicted->in_ns) || changed;
}

static void plan_anew(struct spill_engine *e)
{
    struct spill_feedback *f = &e->feedback;
    const struct spill_script *s = e->plan->perform.script;
    struct spill_planstat *stat = spill_account_plan(&e->account);
    struct spill_iteration it;
    stat->sampled_wait_in_ns = f->sample.wait_in_ns;
    stat->sampled_wait_memory_ns = f->sample.wait_memory_ns;
    e->account.feedback.sampled++;
    if (!spill_feedback_drop(e) || e->planner->running ||
        spill_iteration_copy(&it, &s->it) != SPILL_OK) {
        back_off(e, f->achieved_ns);
        return;
    }
    if (!correct(&it.trace, &f->sample, &s->predicted)) {
        spill_iteration_free(&it);
        spill_log(SPILL_LOG_DEBUG,
                  "steps take %llu ns, not %llu ns, though ops and copies take what was planned",
                  (unsigned long long)f->achieved_ns, (unsigned long long)e->plan->expected_ns);
        e->account.feedback.unexplained++;
        back_off(e, f->achieved_ns);
        return;
    }
    spill_log(SPILL_LOG_DEBUG,
              "steps take %llu ns, not %llu ns: planning anew with links of %llu and %llu bytes/s",
              (unsigned long long)f->achieved_ns, (unsigned long long)e->plan->expected_ns,
              (unsigned long long)it.trace.out.bytes_per_s,
              (unsigned long long)it.trace.in.bytes_per_s);
    if (spill_engine_plan(e, &it, s) != SPILL_OK) {
        back_off(e, f->achieved_ns);
        return;
    }
    e->planned_sum = e->plan->sum;
    e->planned_period = s->it.event_count;
    e->planned_before_ns = f->achieved_ns;
    e->account.feedback.planned++;
    f->asked = true;
    f->tries = 0;
    f->phase = SPILL_FEEDBACK_PLANNING;
}

static void read_sample(struct spill_engine *e)
{
    struct spill_feedback *f = &e->feedback;
    f->tries++;
    if (!spill_sample_read(&f->sample, e->plan->perform.script)) {
        if (f->tries == READ_TRIES || f->sample.failed)
            back_off(e, f->achieved_ns);
    } else if (f->sample.taken < SAMPLES) {
        sample_next(e);
    } else {
        plan_anew(e);
    }
}

/* What it costs to put SCRIPT in force in place of OLD, at most: all that either has on the host
 * changes its place, and guarded iterations copy and compute by turns. */
static uint64_t change_ns(const struct spill_script *script, const struct spill_script *old)
{
    const struct spill_trace *trace = &script->it.trace;
    const struct spill_steptime *time = &script->predicted;
    uint64_t ns = SPILL_GUARDED_TIMES * (script->plan->compute_ns + time->out_ns + time->in_ns);
    if (trace->out.bytes_per_s != 0)
        ns += (uint64_t)((__uint128_t)script->slab_bytes * 1000000000 / trace->out.bytes_per_s);
    if (trace->in.bytes_per_s != 0)
        ns += (uint64_t)((__uint128_t)old->slab_bytes * 1000000000 / trace->in.bytes_per_s);
    return ns;
}

static bool pays(const struct spill_script *script, const struct spill_script *old, uint64_t old_ns)
{
    uint64_t new_ns = script->predicted.step_ns;
    return new_ns * 100 < old_ns * (100 - GAIN_PERCENT) &&
           (old_ns - new_ns) * PAYS_WITHIN > change_ns(script, old);
}

static void replace(struct spill_engine *e, struct spill_script *script)
{
    uint32_t rounds = e->plan->rounds;
    bool gave_up = e->gave_up;
    spill_engine_replace(e, script);
    if (e->state != SPILL_STATE_GUARD) {
        /* Not to be had. There was a plan before, so there will be one again. */
        if (e->gave_up && !gave_up && e->state == SPILL_STATE_OBSERVE) {
            e->gave_up = false;
            spill_engine_start_recording(e);
        }
        return;
    }
    e->account.feedback.adopted++;
    e->plan->rounds = rounds + 1;
    e->feedback.rest = REST << rounds;
}

static void decide(struct spill_engine *e)
{
    struct spill_feedback *f = &e->feedback;
    struct spill_planner *planner = e->planner;
    uint64_t start = spill_account_clock();
    /* Held once, at the border after it was asked. */
    bool ready = spill_planner_join(planner, f->tries++ == 0 ? e->config->plan_wait : 0);
    spill_account_held(&e->account, SPILL_STALL_PLANNING, start);
    if (!ready)
        return;
    f->asked = false;
    struct spill_script *script = planner->status == SPILL_OK ? planner->script : NULL;
    uint64_t old_ns = planner->rival_time.step_ns;
    bool better =
        script != NULL && pays(script, e->plan->perform.script, old_ns) && !spill_captures_any();
    spill_log(SPILL_LOG_DEBUG, "planned anew: %llu ns a step, the plan in force %llu ns; %s",
              (unsigned long long)(script == NULL ? 0 : script->predicted.step_ns),
              (unsigned long long)old_ns, better ? "it is replaced" : "it stays");
    if (better) {
        replace(e, script);
        return;
    }
    spill_script_free(script);
    back_off(e, old_ns > f->achieved_ns ? old_ns : f->achieved_ns);
}

void spill_feedback_border(struct spill_engine *e)
{
    switch (e->feedback.phase) {
    case SPILL_FEEDBACK_WATCHING:
        watch(e);
        break;
    case SPILL_FEEDBACK_SAMPLING:
        e->plan->perform.sample = NULL;
        e->feedback.phase = SPILL_FEEDBACK_READING;
        e->feedback.tries = 0;
        break;
    case SPILL_FEEDBACK_READING:
        read_sample(e);
        break;
    case SPILL_FEEDBACK_PLANNING:
        decide(e);
        break;
    }
}

bool spill_feedback_drop(struct spill_engine *e)
{
    if (!e->feedback.asked)
        return true;
    if (!spill_planner_join(e->planner, 0))
        return false;
    if (e->planner->status == SPILL_OK)
        spill_script_free(e->planner->script);
    e->feedback.asked = false;
    return true;
}
