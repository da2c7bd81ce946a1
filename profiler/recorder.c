/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/recorder.h"

#include <string.h>

#include "preload/base/driver.h"
#include "preload/base/heap.h"
#include "preload/base/log.h"
#include "preload/base/size.h"
#include "profiler/mix.h"

#define RECORD_MAX ((uint32_t)1 << 20) /* then the log starts again: no iteration is that long */
#define ROOMY      ((uint64_t)16 << 20)
#define RECORD_MIN ((uint32_t)1 << 13) /* room for these is made before the first */
/* Event pairs: more ops than a driver queues, so that the oldest pair can be read without a wait.
 */
#define TIMER_MAX ((uint32_t)1 << 12)

uint64_t spill_recorder_bytes(const struct spill_recorder *rec)
{
    return rec->record_cap * sizeof(*rec->records) + rec->touch_cap * sizeof(*rec->touches) +
           rec->timer_cap * sizeof(*rec->timers) + rec->power_cap * sizeof(*rec->powers) +
           rec->last_seen_cap * sizeof(*rec->last_seen);
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
    return record;
}

static void read_timer(struct spill_recorder *rec, struct spill_timer *timer)
{
    float ms = 0;
    if (timer->record == SPILL_NO_TIMER)
        return;
    struct spill_logrec *record = &rec->records[timer->record];
    if (SPILL_CU(cuEventSynchronize)(timer->end) == CUDA_SUCCESS &&
        SPILL_CU(cuEventElapsedTime)(&ms, timer->start, timer->end) == CUDA_SUCCESS && ms > 0)
        record->duration_ns = (uint64_t)((double)ms * 1e6 + 0.5);
    record->timer = SPILL_NO_TIMER;
    timer->record = SPILL_NO_TIMER;
}

/* A free event pair, the oldest one if all are in use. SPILL_NO_TIMER: none can be had. */
static uint32_t take_timer(struct spill_recorder *rec)
{
    if (rec->timer_count < TIMER_MAX && (rec->next_timer >= rec->timer_count ||
                                         rec->timers[rec->next_timer].record != SPILL_NO_TIMER)) {
        struct spill_timer timer = {.record = SPILL_NO_TIMER};
        if (SPILL_HEAP_GROW(rec->timers, rec->timer_cap, (size_t)rec->timer_count + 1) != 0 ||
            SPILL_CU(cuEventCreate)(&timer.start, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
            SPILL_CU(cuEventCreate)(&timer.end, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return SPILL_NO_TIMER;
        rec->timers[rec->timer_count] = timer;
        return rec->timer_count++;
    }
    uint32_t t = rec->next_timer;
    rec->next_timer = (t + 1) % rec->timer_count;
    read_timer(rec, &rec->timers[t]);
    return t;
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
    for (uint32_t i = 0; i < touches->count; i++) {
        const struct spill_buf *buf = &map->bufs[touches->list[i].slot];
        key = spill_mix(key, buf->addr);
        rec->touches[rec->touch_count++] =
            (struct spill_logtouch){.serial = buf->serial, .mode = touches->list[i].mode};
    }
    record->key = spill_mix(key, map->live_bytes);
    if (rec->timing) {
        uint32_t t = take_timer(rec);
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
    record->sum = spill_mix(record->kind + 1, buf->bytes);
    record->key = spill_mix(spill_mix(record->sum, buf->addr), map->live_bytes);
    rec->record_count++;
    spill_border_push(rec);
    return SPILL_OK;
}

struct timed {
    double start_ms, end_ms; /* from the first op's start */
    uint32_t record;
};

/* Shell's method with Ciura's gaps: in place, and fast on what is nearly sorted. */
static void sort_by_end(struct timed *list, size_t count)
{
    static const uint32_t gaps[] = {29524, 9841, 3280, 1093, 364, 121, 40, 13, 4, 1};
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
        for (size_t i = gaps[g]; i < count; i++) {
            struct timed one = list[i];
            size_t j = i;
            for (; j >= gaps[g] && list[j - gaps[g]].end_ms > one.end_ms; j -= gaps[g])
                list[j] = list[j - gaps[g]];
            list[j] = one;
        }
}

#define START_MAX_MS 0.01  /* no device needs longer to start an op */
#define IDLE_MS      0.002 /* two events in a row may lie this far apart on a busy device */
#define NEAR_OPS     256 /* a float of milliseconds is exact to nanoseconds only over short times */

struct origin {
    CUevent event;
    double ms;    /* from the first op's start */
    uint32_t ops; /* timed from it */
};

/* When the op of TIMER began and ended. */
static bool time_op(struct origin *from, const struct spill_timer *timer, struct timed *to)
{
    float start = 0, end = 0;
    if (SPILL_CU(cuEventSynchronize)(timer->end) != CUDA_SUCCESS)
        return false;
    if (from->event == NULL)
        from->event = timer->start;
    if (SPILL_CU(cuEventElapsedTime)(&start, from->event, timer->start) != CUDA_SUCCESS)
        return false;
    if (++from->ops == NEAR_OPS) {
        *from = (struct origin){timer->start, from->ms + (double)start, 0};
        start = 0;
    }
    if (SPILL_CU(cuEventElapsedTime)(&end, from->event, timer->end) != CUDA_SUCCESS)
        return false;
    *to = (struct timed){from->ms + (double)start, from->ms + (double)end, timer->record};
    return true;
}

static bool began_idle(const struct timed *op, double busy_ms)
{
    return op->start_ms > busy_ms + IDLE_MS;
}

/* A step that is observed waits often, and what follows finds an idle device and pays for its own
 * start; replayed, the start is hidden behind the op before. The shortest op that paid is nearly
 * all start. */
static double start_cost(const struct timed *list, size_t count)
{
    double least_ms = START_MAX_MS, busy_ms = 0; /* until then some op was under way */
    for (size_t i = 0; i < count; i++) {
        double alone_ms = list[i].end_ms - list[i].start_ms;
        if (began_idle(&list[i], busy_ms) && alone_ms < least_ms)
            least_ms = alone_ms;
        busy_ms = list[i].end_ms;
    }
    return least_ms == START_MAX_MS ? 0 : least_ms;
}

static void set_durations(struct spill_recorder *rec, const struct timed *list, size_t count)
{
    double cost_ms = start_cost(list, count), busy_ms = 0;
    for (size_t i = 0; i < count; i++) {
        double from_ms = list[i].start_ms > busy_ms ? list[i].start_ms : busy_ms;
        if (began_idle(&list[i], busy_ms))
            from_ms += cost_ms;
        double ns = (list[i].end_ms - from_ms) * 1e6;
        busy_ms = list[i].end_ms;
        rec->records[list[i].record].duration_ns = ns < 1 ? 1 : (uint64_t)(ns + 0.5);
    }
}

enum spill_status spill_recorder_harvest(struct spill_recorder *rec, uint32_t first, uint32_t last)
{
    size_t cap = (size_t)last - first, count = 0;
    struct timed *list = spill_heap_alloc(cap * sizeof(*list));
    struct origin from = {.event = NULL};
    if (list == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = first; i < last; i++) {
        if (rec->records[i].timer == SPILL_NO_TIMER)
            continue;
        struct spill_timer *timer = &rec->timers[rec->records[i].timer];
        count += time_op(&from, timer, &list[count]);
        rec->records[i].timer = SPILL_NO_TIMER;
        timer->record = SPILL_NO_TIMER;
    }
    sort_by_end(list, count);
    set_durations(rec, list, count);
    spill_heap_free(list, cap * sizeof(*list));
    return SPILL_OK;
}

uint64_t spill_recorder_elapsed(const struct spill_recorder *rec, uint32_t period)
{
    float ms = 0;
    uint32_t to = rec->record_count;
    while (to > period && rec->records[to - 1].kind != SPILL_LOGREC_OP)
        to--;
    if (to <= period)
        return 0;
    uint32_t end = rec->records[to - 1].timer, start = rec->records[to - 1 - period].timer;
    if (end == SPILL_NO_TIMER || start == SPILL_NO_TIMER ||
        SPILL_CU(cuEventSynchronize)(rec->timers[end].end) != CUDA_SUCCESS ||
        SPILL_CU(cuEventElapsedTime)(&ms, rec->timers[start].end, rec->timers[end].end) !=
            CUDA_SUCCESS ||
        ms <= 0)
        return 0;
    return (uint64_t)((double)ms * 1e6 + 0.5);
}
