/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/follow.h"

enum spill_status spill_follow_start(struct spill_follow *follow, const struct spill_recorder *rec,
                                     uint32_t period)
{
    if (SPILL_HEAP_GROW(follow->keys, follow->key_cap, period) != 0)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < period; i++)
        follow->keys[i] = rec->records[rec->record_count - period + i].key;
    follow->period = period;
    follow->matched = 2;
    follow->at = follow->others = 0;
    follow->off = false;
    return SPILL_OK;
}

void spill_follow_end(struct spill_follow *follow)
{
    spill_heap_free(follow->keys, follow->key_cap * sizeof(*follow->keys));
    *follow = (struct spill_follow){.keys = NULL};
}

static const char *event_name(const struct spill_logrec *record)
{
    return record->kind == SPILL_LOGREC_ALLOC  ? "allocation"
           : record->kind == SPILL_LOGREC_FREE ? "free"
                                               : spill_iteration_op_name(record);
}

static uint32_t expected_name(struct spill_iteration *it, uint32_t at)
{
    const struct spill_iteration_event *event = &it->events[at];
    if (event->kind == SPILL_LOGREC_OP)
        return it->trace.ops[event->index].name;
    return spill_iteration_name(it, event->kind == SPILL_LOGREC_ALLOC ? "allocation" : "free");
}

static void note(const struct spill_follow *follow, const struct spill_logrec *record,
                 struct spill_iteration *it)
{
    uint32_t op = 0;
    if (it->trace.difference_count == SPILL_TRACE_DIFFERENCES ||
        SPILL_HEAP_GROW(it->trace.differences, it->difference_cap,
                        (size_t)it->trace.difference_count + 1) != 0)
        return;
    for (uint32_t i = 0; i < follow->at; i++)
        op += it->events[i].kind == SPILL_LOGREC_OP;
    it->trace.differences[it->trace.difference_count++] =
        (struct spill_trace_difference){.iteration = follow->matched + follow->others,
                                        .op = op,
                                        .expected = expected_name(it, follow->at),
                                        .found = spill_iteration_name(it, event_name(record))};
}

void spill_follow_event(struct spill_follow *follow, const struct spill_recorder *rec,
                        struct spill_iteration *it)
{
    const struct spill_logrec *record = &rec->records[rec->record_count - 1];
    if (follow->period == 0)
        return;
    if (record->key != follow->keys[follow->at]) {
        if (!follow->off) {
            note(follow, record, it);
            follow->others++;
        }
        follow->off = true;
        follow->at = 0;
        if (record->key != follow->keys[0])
            return;
    }
    if (++follow->at < follow->period)
        return;
    follow->at = 0;
    follow->off = false;
    follow->matched++;
}
