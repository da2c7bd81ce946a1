/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sample.h"

#include "preload/base/heap.h"
#include "profiler/timers.h"

bool spill_sample_open(struct spill_sample *sample, const struct spill_script *s)
{
    uint64_t items = s->op_count + 2 * (uint64_t)s->move_count;
    if (items > SPILL_SAMPLE_ITEMS ||
        SPILL_HEAP_GROW(sample->events, sample->event_cap, SPILL_SAMPLE_MOMENTS * items) != 0 ||
        SPILL_HEAP_GROW(sample->least_ns, sample->least_cap, items) != 0)
        return false;
    for (; sample->made < SPILL_SAMPLE_MOMENTS * items; sample->made++)
        if (SPILL_CU(cuEventCreate)(&sample->events[sample->made], CU_EVENT_DEFAULT) !=
            CUDA_SUCCESS)
            return false;
    for (uint64_t i = 0; i < items; i++)
        sample->least_ns[i] = UINT64_MAX;
    sample->op_count = s->op_count;
    sample->move_count = s->move_count;
    sample->taken = 0;
    sample->failed = false;
    return true;
}

static CUevent event_of(const struct spill_sample *sample, uint32_t item,
                        enum spill_sample_moment moment)
{
    return sample->events[SPILL_SAMPLE_MOMENTS * item + moment];
}

static void take(struct spill_sample *sample, uint32_t item, uint64_t ns)
{
    if (ns < sample->least_ns[item])
        sample->least_ns[item] = ns;
}

static bool read_copies(struct spill_sample *sample)
{
    int64_t ns;
    for (uint32_t i = sample->op_count; i < sample->op_count + 2 * sample->move_count; i++) {
        if (!spill_timers_between(event_of(sample, i, SPILL_SAMPLE_BEGAN),
                                  event_of(sample, i, SPILL_SAMPLE_ENDED), &ns))
            return false;
        take(sample, i, ns < 0 ? 0 : (uint64_t)ns);
    }
    return true;
}

/* How long the plan's waits held each op's stream. */
static bool read_waits(struct spill_sample *sample, const struct spill_script *s, bool *of_in)
{
    int64_t ns;
    for (uint32_t m = 0; m < s->move_count; m++)
        if (s->moves[m].in_event != SPILL_NO_EVENT)
            of_in[s->moves[m].in_event] = true;
    sample->wait_in_ns = sample->wait_memory_ns = 0;
    for (uint32_t k = 0; k < s->op_count; k++) {
        bool in = false;
        if (s->ops[k].waits.count == 0)
            continue;
        if (!spill_timers_between(event_of(sample, k, SPILL_SAMPLE_CAME),
                                  event_of(sample, k, SPILL_SAMPLE_BEGAN), &ns))
            return false;
        for (uint32_t i = 0; i < s->ops[k].waits.count; i++)
            in = in || of_in[s->waits[s->ops[k].waits.first + i]];
        *(in ? &sample->wait_in_ns : &sample->wait_memory_ns) += ns < 0 ? 0 : (uint64_t)ns;
    }
    return true;
}

/* The ops' shares of the time, as a profile has them. */
static bool read_ops(struct spill_sample *sample, struct spill_logrec *records,
                     struct spill_logrec **list)
{
    CUevent first = event_of(sample, 0, SPILL_SAMPLE_BEGAN);
    int64_t ns;
    for (uint32_t k = 0; k < sample->op_count; k++) {
        CUevent began = event_of(sample, k, SPILL_SAMPLE_BEGAN);
        if (!spill_timers_between(first, began, &records[k].begin_ns) ||
            !spill_timers_between(began, event_of(sample, k, SPILL_SAMPLE_ENDED), &ns))
            return false;
        records[k].end_ns = records[k].begin_ns + ns;
        list[k] = &records[k];
    }
    spill_timers_share(list, sample->op_count);
    for (uint32_t k = 0; k < sample->op_count; k++)
        take(sample, k, records[k].duration_ns);
    return true;
}

bool spill_sample_read(struct spill_sample *sample, const struct spill_script *s)
{
    size_t record_bytes = s->op_count * sizeof(struct spill_logrec);
    size_t list_bytes = s->op_count * sizeof(struct spill_logrec *);
    struct spill_logrec *records = spill_heap_alloc(record_bytes);
    struct spill_logrec **list = spill_heap_alloc(list_bytes);
    bool *of_in = spill_heap_alloc((size_t)s->event_count + 1);
    /* The ops last: shares are taken only when all else is known. */
    bool read = records != NULL && list != NULL && of_in != NULL && !sample->failed &&
                read_copies(sample) && read_waits(sample, s, of_in) &&
                read_ops(sample, records, list);
    spill_heap_free(records, record_bytes);
    spill_heap_free(list, list_bytes);
    spill_heap_free(of_in, (size_t)s->event_count + 1);
    sample->taken += read;
    return read;
}

void spill_sample_end(struct spill_sample *sample)
{
    spill_heap_free(sample->events, sample->event_cap * sizeof(*sample->events));
    spill_heap_free(sample->least_ns, sample->least_cap * sizeof(*sample->least_ns));
    *sample = (struct spill_sample){0};
}
