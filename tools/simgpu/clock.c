/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of the virtual clock. Operations run in an adversarial order, so an engine does not
 * book the end of its queue but the first gap that is long enough: a late-run operation lands where
 * a real engine would have had room for it. A copy engine moreover takes first what was ready
 * first: what was booked there already stays where it is (others may know its time), the engine
 * owes the overlap, and the next copy's booking pays it. */
#include <stdlib.h>
#include <string.h>

#include "op.h"

struct slot {
    uint64_t start, end;
    uint64_t ready; /* of the operation */
};

struct engine {
    struct slot *slots; /* disjoint, ascending */
    size_t count, room;
    uint64_t owed;
};

static struct engine engines[SIMGPU_MAX_DEVICES][SIMGPU_ENGINE_COUNT];

static void insert_slot(struct engine *e, size_t at, struct slot slot)
{
    if (e->count == e->room) {
        size_t room = e->room != 0 ? e->room * 2 : 64;
        struct slot *grown = realloc(e->slots, room * sizeof *grown);
        if (grown == NULL)
            return; /* an engine that forgets a booking is merely too fast */
        e->slots = grown;
        e->room = room;
    }
    memmove(&e->slots[at + 1], &e->slots[at], (e->count - at) * sizeof *e->slots);
    e->slots[at] = slot;
    e->count++;
}

/* The first slot that ends after TIME. */
static size_t slot_after(const struct engine *e, uint64_t time)
{
    size_t low = 0, high = e->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (e->slots[mid].end <= time)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Where an operation of DURATION begins that is ready at READY; AT is its place among the slots.
 * IN_TURN: before what was ready only later. */
static uint64_t find_place(const struct engine *e, uint64_t ready, uint64_t duration, bool in_turn,
                           size_t *at)
{
    uint64_t start = ready;
    size_t i = slot_after(e, ready);
    for (; i < e->count && e->slots[i].start < start + duration; i++) {
        if (in_turn && e->slots[i].start >= start && e->slots[i].ready > ready)
            break;
        if (e->slots[i].end > start)
            start = e->slots[i].end;
    }
    *at = i;
    return start;
}

static uint64_t busy_within(const struct engine *e, uint64_t start, uint64_t end)
{
    uint64_t busy = 0;
    for (size_t i = slot_after(e, start); i < e->count && e->slots[i].start < end; i++) {
        uint64_t from = e->slots[i].start > start ? e->slots[i].start : start;
        uint64_t to = e->slots[i].end < end ? e->slots[i].end : end;
        busy += to - from;
    }
    return busy;
}

uint64_t simgpu_clock_book(struct simgpu_device *device, enum simgpu_engine engine, uint64_t ready,
                           uint64_t *duration)
{
    if (engine == SIMGPU_ENGINE_NONE || *duration == 0)
        return ready;
    struct engine *e = &engines[device->ordinal][engine];
    bool copies = engine != SIMGPU_ENGINE_COMPUTE;
    size_t at;
    uint64_t start = find_place(e, ready, *duration, copies, &at);
    if (copies && simgpu_config.duplex < 1) {
        /* What of the copy overlaps the other direction goes at the reduced rate. */
        const struct engine *other = &engines[device->ordinal][!engine];
        uint64_t shared = busy_within(other, start, start + *duration);
        *duration += (uint64_t)((double)shared * (1 / simgpu_config.duplex - 1));
        start = find_place(e, ready, *duration, copies, &at);
    }
    uint64_t end = start + *duration + e->owed, last = at < e->count ? e->slots[at].start : end;
    e->owed = end > last ? end - last : 0;
    if (end > last)
        end = last;
    if (end > start)
        insert_slot(e, at, (struct slot){start, end, ready});
    return start;
}

void simgpu_clock_forget(struct simgpu_device *device, uint64_t horizon)
{
    for (int i = 0; i < SIMGPU_ENGINE_COUNT; i++) {
        struct engine *e = &engines[device->ordinal][i];
        if (e->count < 64)
            continue;
        size_t gone = 0;
        while (gone < e->count && e->slots[gone].end <= horizon)
            gone++;
        e->count -= gone;
        memmove(e->slots, e->slots + gone, e->count * sizeof *e->slots);
    }
}
