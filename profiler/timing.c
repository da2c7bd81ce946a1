/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/timing.h"

static uint64_t less_duration(uint64_t a, uint64_t b)
{
    return b != 0 && (a == 0 || b < a) ? b : a;
}

#define UNKNOWN INT64_MIN

/* From the start of op BEFORE's share of the time to that of OP's; below zero where ops of two
 * streams end in another order than they were launched in. */
static int64_t since(const struct spill_logrec *before, const struct spill_logrec *op)
{
    if (before == NULL || !before->ended || !op->ended)
        return UNKNOWN;
    return op->end_ns - (int64_t)op->duration_ns - (before->end_ns - (int64_t)before->duration_ns);
}

static int64_t less_since(int64_t a, int64_t b)
{
    if (a == UNKNOWN || b == UNKNOWN)
        return a == UNKNOWN ? b : a;
    return a >= 0 && b >= 0 && b < a ? b : a;
}

static const struct spill_logrec *op_before(const struct spill_recorder *rec, uint32_t i)
{
    while (i > 0 && rec->records[i - 1].kind != SPILL_LOGREC_OP)
        i--;
    return i == 0 ? NULL : &rec->records[i - 1];
}

static uint64_t later(uint64_t start, int64_t by)
{
    return by < 0 && (uint64_t)-by > start ? 0 : start + (uint64_t)by;
}

void spill_timing_fill(struct spill_trace *trace, const struct spill_recorder *rec, uint32_t period)
{
    uint32_t first = period == 0 ? 0 : rec->record_count - period, k = 0;
    uint64_t paged = 0;
    int64_t border = UNKNOWN;
    trace->step_ns = trace->paged_bytes = 0;
    for (uint32_t i = first; i < rec->record_count; i++) {
        const struct spill_logrec *record = &rec->records[i];
        const struct spill_logrec *before = period == 0 ? record : &rec->records[i - period];
        paged += record->paged;
        trace->paged_bytes += record->paged;
        if (record->kind != SPILL_LOGREC_OP)
            continue;
        struct spill_trace_op *op = &trace->ops[k];
        op->duration_ns = less_duration(record->duration_ns, before->duration_ns);
        op->paged_bytes = paged;
        paged = 0;
        int64_t after = since(op_before(rec, i), record);
        if (k == 0) {
            op->start_ns = 0;
            border = after; /* the one before it was the last of an iteration */
        } else {
            const struct spill_trace_op *last = &trace->ops[k - 1];
            if (period != 0)
                after = less_since(after, since(op_before(rec, i - period), before));
            op->start_ns = after == UNKNOWN ? last->start_ns + last->duration_ns
                                            : later(last->start_ns, after);
        }
        if (op->start_ns + op->duration_ns > trace->step_ns)
            trace->step_ns = op->start_ns + op->duration_ns;
        k++;
    }
    /* Border to border, with what the GPU waits between the last op and the next first one. */
    if (k > 0 && period != 0 && border != UNKNOWN &&
        later(trace->ops[k - 1].start_ns, border) > trace->step_ns)
        trace->step_ns = later(trace->ops[k - 1].start_ns, border);
}
