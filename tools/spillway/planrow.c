/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/planrow.h"

#include <stdlib.h>
#include <time.h>

#include "preload/base/log.h"
#include "solver/check.h"
#include "solver/fromtrace.h"
#include "solver/solve.h"
#include "tools/spillway/idle.h"

/* As the library plans (replay/planner.c). */
enum { EFFORT = 1, EFFORT_ALL = 1000 };

/* 8 TiB in pages of 2 MiB. Beyond, it is a damaged file, and planning it could take all memory. */
#define MOST_PAGES (UINT64_C(1) << 22)
enum { LEAST_PAGE = 4096 }; /* no GPU maps less */

static enum spill_status open_problem(const struct spill_trace *trace, uint64_t gpu_bytes,
                                      uint64_t host_bytes, struct spill_problem *problem)
{
    /* Small buffers share pages that are no buffer's: their memory is never free. */
    uint64_t left = gpu_bytes > trace->small_bytes ? gpu_bytes - trace->small_bytes : 0;
    /* More than enough is as good as enough: the solver counts pages in 32 bits. */
    uint64_t most = spill_planrow_most(trace) - trace->small_bytes;
    left = left < most ? left : most;
    if (trace->page_bytes < LEAST_PAGE || most / trace->page_bytes / 2 > MOST_PAGES) {
        spill_log(SPILL_LOG_ERROR,
                  "the trace's sizes make no sense, so no plan is possible: damaged");
        return SPILL_ERR_INVAL;
    }
    enum spill_status status = spill_fromtrace(trace, left, host_bytes, problem);
    if (status == SPILL_ERR_INVAL)
        spill_log(SPILL_LOG_ERROR, "nothing to plan: the trace has no operation");
    else if (status != SPILL_OK)
        spill_log(SPILL_LOG_ERROR, "out of memory");
    return status;
}

static uint32_t count_moved(const struct spill_plan *plan, uint32_t buffer_count)
{
    bool *moved = calloc((size_t)buffer_count + 1, sizeof(*moved));
    uint32_t count = 0;
    for (uint32_t m = 0; moved != NULL && m < plan->move_count; m++) {
        count += !moved[plan->moves[m].buffer];
        moved[plan->moves[m].buffer] = true;
    }
    free(moved);
    return count;
}

static void fill(const struct spill_trace *trace, const struct spill_plan *plan,
                 const struct spill_outcome *outcome, struct spill_planrow *row)
{
    row->fits = true;
    row->frame_bytes = plan->frame_count * trace->page_bytes + trace->small_bytes;
    row->peak_bytes = outcome->peak_bytes + trace->small_bytes;
    row->step_ns = outcome->step_ns;
    row->ideal_ns = plan->compute_ns;
    row->bound_ns = plan->bound_ns;
    row->stall_in_ns = outcome->stall_in_ns;
    row->stall_memory_ns = outcome->stall_memory_ns;
    row->out_bytes = plan->out_bytes;
    row->in_bytes = plan->in_bytes;
    row->out_busy_ns = outcome->out_busy_ns;
    row->in_busy_ns = outcome->in_busy_ns;
    row->host_bytes = outcome->host_bytes;
    row->moves = plan->move_count;
    row->parks = plan->park_count;
    row->moved_buffers = count_moved(plan, trace->buffer_count);
}

/* Plays the plan and fills ROW from it. */
static enum spill_status judge(const struct spill_trace *trace, struct spill_keptplan *planned,
                               struct spill_planrow *row)
{
    struct spill_outcome outcome;
    char complaint[256] = "";
    planned->op_start = calloc(trace->op_count, sizeof(*planned->op_start));
    if (planned->op_start == NULL)
        return SPILL_ERR_NOMEM;
    enum spill_status status = spill_check_timed(&planned->problem, planned->plan, &outcome,
                                                 planned->op_start, complaint, sizeof(complaint));
    if (status == SPILL_OK) {
        fill(trace, planned->plan, &outcome, row);
        return SPILL_OK;
    }
    if (status != SPILL_ERR_NOMEM) {
        spill_log(SPILL_LOG_ERROR, "a plan failed its check, which is a bug: %s", complaint);
        return SPILL_ERR_INVAL;
    }
    return status;
}

static enum spill_status keep(const struct spill_trace *trace, uint64_t gpu_bytes,
                              uint64_t host_bytes, const struct spill_solve_options *options,
                              struct spill_planrow *row, struct spill_keptplan *planned)
{
    *row = (struct spill_planrow){.method = options->method, .gpu_bytes = gpu_bytes};
    *planned = (struct spill_keptplan){.plan = NULL};
    enum spill_status status = open_problem(trace, gpu_bytes, host_bytes, &planned->problem);
    if (status != SPILL_OK)
        return status;
    if (planned->problem.gpu_budget < planned->problem.page_bytes)
        return SPILL_OK;
    status = spill_solve(&planned->problem, options, &planned->plan, NULL);
    if (status == SPILL_ERR_INVAL)
        spill_log(SPILL_LOG_ERROR, "the trace contradicts itself: no plan is possible");
    if (status == SPILL_ERR_UNSUPPORTED)
        spill_log(SPILL_LOG_ERROR,
                  "exact solves problems of a handful of pages: %u operations and %u buffers are "
                  "too many; leave --method out",
                  trace->op_count, trace->buffer_count);
    if (status == SPILL_OK)
        status = judge(trace, planned, row);
    if (status == SPILL_ERR_NOMEM)
        spill_log(SPILL_LOG_ERROR, "out of memory");
    return status == SPILL_ERR_INFEASIBLE ? SPILL_OK : status;
}

enum spill_status spill_planrow_keep(const struct spill_trace *trace, uint64_t gpu_bytes,
                                     uint64_t host_bytes, const char *method,
                                     struct spill_planrow *row, struct spill_keptplan *planned)
{
    struct spill_solve_options options = {.method = method, .effort = EFFORT};
    return keep(trace, gpu_bytes, host_bytes, &options, row, planned);
}

void spill_planrow_release(struct spill_keptplan *planned)
{
    spill_plan_free(planned->plan);
    spill_fromtrace_free(&planned->problem);
    free(planned->op_start);
    *planned = (struct spill_keptplan){.plan = NULL};
}

enum spill_status spill_planrow_solve(const struct spill_trace *trace, uint64_t gpu_bytes,
                                      uint64_t host_bytes, const char *method,
                                      struct spill_planrow *row)
{
    struct spill_keptplan planned;
    enum spill_status status =
        spill_planrow_keep(trace, gpu_bytes, host_bytes, method, row, &planned);
    spill_planrow_release(&planned);
    return status;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool before(void *until)
{
    return seconds_now() < *(const double *)until;
}

enum spill_status spill_planrow_improve(const struct spill_trace *trace, uint64_t gpu_bytes,
                                        uint64_t host_bytes, double seconds,
                                        struct spill_planrow *row)
{
    double until = seconds_now() + seconds;
    struct spill_solve_options options = {
        .method = "ours", .effort = EFFORT_ALL, .more = before, .context = &until};
    struct spill_keptplan planned;
    enum spill_status status = keep(trace, gpu_bytes, host_bytes, &options, row, &planned);
    spill_planrow_release(&planned);
    return status;
}

enum spill_status spill_planrow_least(const struct spill_trace *trace, uint64_t host_bytes,
                                      struct spill_planleast *least)
{
    struct spill_problem problem;
    struct spill_solve_obstacle obstacle;
    enum spill_status status = open_problem(trace, spill_planrow_most(trace), host_bytes, &problem);
    if (status != SPILL_OK)
        return status;
    spill_solve_smallest_budget(&problem, &obstacle);
    *least = (struct spill_planleast){obstacle.bytes_needed, obstacle.op};
    if (least->gpu_bytes < UINT64_MAX - trace->small_bytes)
        least->gpu_bytes += trace->small_bytes;
    spill_fromtrace_free(&problem);
    return SPILL_OK;
}

uint64_t spill_planrow_most(const struct spill_trace *trace)
{
    uint64_t sum = trace->small_bytes + trace->page_bytes;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        sum += spill_idle_pages(trace, trace->buffers[b].bytes);
    /* Twice: the solver tries to leave part of a budget unused. */
    return sum < UINT64_MAX / 2 ? 2 * sum : sum;
}
