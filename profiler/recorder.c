/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/recorder.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "profiler/mix.h"
#include "profiler/timers.h"

#define RECORD_MAX ((uint32_t)1 << 20) /* then the log starts again: no iteration is that long */
#define ROOMY      ((uint64_t)16 << 20)
#define RECORD_MIN ((uint32_t)1 << 13) /* room for these is made before the first */

uint64_t spill_recorder_bytes(const struct spill_recorder *rec)
{
    return rec->record_cap * sizeof(*rec->records) + rec->touch_cap * sizeof(*rec->touches) +
           rec->after_cap * sizeof(*rec->afters) + rec->timer_cap * sizeof(*rec->timers) +
           rec->power_cap * sizeof(*rec->powers) + rec->last_seen_cap * sizeof(*rec->last_seen);
}

/* Room for one more record and COUNT more touches, and what goes with a record, within the bound.
 */
static bool make_room(struct spill_recorder *rec, uint32_t count)
{
    size_t records = (size_t)rec->record_count + 1, touches = (size_t)rec->touch_count + count;
    if (records + 1 <= rec->power_cap && records <= rec->record_cap && touches <= rec->touch_cap)
        return true;
    uint64_t more =
        (spill_heap_next(rec->record_cap, records, sizeof(*rec->records)) - rec->record_cap) *
            sizeof(*rec->records) +
        (spill_heap_next(rec->touch_cap, touches, sizeof(*rec->touches)) - rec->touch_cap) *
            sizeof(*rec->touches);
    uint64_t bytes = spill_recorder_bytes(rec);
    if (rec->bytes_max != 0 && bytes + more > rec->bytes_max) {
        char used[32], bound[32];
        spill_log_once(SPILL_LOG_WARN,
                       "the profiler's memory is full (%s of %s after %u events): it records no "
                       "more, the program goes on; raise SPILLWAY_PROFILE_MEM",
                       spill_size_format(bytes, used, sizeof(used)),
                       spill_size_format(rec->bytes_max, bound, sizeof(bound)), rec->record_count);
        return false;
    }
    return SPILL_HEAP_GROW(rec->records, rec->record_cap, records) == 0 &&
           SPILL_HEAP_GROW(rec->touches, rec->touch_cap, touches) == 0 &&
           SPILL_HEAP_GROW(rec->powers, rec->power_cap, records + 1) == 0;
}

void spill_recorder_reset(struct spill_recorder *rec)
{
    rec->record_count = 0;
    rec->touch_count = 0;
    rec->after_count = 0;
    memset(&rec->host_waits, 0, sizeof(rec->host_waits));
    spill_streamorder_reset(&rec->order);
    rec->read_timer = SPILL_NO_TIMER;
    rec->next_timer = 0; /* so that pairs are used, and read, in the order of the log */
    for (uint32_t i = 0; i < rec->timer_count; i++)
        rec->timers[i].record = SPILL_NO_TIMER;
    spill_border_reset(rec);
    if (rec->record_cap == 0 && (rec->bytes_max == 0 || rec->bytes_max > ROOMY)) {
        /* What does not come now comes later. */
        (void)SPILL_HEAP_GROW(rec->records, rec->record_cap, RECORD_MIN);
        (void)SPILL_HEAP_GROW(rec->powers, rec->power_cap, RECORD_MIN);
        (void)SPILL_HEAP_GROW(rec->touches, rec->touch_cap, 4 * RECORD_MIN);
    }
}

void spill_recorder_end(struct spill_recorder *rec)
{
    spill_border_reset(rec);
    spill_streamorder_end(&rec->order);
    spill_heap_free(rec->afters, rec->after_cap * sizeof(*rec->afters));
    spill_heap_free(rec->records, rec->record_cap * sizeof(*rec->records));
    spill_heap_free(rec->touches, rec->touch_cap * sizeof(*rec->touches));
    spill_heap_free(rec->timers, rec->timer_cap * sizeof(*rec->timers));
    spill_heap_free(rec->powers, rec->power_cap * sizeof(*rec->powers));
    memset(rec, 0, sizeof(*rec));
}

static struct spill_logrec *push(struct spill_recorder *rec, uint32_t touches)
{
    if (rec->record_count == RECORD_MAX) {
        spill_log_once(SPILL_LOG_WARN,
                       "no repeating iteration in %u events: starting to look again", RECORD_MAX);
        spill_recorder_reset(rec);
    }
    if (!make_room(rec, touches))
        return NULL;
    struct spill_logrec *record = &rec->records[rec->record_count];
    memset(record, 0, sizeof(*record));
    record->timer = SPILL_NO_TIMER;
    record->paged = rec->paged - rec->paged_logged;
    rec->paged_logged = rec->paged;
    return record;
}

void spill_recorder_host_waited(struct spill_recorder *rec, const struct spill_afters *after)
{
    spill_streamorder_add(&rec->host_waits, after);
}

/* What the op that becomes the next record waits for. Without memory that is not known. */
static void list_afters(struct spill_recorder *rec, struct spill_logrec *record)
{
    struct spill_afters lists[2] = {
        spill_streamorder_op(&rec->order, record->stream, rec->record_count), rec->host_waits};
    memset(&rec->host_waits, 0, sizeof(rec->host_waits));
    record->after_first = rec->after_count;
    if (SPILL_HEAP_GROW(rec->afters, rec->after_cap,
                        (size_t)rec->after_count + 2 * SPILL_STREAMORDER_AFTER) != 0)
        return;
    for (unsigned host = 0; host < 2; host++)
        for (unsigned i = 0; i < SPILL_STREAMORDER_AFTER; i++)
            if (lists[host].record[i] != 0)
                rec->afters[rec->after_count++] =
                    (struct spill_logafter){lists[host].record[i] - 1, host == 1};
    record->after_count = rec->after_count - record->after_first;
}

enum spill_status spill_recorder_op_begin(struct spill_recorder *rec,
                                          const struct spill_bufmap *map,
                                          const struct spill_opcall *op,
                                          const struct spill_touches *touches)
{
    struct spill_logrec *record = push(rec, touches->count);
    if (record == NULL)
        return SPILL_ERR_NOMEM;
    record->kind = SPILL_LOGREC_OP;
    record->opkind = op->kind;
    record->function = op->function;
    record->stream = op->stream;
    record->bytes = op->bytes;
    memcpy(record->grid, op->grid, sizeof(record->grid));
    memcpy(record->block, op->block, sizeof(record->block));
    record->touch_first = rec->touch_count;
    record->touch_count = touches->count;
    uint64_t key = spill_mix(SPILL_LOGREC_OP + 1, op->kind);
    key = spill_mix(key, (uintptr_t)op->function);
    key = spill_mix(key, (uintptr_t)op->stream);
    key = spill_mix(key, op->bytes);
    for (unsigned i = 0; i < 3; i++)
        key = spill_mix(key, (uint64_t)op->grid[i] << 32 | op->block[i]);
    record->sum = key;
    list_afters(rec, record);
    for (uint32_t i = 0; i < touches->count; i++) {
        const struct spill_buf *buf = &map->bufs[touches->list[i].slot];
        key = spill_mix(key, buf->addr);
        rec->touches[rec->touch_count++] =
            (struct spill_logtouch){.serial = buf->serial, .mode = touches->list[i].mode};
    }
    record->key = spill_mix(key, map->live_bytes);
    rec->live_bytes = map->live_bytes;
    if (rec->timing) {
        uint32_t t = spill_timers_take(rec, SPILL_TIMERS_MAX);
        if (t != SPILL_NO_TIMER &&
            SPILL_CU(cuEventRecord)(rec->timers[t].start, op->stream) == CUDA_SUCCESS)
            record->timer = t;
    }
    return SPILL_OK;
}

void spill_recorder_op_end(struct spill_recorder *rec, const struct spill_opcall *op)
{
    struct spill_logrec *record = &rec->records[rec->record_count++];
    if (record->timer != SPILL_NO_TIMER) {
        if (SPILL_CU(cuEventRecord)(rec->timers[record->timer].end, op->stream) == CUDA_SUCCESS)
            rec->timers[record->timer].record = rec->record_count - 1;
        else
            record->timer = SPILL_NO_TIMER;
    }
    /* A copy to host memory that is no asynchronous one has come when the call returns. */
    if (op->kind == SPILL_OPKIND_COPY && !op->host_pending && op->host_source == NULL &&
        op->range_count == 1)
        spill_recorder_host_waited(rec, &(struct spill_afters){{rec->record_count}});
    spill_border_push(rec);
}

enum spill_status spill_recorder_alloc(struct spill_recorder *rec, const struct spill_bufmap *map,
                                       uint32_t slot, bool freed)
{
    struct spill_logrec *record = push(rec, 0);
    if (record == NULL)
        return SPILL_ERR_NOMEM;
    const struct spill_buf *buf = &map->bufs[slot];
    record->kind = freed ? SPILL_LOGREC_FREE : SPILL_LOGREC_ALLOC;
    record->serial = buf->serial;
    record->addr = buf->addr;
    record->bytes = buf->bytes;
    record->site = buf->site;
    record->pin = buf->pin;
    record->sum = spill_mix(record->kind + 1, buf->bytes);
    record->key = spill_mix(spill_mix(record->sum, buf->addr), map->live_bytes);
    rec->live_bytes = map->live_bytes - (freed ? buf->bytes : 0);
    rec->record_count++;
    spill_border_push(rec);
    return SPILL_OK;
}
