/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/planner.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "preload/base/log.h"
#include "solver/check.h"
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
    planner->status = spill_check_plan(problem, found, NULL, complaint, sizeof(complaint));
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

static void plan(struct spill_planner *planner)
{
    struct spill_problem problem;
    uint64_t host = planner->host_budget;
    planner->script = NULL;
    planner->status =
        spill_fromtrace(&planner->it.trace, planner->gpu_budget, planner->host_budget, &problem);
    if (planner->status != SPILL_OK)
        return;
    for (int tries = 0; tries < PACK_TRIES && try_plan(planner, &problem, host); tries++)
        host -= host / 8;
    if (planner->rival != NULL &&
        spill_steptime_predict(planner->rival, &problem, &planner->rival_time) != SPILL_OK)
        planner->rival_time.step_ns = 0; /* not known: nothing is better */
    spill_fromtrace_free(&problem);
}

static void *work(void *argument)
{
    struct spill_planner *planner = argument;
    for (;;) {
        while (sem_wait(&planner->asked) != 0)
            ; /* EINTR: a debugger */
        plan(planner);
        (void)sem_post(&planner->answered);
    }
    return NULL;
}

void spill_planner_boot(struct spill_planner *planner)
{
    sigset_t all, before;
    if (planner->started || sem_init(&planner->asked, 0, 0) != 0 ||
        sem_init(&planner->answered, 0, 0) != 0)
        return;
    /* The program's signal handlers must never run on a thread it does not know of. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    planner->started = pthread_create(&planner->thread, NULL, work, planner) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (planner->started)
        (void)pthread_detach(planner->thread);
}

enum spill_status spill_planner_start(struct spill_planner *planner, struct spill_iteration *it,
                                      uint64_t gpu_budget, uint64_t host_budget, const char *method,
                                      const struct spill_script *rival)
{
    if (!planner->started) {
        spill_iteration_free(it);
        return SPILL_ERR_NOMEM;
    }
    planner->it = *it;
    memset(it, 0, sizeof(*it));
    planner->gpu_budget = gpu_budget;
    planner->host_budget = host_budget;
    planner->method = method[0] == '\0' ? NULL : method;
    planner->rival = rival;
    memset(&planner->obstacle, 0, sizeof(planner->obstacle));
    memset(&planner->rival_time, 0, sizeof(planner->rival_time));
    planner->running = true;
    (void)sem_post(&planner->asked);
    return SPILL_OK;
}

static void answered(struct spill_planner *planner)
{
    planner->running = false;
    if (planner->script == NULL)
        spill_iteration_free(&planner->it);
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
    while (sem_timedwait(&planner->answered, &until) != 0)
        if (errno != EINTR)
            return false;
    answered(planner);
    return true;
}

void spill_planner_cancel(struct spill_planner *planner)
{
    if (!planner->running)
        return;
    while (sem_wait(&planner->answered) != 0)
        ;
    answered(planner);
    spill_script_free(planner->script);
    planner->script = NULL;
}
