/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/plancurve.h"

#include <pthread.h>
#include <unistd.h>

#include "tools/spillway/progress.h"

enum { HELPERS_MOST = 7 }; /* each takes the memory of a plan in the making */

/* The budgets into GPU, rising, each once; their number. */
static uint32_t choose(const struct spill_trace *trace, uint64_t from, uint64_t to, uint32_t points,
                       const uint64_t *extra, uint32_t extra_count, uint64_t *gpu)
{
    uint64_t page = trace->page_bytes, pages = to > from ? (to - from) / page : 0;
    uint32_t count = 0, next = 0;
    for (uint32_t i = 0; i < points; i++) {
        uint64_t even = from + pages * i / (points - 1) * page;
        for (; next < extra_count && extra[next] < even; next++)
            if (extra[next] > from && count < SPILL_PLANCURVE_MOST)
                gpu[count++] = extra[next];
        if (next < extra_count && extra[next] == even)
            next++;
        /* There may be fewer pages than points. */
        if (count < SPILL_PLANCURVE_MOST && (count == 0 || gpu[count - 1] != even))
            gpu[count++] = even;
    }
    return count;
}

/* The plans of one curve, which have nothing to do with each other: the solver has no state, so
 * each thread takes the next budget that none has taken. */
struct work {
    const struct spill_trace *trace;
    uint64_t host_bytes;
    const char *method;
    const uint64_t *gpu;
    struct spill_planrow *rows;
    pthread_mutex_t lock; /* of what follows, and of the progress */
    uint32_t next, count;
    bool failed;
};

static void *solve_some(void *argument)
{
    struct work *work = argument;
    pthread_mutex_lock(&work->lock);
    while (work->next < work->count && !work->failed) {
        uint32_t i = work->next++;
        pthread_mutex_unlock(&work->lock);
        enum spill_status status = spill_planrow_solve(work->trace, work->gpu[i], work->host_bytes,
                                                       work->method, &work->rows[i]);
        pthread_mutex_lock(&work->lock);
        work->failed = work->failed || status != SPILL_OK;
        spill_progress_step();
    }
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

static void solve_all(struct work *work)
{
    pthread_t helpers[HELPERS_MOST];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int count = 0;
    while (count < HELPERS_MOST && count + 1 < processors &&
           pthread_create(&helpers[count], NULL, solve_some, work) == 0)
        count++;
    solve_some(work);
    while (count > 0)
        pthread_join(helpers[--count], NULL);
}

uint32_t spill_plancurve_solve(const struct spill_trace *trace, uint64_t host_bytes,
                               const char *method, const struct spill_planleast *least,
                               const struct spill_planrow *whole, uint32_t points,
                               const uint64_t *extra, uint32_t extra_count,
                               struct spill_planrow *rows)
{
    uint64_t gpu[SPILL_PLANCURVE_MOST];
    struct work work = {.trace = trace,
                        .host_bytes = host_bytes,
                        .method = method,
                        .gpu = gpu,
                        .rows = rows,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    work.count =
        choose(trace, least->gpu_bytes, whole->peak_bytes, points, extra, extra_count, gpu);
    spill_progress_begin("planning", work.count);
    solve_all(&work);
    spill_progress_end();
    return work.failed ? 0 : work.count;
}
