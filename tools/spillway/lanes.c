/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/lanes.h"

#include <stdlib.h>
#include <string.h>

struct draft {
    struct spill_lanespan *spans;
    uint32_t count;
    uint64_t length_ns;
};

static bool open_draft(struct draft *draft, uint64_t length_ns, size_t spans)
{
    /* Each may wrap round the border, and so be two. */
    draft->spans = calloc(2 * spans + 1, sizeof(*draft->spans));
    draft->count = 0;
    draft->length_ns = length_ns > 0 ? length_ns : 1;
    return draft->spans != NULL;
}

static void add(struct draft *draft, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t start = from_ns % draft->length_ns, end = start + (to_ns - from_ns);
    if (to_ns <= from_ns)
        return;
    if (end > draft->length_ns) {
        draft->spans[draft->count++] = (struct spill_lanespan){0, end - draft->length_ns, 1000};
        end = draft->length_ns;
    }
    draft->spans[draft->count++] = (struct spill_lanespan){start, end, 1000};
}

static int earlier(const void *a, const void *b)
{
    const struct spill_lanespan *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static uint64_t slice_from(const struct draft *draft, uint32_t slice)
{
    return (uint64_t)((double)slice / SPILL_LANES_SPANS * (double)draft->length_ns);
}

/* Busy time of each slice instead of each span. */
static enum spill_status decimate(struct draft *draft, struct spill_lane *lane)
{
    uint64_t *busy = calloc(SPILL_LANES_SPANS, sizeof(*busy));
    lane->spans = calloc(SPILL_LANES_SPANS, sizeof(*lane->spans));
    if (busy == NULL || lane->spans == NULL) {
        free(busy);
        return SPILL_ERR_NOMEM;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < draft->count; i++) {
        const struct spill_lanespan *span = &draft->spans[i];
        while (first + 1 < SPILL_LANES_SPANS && slice_from(draft, first + 1) <= span->from_ns)
            first++;
        for (uint32_t s = first; s < SPILL_LANES_SPANS; s++) {
            uint64_t from = slice_from(draft, s), to = slice_from(draft, s + 1);
            if (from >= span->to_ns)
                break;
            from = from > span->from_ns ? from : span->from_ns;
            to = to < span->to_ns ? to : span->to_ns;
            busy[s] += to > from ? to - from : 0;
        }
    }
    for (uint32_t s = 0; s < SPILL_LANES_SPANS; s++) {
        uint64_t from = slice_from(draft, s), to = slice_from(draft, s + 1);
        uint64_t permille = to > from ? (busy[s] * 1000 + (to - from) / 2) / (to - from) : 0;
        if (permille > 0)
            lane->spans[lane->count++] =
                (struct spill_lanespan){from, to, permille < 1000 ? (uint32_t)permille : 1000};
    }
    lane->decimated = true;
    free(busy);
    return SPILL_OK;
}

/* DRAFT's spans become LANE's. */
static enum spill_status close_draft(struct draft *draft, struct spill_lane *lane)
{
    enum spill_status status = SPILL_OK;
    qsort(draft->spans, draft->count, sizeof(*draft->spans), earlier);
    for (uint32_t i = 0; i < draft->count; i++)
        lane->busy_ns += draft->spans[i].to_ns - draft->spans[i].from_ns;
    if (draft->count > SPILL_LANES_SPANS) {
        status = decimate(draft, lane);
        free(draft->spans);
    } else {
        lane->spans = draft->spans;
        lane->count = draft->count;
    }
    return status;
}

static enum spill_status build_copies(const struct spill_plan *plan, bool in,
                                      struct spill_lane *lane)
{
    struct draft draft;
    if (!open_draft(&draft, plan->step_ns, plan->move_count))
        return SPILL_ERR_NOMEM;
    for (uint32_t m = 0; m < plan->move_count; m++)
        add(&draft, in ? plan->moves[m].in_start_ns : plan->moves[m].out_start_ns,
            in ? plan->moves[m].in_end_ns : plan->moves[m].out_end_ns);
    return close_draft(&draft, lane);
}

static enum spill_status build_waits(const struct spill_keptplan *planned, struct spill_lane *lane)
{
    const struct spill_problem *problem = &planned->problem;
    uint32_t n = problem->op_count;
    struct draft draft;
    if (!open_draft(&draft, planned->plan->step_ns, n))
        return SPILL_ERR_NOMEM;
    for (uint32_t k = 0; k < n; k++)
        add(&draft, planned->op_start[k] + problem->ops[k].duration_ns,
            k + 1 < n ? planned->op_start[k + 1] : planned->plan->step_ns);
    return close_draft(&draft, lane);
}

enum spill_status spill_lanes_build(const struct spill_keptplan *planned,
                                    struct spill_lane lanes[SPILL_LANES_COUNT])
{
    memset(lanes, 0, SPILL_LANES_COUNT * sizeof(*lanes));
    enum spill_status status = build_copies(planned->plan, false, &lanes[SPILL_LANES_OUT]);
    if (status == SPILL_OK)
        status = build_copies(planned->plan, true, &lanes[SPILL_LANES_IN]);
    if (status == SPILL_OK)
        status = build_waits(planned, &lanes[SPILL_LANES_WAIT]);
    if (status != SPILL_OK)
        spill_lanes_free(lanes);
    return status;
}

void spill_lanes_free(struct spill_lane lanes[SPILL_LANES_COUNT])
{
    for (int i = 0; i < SPILL_LANES_COUNT; i++)
        free(lanes[i].spans);
    memset(lanes, 0, SPILL_LANES_COUNT * sizeof(*lanes));
}
