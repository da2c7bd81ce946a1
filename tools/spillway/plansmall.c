/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/plansmall.h"

#include "preload/base/log.h"
#include "tools/spillway/progress.h"

static bool fast_enough(const struct spill_planrow *row, double slowdown)
{
    return row->fits && (double)row->step_ns <= slowdown * (double)row->ideal_ns;
}

static enum spill_status bisect(const struct spill_trace *trace, uint64_t host_bytes,
                                const char *method, double slowdown,
                                const struct spill_planleast *least, struct spill_planrow *row)
{
    uint64_t page = trace->page_bytes, low = least->gpu_bytes, high;
    enum spill_status status =
        spill_planrow_solve(trace, spill_planrow_most(trace), host_bytes, method, row);
    if (status != SPILL_OK)
        return status;
    if (!fast_enough(row, slowdown)) {
        spill_log(SPILL_LOG_ERROR, "%s finds no plan at any budget: leave --method out", method);
        return SPILL_ERR_INFEASIBLE;
    }
    high = row->frame_bytes > low ? row->frame_bytes : low;
    status = spill_planrow_solve(trace, high, host_bytes, method, row);
    while (status == SPILL_OK && low < high) {
        struct spill_planrow tried;
        uint64_t middle = low + (high - low) / page / 2 * page;
        status = spill_planrow_solve(trace, middle, host_bytes, method, &tried);
        if (fast_enough(&tried, slowdown)) {
            high = middle;
            *row = tried;
        } else {
            low = middle + page < high ? middle + page : high;
        }
        spill_progress_step();
    }
    return status;
}

enum spill_status spill_plansmall_solve(const struct spill_trace *trace, uint64_t host_bytes,
                                        const char *method, double slowdown,
                                        const struct spill_planleast *least,
                                        struct spill_planrow *row)
{
    spill_progress_begin("looking for the smallest budget", 0);
    enum spill_status status = bisect(trace, host_bytes, method, slowdown, least, row);
    spill_progress_end();
    return status;
}
