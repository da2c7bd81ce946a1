/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/planner.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "preload/base/log.h"
#include "solver/fromtrace.h"

#define POLISHED_OPS 2000
#define PACK_TRIES   4

/* Pages of buffers alive at once at the worst moment, from allocation to free: what paging on
 * demand needs to be left in peace. (A plan needs less: only from first to last use.) */
static uint64_t live_pages_peak(const struct spill_iteration *it)
{
    const struct spill_trace *trace = &it->trace;
    uint64_t live = 0, peak;
    for (uint32_t b = 0; b < trace->buffer_count; b++)
        if (it->live_slot[b] != SPILL_NO_BUFFER)
            live += (trace->buffers[b].bytes + trace->page_bytes - 1) / trace->page_bytes;
    /* The same buffers live at both ends, so the walk may start from them. */
    peak = live;
    for (uint32_t i = 0; i < it->event_count; i++) {
        const struct spill_iteration_event *event = &it->events[i];
        if (event->kind == SPILL_LOGREC_OP)
            continue;
        uint64_t pages =
            (trace->buffers[event->index].bytes + trace->page_bytes - 1) / trace->page_bytes;
        live += event->kind == SPILL_LOGREC_ALLOC ? pages : 0 - pages;
        if (live > peak)
            peak = live;
    }
    return peak;
}

/* The referee, which shares no code with the method: no plan goes into force without it. */
static bool accepted(struct spill_planner *planner, const struct spill_problem *problem,
                     const struct spill_plan *found)
{
    char complaint[256] = "";
    planner->status =
        spill_check_plan(problem, found, &planner->outcome, complaint, sizeof(complaint));
    if (planner->status != SPILL_OK)
        spill_log(SPILL_LOG_ERROR, "a plan failed its check and is not used: %s", complaint);
    return planner->status == SPILL_OK;
}

/* A plan that uses HOST bytes of host memory, and may take up the planner's budget when its moves
 * are packed there. True: they do not pack, one for less might. */
static bool try_plan(struct spill_planner *planner, struct spill_problem *problem, uint64_t host)
{
    struct spill_plan *found = NULL;
    /* Polishing a large plan takes longer than it is worth while the program pages. */
    struct spill_solve_options options = {
        .method = planner->method,
        .effort = planner->it.trace.op_count <= POLISHED_OPS ? 1 : 0,
    };
    problem->host_budget = host;
    planner->status = spill_solve(problem, &options, &found, &planner->obstacle);
    if (planner->status != SPILL_OK)
        return false;
    if ((found->move_count == 0 && found->park_count == 0 &&
         live_pages_peak(&planner->it) * planner->it.trace.page_bytes <= planner->gpu_budget) ||
        !accepted(planner, problem, found)) {
        spill_plan_free(found);
        return false;
    }
    problem->host_budget = planner->host_budget;
    planner->status = spill_script_build(&planner->it, problem, found, &planner->script);
    return planner->status == SPILL_ERR_INFEASIBLE;
}

static void *plan(void *argument)
{
    struct spill_planner *planner = argument;
    struct spill_problem problem;
    uint64_t host = planner->host_budget;
    planner->script = NULL;
    planner->status =
        spill_fromtrace(&planner->it.trace, planner->gpu_budget, planner->host_budget, &problem);
    if (planner->status != SPILL_OK)
        return NULL;
    for (int tries = 0; tries < PACK_TRIES && try_plan(planner, &problem, host); tries++)
        host -= host / 8;
    spill_fromtrace_free(&problem);
    return NULL;
}

enum spill_status spill_planner_start(struct spill_planner *planner, struct spill_iteration *it,
                                      uint64_t gpu_budget, uint64_t host_budget, const char *method)
{
    sigset_t all, before;
    memset(planner, 0, sizeof(*planner));
    planner->it = *it;
    memset(it, 0, sizeof(*it));
    planner->gpu_budget = gpu_budget;
    planner->host_budget = host_budget;
    planner->method = method[0] == '\0' ? NULL : method;
    /* The program's signal handlers must never run on a thread it does not know of. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&planner->thread, NULL, plan, planner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        spill_iteration_free(&planner->it);
        return SPILL_ERR_NOMEM;
    }
    planner->running = true;
    return SPILL_OK;
}

bool spill_planner_join(struct spill_planner *planner, uint64_t wait_ms)
{
    struct timespec until;
    if (!planner->running)
        return false;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(wait_ms / 1000);
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    if (pthread_timedjoin_np(planner->thread, NULL, &until) != 0)
        return false;
    planner->running = false;
    if (planner->script == NULL)
        spill_iteration_free(&planner->it);
    return true;
}
