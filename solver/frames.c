/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of one buffer with the same moves are one run; frames with the same occupants are one
 * shelf. A run is laid into the shelves that are free at all its stays, splitting a shelf when it
 * is larger.
 *
 * Stays are arcs of a cycle and a page may have several, so this is the colouring of a
 * multi-interval graph: NP-hard, and it may need more frames than the most crowded op has pages.
 * First fit over runs sorted by start colours ordinary intervals optimally; a few other orders are
 * tried when that fails.
 *
 * A frame goes from one page to the next in an order that is fixed for good, while op times vary:
 * frames that were free for a while are preferred, so that ops a little longer or shorter than
 * planned make no copy wait. */
#include "solver/frames.h"

#include <stdlib.h>
#include <string.h>

#include "solver/frames_offers.h"
#include "solver/frames_runs.h"

#define ORDERS   3
#define REPAINTS 4
#define FEW      256 /* runs that can be placed twice at no cost */
#define PATIENCE 1   /* attempts in a row that are no better */

struct shelf {
    struct spill_arc *arcs; /* sorted */
    uint32_t arc_count, arc_room;
    uint32_t last_first, last_end; /* of arcs[arc_count - 1] */
    int64_t last_free, first_need; /* of it, and of arcs[0] */
    uint32_t frame_first, frame_count;
};

struct painter {
    const struct spill_prep *prep;
    struct spill_plan *plan;
    const struct spill_timeline *when;
    uint64_t step_ns;
    int64_t margin_ns;
    struct spill_arena *arena; /* for runs and orders */
    struct spill_arena brush;  /* for one attempt */
    struct spill_runs runs;
    uint32_t *order;
    struct shelf *shelves;
    uint32_t shelf_count, shelf_room;
    struct spill_offers offers;
    uint64_t *filled; /* of each shelf: parts of the cycle that are taken throughout */
};

/* Adds to OFFER that memory which is free at FREE_AT is needed at NEED, LATER on. */
static void rate_handover(const struct painter *p, struct spill_offer *offer, int64_t free_at,
                          int64_t need, int64_t later)
{
    int64_t spare = need + later - free_at;

    if (free_at == SPILL_ARC_CUT || need == SPILL_ARC_CUT || spare >= p->margin_ns)
        return;
    offer->wait += spare < 0 ? (uint64_t)-spare : 0;
    offer->tight += (uint64_t)(spare < 0 ? p->margin_ns : p->margin_ns - spare);
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
static bool rate(const struct painter *p, const struct shelf *shelf, const struct spill_run *run,
                 struct spill_offer *offer)
{
    uint32_t n = p->prep->problem->op_count;
    int64_t step = (int64_t)p->step_ns;

    if (shelf->arc_count == 0) {
        offer->slack = n;
        return true;
    }
    for (uint32_t a = 0; a < run->arc_count && spill_offers_welcome(&p->offers, offer); a++) {
        const struct spill_arc *arc = &p->runs.arcs[run->arc_first + a];
        const struct spill_arc *before, *after;
        uint32_t low = 0;

        if (shelf->last_first < arc->first) { /* the usual case when runs come in order of start */
            if (shelf->last_end > arc->first)
                return false;
            offer->slack += arc->first - shelf->last_end;
            rate_handover(p, offer, shelf->last_free, arc->need, 0);
            rate_handover(p, offer, arc->free, shelf->first_need, step);
            continue;
        }
        low = first_after(shelf->arcs, shelf->arc_count, arc->first);
        before = &shelf->arcs[low > 0 ? low - 1 : shelf->arc_count - 1];
        after = &shelf->arcs[low];
        if ((low > 0 && before->end > arc->first) || arc->end > after->first)
            return false;
        offer->slack += low > 0 ? arc->first - before->end : arc->first + n - before->end;
        rate_handover(p, offer, before->free, arc->need, low > 0 ? 0 : step);
        rate_handover(p, offer, arc->free, after->need, 0);
    }
    return true;
}

/* Parts of the cycle that ARCS, sorted, cover from end to end. */
static uint64_t filled_parts(const struct painter *p, const struct spill_arc *arcs, uint32_t count)
{
    uint32_t n = p->prep->problem->op_count, shift = p->runs.shift;
    uint64_t filled = 0;

    for (uint32_t i = 0; i < count;) {
        uint32_t first = arcs[i].first, end = arcs[i].end;

        for (i++; i < count && arcs[i].first == end; i++)
            end = arcs[i].end; /* they follow upon each other */
        /* without the first and the last part where only some of it is covered */
        first = (first + (1u << shift) - 1) >> shift << shift;
        end = end < n ? end >> shift << shift : end;
        if (first < end)
            filled |= spill_runs_parts(&p->runs, first, end);
    }
    return filled;
}

static bool occupy(struct painter *p, uint32_t c, const struct spill_run *run)
{
    struct shelf *shelf = &p->shelves[c];
    uint32_t total = shelf->arc_count + run->arc_count;

    if (total > shelf->arc_room) {
        struct spill_arc *larger = spill_arena_alloc(&p->brush, 2 * (size_t)total, sizeof(*larger));

        if (larger == NULL)
            return false;
        if (shelf->arc_count > 0)
            memcpy(larger, shelf->arcs, shelf->arc_count * sizeof(*larger));
        shelf->arcs = larger;
        shelf->arc_room = 2 * total;
    }
    for (uint32_t i = shelf->arc_count, j = run->arc_count, to = total; j > 0;) {
        if (i > 0 && shelf->arcs[i - 1].first > p->runs.arcs[run->arc_first + j - 1].first)
            shelf->arcs[--to] = shelf->arcs[--i];
        else
            shelf->arcs[--to] = p->runs.arcs[run->arc_first + --j];
    }
    shelf->arc_count = total;
    shelf->last_first = shelf->arcs[total - 1].first;
    shelf->last_end = shelf->arcs[total - 1].end;
    shelf->last_free = shelf->arcs[total - 1].free;
    shelf->first_need = shelf->arcs[0].need;
    p->filled[c] = filled_parts(p, shelf->arcs, total);
    return true;
}

/* Room for one more shelf. */
static bool grow(struct painter *p)
{
    uint32_t room = 2 * p->shelf_room + 64;
    struct shelf *shelves;
    uint64_t *filled;

    if (p->shelf_count < p->shelf_room)
        return true;
    shelves = spill_arena_alloc(&p->brush, room, sizeof(*shelves));
    p->offers.list = spill_arena_alloc(&p->brush, room, sizeof(*p->offers.list));
    filled = spill_arena_alloc(&p->brush, room, sizeof(*filled));
    if (p->brush.failed)
        return false;
    if (p->shelf_count > 0) {
        memcpy(shelves, p->shelves, p->shelf_count * sizeof(*shelves));
        memcpy(filled, p->filled, p->shelf_count * sizeof(*filled));
    }
    p->shelves = shelves;
    p->filled = filled;
    p->shelf_room = room;
    return true;
}

/* Splits off the frames of shelf C after the first KEEP into a new shelf with the same arcs. */
static bool split(struct painter *p, uint32_t c, uint32_t keep)
{
    struct shelf *rest;

    if (!grow(p))
        return false;
    rest = &p->shelves[p->shelf_count];
    *rest = p->shelves[c];
    rest->frame_first += keep;
    rest->frame_count -= keep;
    rest->arc_room = 0; /* shared with shelf C until one of them grows */
    p->shelves[c].arc_room = 0;
    p->shelves[c].frame_count = keep;
    p->filled[p->shelf_count] = p->filled[c];
    p->shelf_count++;
    return true;
}

static bool place_run(struct painter *p, uint32_t r)
{
    struct spill_run *run = &p->runs.list[r];

    run->placed = 0;
    run->waits = 0;
    spill_offers_begin(&p->offers, run->count);
    for (uint32_t c = 0; c < p->shelf_count; c++) {
        struct spill_offer offer = {.shelf = c, .frames = p->shelves[c].frame_count};

        if ((run->parts & p->filled[c]) == 0 && rate(p, &p->shelves[c], run, &offer) &&
            spill_offers_welcome(&p->offers, &offer))
            spill_offers_add(&p->offers, &offer);
    }
    spill_offers_sort(&p->offers);
    for (uint32_t i = 0; i < p->offers.count && run->placed < run->count; i++) {
        uint32_t left = run->count - run->placed, c = p->offers.list[i].shelf;

        if (p->offers.list[i].wait > run->waits)
            run->waits = p->offers.list[i].wait;
        if (p->shelves[c].frame_count > left && !split(p, c, left))
            return false;
        for (uint32_t j = 0; j < p->shelves[c].frame_count; j++)
            p->plan->frame_of[run->page + run->placed + j] = p->shelves[c].frame_first + j;
        run->placed += p->shelves[c].frame_count;
        if (!occupy(p, c, run))
            return false;
    }
    return true; /* what found no place stays unplaced */
}

struct order_key {
    uint32_t run, major, minor;
};

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;

    if (a->major != b->major)
        return a->major < b->major ? -1 : 1;
    if (a->minor != b->minor)
        return a->minor < b->minor ? -1 : 1;
    return a->run < b->run ? -1 : a->run > b->run;
}

/* Runs that never leave come first. Then 0: by start, counted from the least crowded op; 1: longest
 * stays first; 2: most stays first. */
static bool sort_runs(struct painter *p, int kind, uint32_t quiet_op)
{
    uint32_t n = p->prep->problem->op_count;
    struct order_key *keys = spill_arena_alloc(p->arena, p->runs.count, sizeof(*keys));

    if (keys == NULL)
        return false;
    for (uint32_t r = 0; r < p->runs.count; r++) {
        const struct spill_run *run = &p->runs.list[r];
        uint32_t start = n, across = 1;

        for (uint32_t a = run->arc_first; a < run->arc_first + run->arc_count; a++) {
            uint32_t from = spill_cyclic(quiet_op, p->runs.arcs[a].first, n);

            start = from < start ? from : start;
            if (p->runs.arcs[a].first <= quiet_op && quiet_op < p->runs.arcs[a].end)
                across = 0; /* runs that stay at the quiet op are there from the beginning */
        }
        keys[r] = (struct order_key){r, across + 1, start};
        if (kind == 1)
            keys[r] = (struct order_key){r, 1, n - run->length};
        else if (kind == 2)
            keys[r] = (struct order_key){r, 1 + UINT32_MAX / 2 - run->arc_count, start};
        if (run->length >= n)
            keys[r].major = 0;
    }
    qsort(keys, p->runs.count, sizeof(*keys), compare_keys);
    for (uint32_t r = 0; r < p->runs.count; r++)
        p->order[r] = keys[r].run;
    return true;
}

static uint32_t least_crowded_op(const struct painter *p)
{
    uint32_t n = p->prep->problem->op_count, quiet = 0;
    uint32_t *load = spill_arena_alloc(p->arena, (size_t)n + 1, sizeof(uint32_t));

    if (load == NULL)
        return 0;
    for (uint32_t r = 0; r < p->runs.count; r++)
        for (uint32_t a = 0; a < p->runs.list[r].arc_count; a++) {
            const struct spill_arc *arc = &p->runs.arcs[p->runs.list[r].arc_first + a];

            spill_cyclic_range_add(load, n, arc->first, arc->end - arc->first,
                                   p->runs.list[r].count);
        }
    for (uint32_t k = 1; k < n; k++) {
        load[k] += load[k - 1];
        if (load[k] < load[quiet])
            quiet = k;
    }
    return quiet;
}

/* Runs that never leave get the last frames for themselves. Returns how many frames are left. */
static uint32_t place_residents(struct painter *p, uint32_t limit)
{
    uint32_t n = p->prep->problem->op_count;

    for (uint32_t r = 0; r < p->runs.count; r++) {
        struct spill_run *run = &p->runs.list[r];

        if (run->length < n)
            continue;
        run->placed = run->count < limit ? run->count : limit;
        limit -= run->placed;
        for (uint32_t i = 0; i < run->placed; i++)
            p->plan->frame_of[run->page + i] = limit + i;
    }
    return limit;
}

/* One attempt in the present order. */
static bool paint(struct painter *p, uint32_t limit)
{
    uint32_t n = p->prep->problem->op_count;

    spill_arena_free(&p->brush);
    p->shelf_count = p->shelf_room = 0;
    if (!grow(p))
        return false;
    for (uint32_t page = 0; page < p->prep->page_total; page++)
        p->plan->frame_of[page] = SPILL_NO_FRAME;
    limit = place_residents(p, limit);
    p->shelves[0].frame_count = limit;
    p->shelf_count = limit > 0;
    for (uint32_t i = 0; i < p->runs.count; i++)
        if (p->runs.list[p->order[i]].length < n && !place_run(p, p->order[i]))
            return false;
    return true;
}

/* Numbers the frames in use without holes. */
static bool renumber(struct painter *p, uint32_t limit)
{
    struct spill_plan *plan = p->plan;
    uint32_t *name = spill_arena_alloc(p->arena, limit, sizeof(uint32_t));

    if (name == NULL)
        return false;
    plan->frame_count = 0;
    for (uint32_t page = 0; page < p->prep->page_total; page++) {
        uint32_t frame = plan->frame_of[page];

        if (frame == SPILL_NO_FRAME)
            continue;
        if (name[frame] == 0)
            name[frame] = ++plan->frame_count;
        plan->frame_of[page] = name[frame] - 1;
    }
    return true;
}

/* Moves the hard runs to the front, behind those that never leave: those that found too few frames
 * or, when there are none, those that wait. They choose first next time (Joslin and Clements,
 * "Squeaky wheel optimization", 1999). */
static bool promote_hard(struct painter *p, bool unplaced)
{
    uint32_t *order = spill_arena_alloc(p->arena, p->runs.count, sizeof(uint32_t));
    uint32_t n = p->prep->problem->op_count, count = 0;

    if (order == NULL)
        return false;
    for (int group = 0; group < 3; group++)
        for (uint32_t i = 0; i < p->runs.count; i++) {
            const struct spill_run *run = &p->runs.list[p->order[i]];
            bool hard = unplaced ? run->placed < run->count : run->waits > 0;

            if ((run->length >= n ? 0 : hard ? 1 : 2) == group)
                order[count++] = p->order[i];
        }
    p->order = order;
    return true;
}

/* How good an attempt is: pages without a frame, then the time that stays would wait. */
struct grade {
    uint32_t unplaced;
    double waits;
};

static struct grade grade(const struct painter *p)
{
    struct grade grade = {0, 0};

    for (uint32_t r = 0; r < p->runs.count; r++) {
        grade.unplaced += p->runs.list[r].count - p->runs.list[r].placed;
        grade.waits += (double)p->runs.list[r].waits;
    }
    return grade;
}

/* The first order, then the same with the hard runs first, and where timing does not matter the
 * other orders as a last resort. Keeps the best attempt. */
static enum spill_status attempts(struct painter *p, uint32_t limit, uint32_t *unplaced)
{
    uint32_t quiet_op = least_crowded_op(p), pages = p->prep->page_total;
    uint32_t *kept = spill_arena_alloc(p->arena, pages, sizeof(uint32_t));
    int most = REPAINTS + (p->when == NULL ? ORDERS - 1 : 0), since = 0;
    struct grade best = {UINT32_MAX, 0}, last = best;

    if (kept == NULL)
        return SPILL_ERR_NOMEM;
    for (int try = 0; try < most && since < PATIENCE; try++) {
        bool again = try > 0 && try < REPAINTS;

        if (try == 2 && best.unplaced > limit / 12)
            break; /* too far off */
        if (!(again ? promote_hard(p, last.unplaced > 0)
                    : sort_runs(p, try == 0 ? 0 : try - REPAINTS + 1, quiet_op)) ||
            !paint(p, limit))
            return SPILL_ERR_NOMEM;
        last = grade(p);
        since++;
        if (last.unplaced < best.unplaced ||
            (last.unplaced == best.unplaced && last.waits < best.waits)) {
            best = last;
            since = 0;
            memcpy(kept, p->plan->frame_of, pages * sizeof(uint32_t));
        }
        if (best.unplaced == 0 && best.waits <= (double)p->step_ns / 100)
            break;
    }
    memcpy(p->plan->frame_of, kept, pages * sizeof(uint32_t));
    *unplaced = best.unplaced;
    return renumber(p, limit) ? SPILL_OK : SPILL_ERR_NOMEM;
}

enum spill_status spill_frames_assign(const struct spill_prep *prep, struct spill_plan *plan,
                                      uint32_t limit, bool late, const struct spill_timeline *when,
                                      uint64_t step_ns, uint64_t margin_ns, uint32_t *unplaced)
{
    struct spill_arena scratch = {0};
    struct painter p = {.prep = prep, .plan = plan, .when = when, .step_ns = step_ns};
    enum spill_status status = SPILL_ERR_NOMEM;

    p.arena = &scratch;
    p.margin_ns = when == NULL ? 0 : (int64_t)margin_ns;
    if (spill_runs_build(&p.runs, prep, plan, late, when, step_ns, &scratch)) {
        p.order = spill_arena_alloc(&scratch, p.runs.count, sizeof(uint32_t));
        if (p.order != NULL)
            status = attempts(&p, limit, unplaced);
        if (status == SPILL_OK && *unplaced > 0 && p.margin_ns > 0 && p.runs.count <= FEW) {
            p.margin_ns = 0; /* a frame too few weighs more than a copy that waits */
            status = attempts(&p, limit, unplaced);
        }
    }
    spill_arena_free(&p.brush);
    spill_arena_free(&scratch);
    return status;
}
