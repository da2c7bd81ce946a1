/* SPDX-License-Identifier: Apache-2.0 */
/* What the user is told: one line when swapping starts, one at the end. */
#include <time.h>

#include "preload/base/fmt.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "replay/engines.h"

/* NS as "12.34 ms" in OUT. */
static const char *format_ms(uint64_t ns, char *out, size_t cap)
{
    spill_fmt(out, cap, "%llu.%02llu ms", (unsigned long long)(ns / 1000000),
              (unsigned long long)(ns / 10000 % 100));
    return out;
}

uint64_t spill_account_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void spill_account_adopted(struct spill_engine *e)
{
    const struct spill_script *s = e->plan->perform.script;
    e->account.plan_now = e->plan->stat = e->account.plan_count++;
    *spill_account_plan(&e->account) = (struct spill_planstat){
        .compute_ns = s->plan->compute_ns,
        .step_ns = s->predicted.step_ns,
        .bound_ns = s->plan->bound_ns,
        .wait_in_ns = s->predicted.wait_in_ns,
        .wait_memory_ns = s->predicted.wait_memory_ns,
        .peak_bytes = ((uint64_t)(s->plan->frame_count + e->dev.slab_pages) << e->dev.page_shift) +
                      e->dev.unmanaged_bytes,
        .host_bytes = s->slab_bytes,
        .out_bytes = s->plan->out_bytes,
        .in_bytes = s->plan->in_bytes,
        .op_count = s->op_count,
        .move_count = s->move_count,
        .before_ns = e->planned_before_ns,
    };
}

/* "device 1: " where there is more than one, in OUT. */
static const char *format_device(const struct spill_engine *e, char *out, size_t cap)
{
    out[0] = '\0';
    if (spill_engines_many())
        spill_fmt(out, cap, "device %d: ", (int)e->dev.ordinal);
    return out;
}

void spill_account_started(const struct spill_engine *e)
{
    const struct spill_script *s = e->plan->perform.script;
    char moved[32], budget[32], step[32], ideal[32], host[32], device[32];
    uint32_t buffers = 0;
    for (uint32_t b = 0; b < s->buffer_count; b++)
        buffers += s->buffers[b].leaves;
    spill_log(
        SPILL_LOG_INFO,
        "%smoving %s of %u buffers out and in per iteration through %s of pinned host memory to "
        "keep within %s; predicted step %s, %s without a limit",
        format_device(e, device, sizeof(device)),
        spill_size_format(s->plan->out_bytes, moved, sizeof(moved)), buffers,
        spill_size_format(s->slab_bytes, host, sizeof(host)),
        spill_size_format(e->dev.gpu_budget, budget, sizeof(budget)),
        format_ms(s->predicted.step_ns, step, sizeof(step)),
        format_ms(s->plan->compute_ns, ideal, sizeof(ideal)));
}

/* The last op of a replayed iteration was enqueued on STREAM. Times every iteration by one event,
 * and reads it two borders later, when it is long done: the host never waits. */
void spill_account_border(struct spill_engine *e, CUstream stream)
{
    struct spill_account *a = &e->account;
    float ms = 0;
    for (int i = 0; i < 3 && !a->border_events_made; i++)
        if (SPILL_CU(cuEventCreate)(&a->border_events[i], CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return;
    a->border_events_made = true;
    if (SPILL_CU(cuEventRecord)(a->border_events[a->borders % 3], stream) != CUDA_SUCCESS)
        return;
    a->borders++;
    if (a->borders < 3)
        return;
    CUevent from = a->border_events[a->borders % 3], to = a->border_events[(a->borders + 1) % 3];
    if (SPILL_CU(cuEventElapsedTime)(&ms, from, to) == CUDA_SUCCESS && ms > 0) {
        struct spill_planstat *plan = spill_account_plan(a);
        a->last_step_ns = (uint64_t)((double)ms * 1e6);
        plan->step_ns_sum += a->last_step_ns;
        plan->steps_timed++;
    }
}

/* The plan that most iterations ran under, of those that are remembered. */
static const struct spill_planstat *main_plan(const struct spill_account *a)
{
    const struct spill_planstat *most = &a->plans[0];
    for (uint32_t i = 1; i < a->plan_count && i < SPILL_PLANSTATS; i++)
        if (a->plans[i].replayed > most->replayed)
            most = &a->plans[i];
    return most;
}

/* " (another op 3, memory 1)" in OUT; returns how many fallbacks there were. */
static uint64_t list_fallbacks(const struct spill_account *a, char *out, size_t cap)
{
    static const char *const names[SPILL_REASON_COUNT] = {
        [SPILL_REASON_OTHER_OP] = "another op",   [SPILL_REASON_OTHER_ALLOC] = "another allocation",
        [SPILL_REASON_NEW_PIN] = "a new pin",     [SPILL_REASON_MEMORY] = "memory",
        [SPILL_REASON_FAILED_OP] = "a failed op",
    };
    uint64_t total = 0;
    size_t n = 0;
    out[0] = '\0';
    for (unsigned r = 0; r < SPILL_REASON_COUNT; r++) {
        total += a->fallbacks[r];
        if (a->fallbacks[r] != 0)
            n += spill_fmt(out + n, cap - n, "%s%s %llu", n == 0 ? " (" : ", ", names[r],
                           (unsigned long long)a->fallbacks[r]);
    }
    if (n > 0)
        spill_fmt(out + n, cap - n, ")");
    return total;
}

/* " by 3 plans (20, 12, 4)" in OUT, nothing for one plan; returns the iterations of all. */
static uint64_t list_replayed(const struct spill_account *a, char *out, size_t cap)
{
    uint32_t last = a->plan_count, first = last > SPILL_PLANSTATS ? last - SPILL_PLANSTATS : 0;
    uint64_t total = 0;
    size_t n = 0;
    out[0] = '\0';
    for (uint32_t i = first; i < last; i++) {
        uint64_t replayed = a->plans[i % SPILL_PLANSTATS].replayed;
        total += replayed;
        if (last > 1)
            n += spill_fmt(out + n, cap - n, i == first ? " by %u plans (" : ", ", last);
        if (last > 1)
            n += spill_fmt(out + n, cap - n, "%llu", (unsigned long long)replayed);
    }
    if (n > 0)
        spill_fmt(out + n, cap - n, ")");
    return total;
}

static void planned_line(const struct spill_engine *e)
{
    const struct spill_account *a = &e->account;
    const struct spill_planstat *plan = main_plan(a);
    char planned[32], achieved[32], out[32], in[32], step[32], stall[32], why[200], plans[200];
    char timed[80], device[32];
    uint64_t measured = plan->steps_timed == 0 ? 0 : plan->step_ns_sum / plan->steps_timed;
    uint64_t fallbacks = list_fallbacks(a, why, sizeof(why));
    uint64_t replayed = list_replayed(a, plans, sizeof(plans));
    if (measured == 0)
        spill_fmt(timed, sizeof(timed), "no three in a row to time");
    else
        spill_fmt(timed, sizeof(timed), "step %s (stalls %s)",
                  format_ms(measured, step, sizeof(step)),
                  format_ms(measured > plan->compute_ns ? measured - plan->compute_ns : 0, stall,
                            sizeof(stall)));
    spill_log(
        SPILL_LOG_INFO,
        "%speak %s planned, %s achieved; %s moved out, %s in; %llu iterations replayed%s, %s; "
        "%llu fallbacks%s",
        format_device(e, device, sizeof(device)),
        spill_size_format(plan->peak_bytes, planned, sizeof(planned)),
        spill_size_format(e->dev.peak_bytes, achieved, sizeof(achieved)),
        spill_size_format(e->dev.out_bytes, out, sizeof(out)),
        spill_size_format(e->dev.in_bytes, in, sizeof(in)), (unsigned long long)replayed, plans,
        timed, (unsigned long long)fallbacks, why);
    if (e->config->verify)
        spill_log(SPILL_LOG_INFO, "verify: %llu moves compared, %llu came back different",
                  (unsigned long long)spill_verify_tally.compared,
                  (unsigned long long)spill_verify_tally.different);
}

void spill_account_say(const struct spill_engine *e)
{
    char peak[32], budget[32], out[32], device[32];
    if (e->account.started_said) {
        planned_line(e);
        return;
    }
    format_device(e, device, sizeof(device));
    spill_size_format(e->dev.peak_bytes, peak, sizeof(peak));
    spill_size_format(e->dev.gpu_budget, budget, sizeof(budget));
    if (e->dev.refused > 0)
        spill_log(
            SPILL_LOG_INFO,
            "%sthe program was given CUDA_ERROR_OUT_OF_MEMORY %llu times: one op, or all that "
            "lives, needs more than %s",
            device, (unsigned long long)e->dev.refused, budget);
    else if (e->dev.out_bytes == 0)
        spill_log(SPILL_LOG_INFO, "%snothing had to move: peak %s within %s", device, peak, budget);
    else
        spill_log(SPILL_LOG_INFO,
                  "%speak %s within %s; no plan was in force, %s paged out on demand", device, peak,
                  budget, spill_size_format(e->dev.out_bytes, out, sizeof(out)));
}
