/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/timers.h"

#include "preload/base/driver.h"
#include "preload/base/heap.h"

#define START_MAX_NS 10000 /* no device needs longer to start an op */
#define IDLE_NS      2000  /* two events in a row may lie this far apart on a busy device */

bool spill_timers_between(CUevent from, CUevent to, int64_t *ns)
{
    float ms = 0;
    if (SPILL_CU(cuEventElapsedTime)(&ms, from, to) != CUDA_SUCCESS)
        return false;
    *ns = (int64_t)((double)ms * 1e6 + (ms < 0 ? -0.5 : 0.5));
    return true;
}

static bool elapsed(CUevent from, CUevent to, int64_t *ns)
{
    return SPILL_CU(cuEventSynchronize)(to) == CUDA_SUCCESS && spill_timers_between(from, to, ns);
}

/* When the op of pair TO began, from that of pair FROM, which began at BEGIN_NS. */
static void set_begin(struct spill_recorder *rec, uint32_t from, int64_t begin_ns, uint32_t to)
{
    struct spill_timer *timer = &rec->timers[to];
    int64_t ns;
    if (from == to || timer->record == SPILL_NO_TIMER || rec->records[timer->record].begun ||
        !elapsed(rec->timers[from].start, timer->start, &ns))
        return;
    rec->records[timer->record].begin_ns = begin_ns + ns;
    rec->records[timer->record].begun = true;
}

/* Reads pair T, and when the op of the next pair began, while the two can still be compared. Times
 * are taken from neighbour to neighbour: a float of milliseconds is exact to nanoseconds only over
 * short times. */
static void read_timer(struct spill_recorder *rec, uint32_t t)
{
    struct spill_timer *timer = &rec->timers[t];
    uint32_t next = (t + 1) % rec->timer_count;
    int64_t ns;
    if (timer->record == SPILL_NO_TIMER)
        return;
    struct spill_logrec *record = &rec->records[timer->record];
    if (rec->read_timer != SPILL_NO_TIMER)
        set_begin(rec, rec->read_timer, rec->read_begin_ns, t);
    record->begun = true; /* or it is the first: times count from it */
    if (elapsed(timer->start, timer->end, &ns)) {
        record->end_ns = record->begin_ns + ns;
        record->ended = true;
    }
    if (rec->timers[next].record != SPILL_NO_TIMER && rec->timers[next].record > timer->record)
        set_begin(rec, t, record->begin_ns, next);
    rec->read_timer = t;
    rec->read_begin_ns = record->begin_ns;
    record->timer = SPILL_NO_TIMER;
    timer->record = SPILL_NO_TIMER;
}

uint32_t spill_timers_take(struct spill_recorder *rec, uint32_t most)
{
    uint32_t t = rec->next_timer;
    if (rec->timer_count < most &&
        (t >= rec->timer_count || rec->timers[t].record != SPILL_NO_TIMER)) {
        struct spill_timer timer = {.record = SPILL_NO_TIMER};
        if (SPILL_HEAP_GROW(rec->timers, rec->timer_cap, (size_t)rec->timer_count + 1) != 0 ||
            SPILL_CU(cuEventCreate)(&timer.start, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
            SPILL_CU(cuEventCreate)(&timer.end, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
            return SPILL_NO_TIMER;
        rec->timers[rec->timer_count] = timer;
        return rec->timer_count++;
    }
    rec->next_timer = (t + 1) % rec->timer_count;
    read_timer(rec, t);
    if (rec->read_timer == t) { /* about to be recorded anew */
        set_begin(rec, t, rec->read_begin_ns, rec->next_timer);
        rec->read_timer = SPILL_NO_TIMER;
    }
    return t;
}

/* Shell's method with Ciura's gaps: in place, and fast on what is nearly sorted. */
static void sort_by_end(struct spill_logrec **list, size_t count)
{
    static const uint32_t gaps[] = {29524, 9841, 3280, 1093, 364, 121, 40, 13, 4, 1};
    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++)
        for (size_t i = gaps[g]; i < count; i++) {
            struct spill_logrec *one = list[i];
            size_t j = i;
            for (; j >= gaps[g] && list[j - gaps[g]]->end_ns > one->end_ns; j -= gaps[g])
                list[j] = list[j - gaps[g]];
            list[j] = one;
        }
}

static bool began_idle(const struct spill_logrec *op, int64_t busy_ns)
{
    return op->begin_ns > busy_ns + IDLE_NS;
}

/* A step that is observed waits often, and what follows finds an idle device and pays for its own
 * start; replayed, the start is hidden behind the op before. The shortest op that paid is nearly
 * all start. */
static int64_t start_cost(struct spill_logrec *const *list, size_t count)
{
    int64_t least_ns = START_MAX_NS;
    for (size_t i = 1; i < count; i++) { /* until the end before it some op was under way */
        int64_t alone_ns = list[i]->end_ns - list[i]->begin_ns;
        if (began_idle(list[i], list[i - 1]->end_ns) && alone_ns < least_ns)
            least_ns = alone_ns;
    }
    return least_ns == START_MAX_NS ? 0 : least_ns;
}

static void set_durations(struct spill_logrec *const *list, size_t count)
{
    int64_t cost_ns = start_cost(list, count);
    for (size_t i = 0; i < count; i++) {
        int64_t from_ns = list[i]->begin_ns;
        if (i > 0 && list[i - 1]->end_ns > from_ns)
            from_ns = list[i - 1]->end_ns;
        if (i > 0 && began_idle(list[i], list[i - 1]->end_ns))
            from_ns += cost_ns;
        list[i]->duration_ns =
            list[i]->end_ns <= from_ns ? 1 : (uint64_t)(list[i]->end_ns - from_ns);
    }
}

void spill_timers_share(struct spill_logrec **list, size_t count)
{
    sort_by_end(list, count);
    set_durations(list, count);
}

enum spill_status spill_timers_harvest(struct spill_recorder *rec, uint32_t first, uint32_t last)
{
    size_t cap = (size_t)last - first, count = 0;
    struct spill_logrec **list = spill_heap_alloc(cap * sizeof(struct spill_logrec *));
    if (list == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = first; i < last; i++) {
        if (rec->records[i].timer != SPILL_NO_TIMER)
            read_timer(rec, rec->records[i].timer);
        if (rec->records[i].ended)
            list[count++] = &rec->records[i];
    }
    spill_timers_share(list, count);
    spill_heap_free(list, cap * sizeof(struct spill_logrec *));
    return SPILL_OK;
}

uint64_t spill_timers_elapsed(const struct spill_recorder *rec, uint32_t period)
{
    uint32_t to = rec->record_count;
    while (to > period && rec->records[to - 1].kind != SPILL_LOGREC_OP)
        to--;
    if (to <= period)
        return 0;
    const struct spill_logrec *last = &rec->records[to - 1], *before = last - period;
    return last->ended && before->ended && last->end_ns > before->end_ns
               ? (uint64_t)(last->end_ns - before->end_ns)
               : 0;
}
