/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/timeline.h"

#include <stdlib.h>
#include <string.h>

struct stretch {
    uint64_t start, end;
    bool paged;
};

static bool measured(const struct spill_trace *trace)
{
    for (uint32_t k = 0; k < trace->op_count; k++)
        if (trace->ops[k].start_ns != 0)
            return true;
    return false;
}

void spill_timeline_starts(const struct spill_trace *trace, uint64_t *start)
{
    bool known = measured(trace);
    uint64_t end = 0;
    for (uint32_t k = 0; k < trace->op_count; k++) {
        start[k] = known ? trace->ops[k].start_ns : end;
        uint64_t over = start[k] + trace->ops[k].duration_ns;
        end = over > end ? over : end;
    }
    start[trace->op_count] = known && trace->step_ns > end ? trace->step_ns : end;
}

static int by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

enum spill_status spill_timeline_sum(const struct spill_trace *trace, struct spill_timesum *sum)
{
    size_t n = trace->op_count;
    uint64_t *start = calloc(n + 1, sizeof(*start)), now = 0;
    struct stretch *list = calloc(n + 1, sizeof(*list));
    memset(sum, 0, sizeof(*sum));
    if (start == NULL || list == NULL) {
        free(start);
        free(list);
        return SPILL_ERR_NOMEM;
    }
    sum->measured = measured(trace);
    spill_timeline_starts(trace, start);
    for (size_t k = 0; k < n; k++)
        list[k] = (struct stretch){start[k], start[k] + trace->ops[k].duration_ns,
                                   trace->ops[k].paged_bytes > 0};
    list[n] = (struct stretch){start[n], start[n], false};
    qsort(list, n + 1, sizeof(*list), by_start);
    for (size_t i = 0; i <= n; i++) {
        if (list[i].start > now) {
            *(list[i].paged ? &sum->page_gap_ns : &sum->host_gap_ns) += list[i].start - now;
            now = list[i].start;
        }
        if (list[i].end > now) {
            sum->busy_ns += list[i].end - now;
            now = list[i].end;
        }
    }
    free(start);
    free(list);
    return SPILL_OK;
}
