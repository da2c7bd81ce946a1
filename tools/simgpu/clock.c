/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of the virtual clock. Operations run in an adversarial order, so an engine books the first
 * gap that is long enough at or after an operation's ready time, not the end of its queue: a late-run
 * operation still lands where a real engine would have had room for it. */
#include <stdlib.h>
#include <string.h>

#include "op.h"

struct slot {
    uint64_t start, end;
};

struct engine {
    struct slot *slots; /* disjoint, ascending, touching ones merged */
    size_t count, room;
};

static struct engine engines[SIMGPU_MAX_DEVICES][SIMGPU_ENGINE_COUNT];

static void insert_slot(struct engine *e, size_t at, uint64_t start, uint64_t end)
{
    bool joins_left = at > 0 && e->slots[at - 1].end == start;
    bool joins_right = at < e->count && e->slots[at].start == end;
    if (joins_left && joins_right) {
        e->slots[at - 1].end = e->slots[at].end;
        memmove(&e->slots[at], &e->slots[at + 1], (e->count - at - 1) * sizeof *e->slots);
        e->count--;
    } else if (joins_left) {
        e->slots[at - 1].end = end;
    } else if (joins_right) {
        e->slots[at].start = start;
    } else {
        if (e->count == e->room) {
            size_t room = e->room != 0 ? e->room * 2 : 64;
            struct slot *grown = realloc(e->slots, room * sizeof *grown);
            if (grown == NULL)
                return; /* an engine that forgets a booking is merely too fast */
            e->slots = grown;
            e->room = room;
        }
        memmove(&e->slots[at + 1], &e->slots[at], (e->count - at) * sizeof *e->slots);
        e->slots[at] = (struct slot){start, end};
        e->count++;
    }
}

uint64_t simgpu_clock_book(struct simgpu_device *device, enum simgpu_engine engine, uint64_t ready,
                           uint64_t duration)
{
    if (engine == SIMGPU_ENGINE_NONE || duration == 0)
        return ready;
    struct engine *e = &engines[device->ordinal][engine];
    size_t low = 0, high = e->count; /* first slot that ends after ready */
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (e->slots[mid].end <= ready)
            low = mid + 1;
        else
            high = mid;
    }
    uint64_t start = ready;
    size_t at = low;
    while (at < e->count && e->slots[at].start < start + duration) {
        if (e->slots[at].end > start)
            start = e->slots[at].end;
        at++;
    }
    insert_slot(e, at, start, start + duration);
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
