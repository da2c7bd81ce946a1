/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/frames_shelves.h"

#include <string.h>

/* Adds to OFFER that memory which is free at FREE_AT is needed at NEED, LATER on. COPIED: a copy
 * ends the use before or begins the next one; ops follow upon each other whatever time they take.
 */
static void rate_handover(const struct spill_shelves *s, struct spill_offer *offer, int64_t free_at,
                          int64_t need, int64_t later, bool copied)
{
    int64_t margin = copied ? s->margin_ns : 0, spare;

    if (free_at == SPILL_ARC_CUT || need == SPILL_ARC_CUT)
        return;
    spare = need + later - free_at;
    if (spare >= margin)
        return;
    offer->wait += spare < 0 ? (uint64_t)-spare : 0;
    offer->tight += (uint64_t)(spare < 0 ? margin : margin - spare);
}

/* Index of the first of ARCS that begins after OP, which the last one does. */
static uint32_t first_after(const struct spill_arc *arcs, uint32_t count, uint32_t op)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;

        if (arcs[middle].first < op)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How well the run suits a shelf; false when the shelf is taken where the run stays. */
static bool rate(const struct spill_shelves *s, const struct spill_shelf *shelf,
                 const struct spill_run *run, struct spill_offer *offer)
{
    uint32_t n = s->op_count;
    int64_t step = s->step_ns;

    if (shelf->arc_count == 0) {
        offer->slack = n;
        return true;
    }
    for (uint32_t a = 0; a < run->arc_count && spill_offers_welcome(&s->offers, offer); a++) {
        const struct spill_arc *arc = &s->runs->arcs[run->arc_first + a];
        const struct spill_arc *before, *after;
        uint32_t low;

        if (shelf->last_first < arc->first) { /* the usual case when runs come in order of start */
            if (shelf->last_end > arc->first)
                return false;
            offer->slack += arc->first - shelf->last_end;
            rate_handover(s, offer, shelf->last_free, arc->need, 0, shelf->last_out || arc->in);
            rate_handover(s, offer, arc->free, shelf->first_need, step,
                          arc->out || shelf->first_in);
            continue;
        }
        low = first_after(shelf->arcs, shelf->arc_count, arc->first);
        before = &shelf->arcs[low > 0 ? low - 1 : shelf->arc_count - 1];
        after = &shelf->arcs[low];
        if ((low > 0 && before->end > arc->first) || arc->end > after->first)
            return false;
        offer->slack += low > 0 ? arc->first - before->end : arc->first + n - before->end;
        rate_handover(s, offer, before->free, arc->need, low > 0 ? 0 : step,
                      before->out || arc->in);
        rate_handover(s, offer, arc->free, after->need, 0, arc->out || after->in);
    }
    return true;
}

/* Parts of the cycle that ARCS, sorted, cover from end to end. */
static uint64_t filled_parts(const struct spill_shelves *s, const struct spill_arc *arcs,
                             uint32_t count)
{
    uint32_t n = s->op_count, shift = s->runs->shift;
    uint64_t filled = 0;

    for (uint32_t i = 0; i < count;) {
        uint32_t first = arcs[i].first, end = arcs[i].end;

        for (i++; i < count && arcs[i].first == end; i++)
            end = arcs[i].end; /* they follow upon each other */
        /* without the first and the last part where only some of it is covered */
        first = (first + (1u << shift) - 1) >> shift << shift;
        end = end < n ? end >> shift << shift : end;
        if (first < end)
            filled |= spill_runs_parts(s->runs, first, end);
    }
    return filled;
}

static bool occupy(struct spill_shelves *s, uint32_t c, const struct spill_run *run)
{
    struct spill_shelf *shelf = &s->list[c];
    uint32_t total = shelf->arc_count + run->arc_count;

    if (total > shelf->arc_room) {
        struct spill_arc *larger = spill_arena_alloc(&s->brush, 2 * (size_t)total, sizeof(*larger));

        if (larger == NULL)
            return false;
        if (shelf->arc_count > 0)
            memcpy(larger, shelf->arcs, shelf->arc_count * sizeof(*larger));
        shelf->arcs = larger;
        shelf->arc_room = 2 * total;
    }
    for (uint32_t i = shelf->arc_count, j = run->arc_count, to = total; j > 0;) {
        if (i > 0 && shelf->arcs[i - 1].first > s->runs->arcs[run->arc_first + j - 1].first)
            shelf->arcs[--to] = shelf->arcs[--i];
        else
            shelf->arcs[--to] = s->runs->arcs[run->arc_first + --j];
    }
    shelf->arc_count = total;
    shelf->last_first = shelf->arcs[total - 1].first;
    shelf->last_end = shelf->arcs[total - 1].end;
    shelf->last_free = shelf->arcs[total - 1].free;
    shelf->last_out = shelf->arcs[total - 1].out;
    shelf->first_need = shelf->arcs[0].need;
    shelf->first_in = shelf->arcs[0].in;
    s->filled[c] = filled_parts(s, shelf->arcs, total);
    return true;
}

/* Room for one more shelf. */
static bool grow(struct spill_shelves *s)
{
    uint32_t room = 2 * s->room + 64;
    struct spill_shelf *shelves;
    uint64_t *filled;

    if (s->count < s->room)
        return true;
    shelves = spill_arena_alloc(&s->brush, room, sizeof(*shelves));
    s->offers.list = spill_arena_alloc(&s->brush, room, sizeof(*s->offers.list));
    filled = spill_arena_alloc(&s->brush, room, sizeof(*filled));
    if (s->brush.failed)
        return false;
    if (s->count > 0) {
        memcpy(shelves, s->list, s->count * sizeof(*shelves));
        memcpy(filled, s->filled, s->count * sizeof(*filled));
    }
    s->list = shelves;
    s->filled = filled;
    s->room = room;
    return true;
}

/* Splits off the frames of shelf C after the first KEEP into a new shelf with the same arcs. */
static bool split(struct spill_shelves *s, uint32_t c, uint32_t keep)
{
    struct spill_shelf *rest;

    if (!grow(s))
        return false;
    rest = &s->list[s->count];
    *rest = s->list[c];
    rest->frame_first += keep;
    rest->frame_count -= keep;
    rest->arc_room = 0; /* shared with shelf C until one of them grows */
    s->list[c].arc_room = 0;
    s->list[c].frame_count = keep;
    s->filled[s->count] = s->filled[c];
    s->count++;
    return true;
}

bool spill_shelves_place(struct spill_shelves *s, struct spill_run *run, uint32_t *frame_of)
{
    run->placed = 0;
    run->waits = 0;
    spill_offers_begin(&s->offers, run->count);
    for (uint32_t c = 0; c < s->count; c++) {
        struct spill_offer offer = {.shelf = c, .frames = s->list[c].frame_count};

        if ((run->parts & s->filled[c]) == 0 && rate(s, &s->list[c], run, &offer) &&
            spill_offers_welcome(&s->offers, &offer))
            spill_offers_add(&s->offers, &offer);
    }
    spill_offers_sort(&s->offers);
    for (uint32_t i = 0; i < s->offers.count && run->placed < run->count; i++) {
        uint32_t left = run->count - run->placed, c = s->offers.list[i].shelf;

        if (s->offers.list[i].wait > run->waits)
            run->waits = s->offers.list[i].wait;
        if (s->list[c].frame_count > left && !split(s, c, left))
            return false;
        for (uint32_t j = 0; j < s->list[c].frame_count; j++)
            frame_of[run->page + run->placed + j] = s->list[c].frame_first + j;
        run->placed += s->list[c].frame_count;
        if (!occupy(s, c, run))
            return false;
    }
    return true; /* what found no place stays unplaced */
}

bool spill_shelves_begin(struct spill_shelves *s, uint32_t frames)
{
    spill_arena_free(&s->brush);
    s->count = s->room = 0;
    if (!grow(s))
        return false;
    s->list[0].frame_count = frames;
    s->count = frames > 0;
    return true;
}

void spill_shelves_end(struct spill_shelves *s)
{
    spill_arena_free(&s->brush);
}
