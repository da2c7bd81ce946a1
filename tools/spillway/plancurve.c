/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/plancurve.h"

#include "tools/spillway/progress.h"

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

uint32_t spill_plancurve_solve(const struct spill_trace *trace, uint64_t host_bytes,
                               const char *method, const struct spill_planleast *least,
                               const struct spill_planrow *whole, uint32_t points,
                               const uint64_t *extra, uint32_t extra_count,
                               struct spill_planrow *rows)
{
    uint64_t gpu[SPILL_PLANCURVE_MOST];
    uint32_t count =
        choose(trace, least->gpu_bytes, whole->peak_bytes, points, extra, extra_count, gpu);
    spill_progress_begin("planning", count);
    for (uint32_t i = 0; i < count; i++) {
        if (spill_planrow_solve(trace, gpu[i], host_bytes, method, &rows[i]) != SPILL_OK)
            count = 0;
        spill_progress_step();
    }
    spill_progress_end();
    return count;
}
