/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of one buffer with the same moves are one run, and runs are laid into shelves of frames one
 * after the other.
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

#include "solver/frames_runs.h"
#include "solver/frames_shelves.h"

#define ORDERS   3
#define REPAINTS 4
#define FEW      256 /* runs that can be placed twice at no cost */
#define PATIENCE 1   /* attempts in a row that are no better */

struct painter {
    const struct spill_prep *prep;
    struct spill_plan *plan;
    const struct spill_timeline *when;
    struct spill_arena *arena;
    struct spill_runs runs;
    uint32_t *order;
    struct spill_shelves shelves;
};

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

    for (uint32_t page = 0; page < p->prep->page_total; page++)
        p->plan->frame_of[page] = SPILL_NO_FRAME;
    if (!spill_shelves_begin(&p->shelves, place_residents(p, limit)))
        return false;
    for (uint32_t i = 0; i < p->runs.count; i++) {
        struct spill_run *run = &p->runs.list[p->order[i]];

        if (run->length < n && !spill_shelves_place(&p->shelves, run, p->plan->frame_of))
            return false;
    }
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
        if (best.unplaced == 0 && best.waits <= (double)p->shelves.step_ns / 100)
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
    struct painter p = {.prep = prep, .plan = plan, .when = when};
    enum spill_status status = SPILL_ERR_NOMEM;

    p.arena = &scratch;
    p.shelves = (struct spill_shelves){.runs = &p.runs,
                                       .op_count = prep->problem->op_count,
                                       .step_ns = (int64_t)step_ns,
                                       .margin_ns = when == NULL ? 0 : (int64_t)margin_ns};
    if (spill_runs_build(&p.runs, prep, plan, late, when, step_ns, &scratch)) {
        p.order = spill_arena_alloc(&scratch, p.runs.count, sizeof(uint32_t));
        if (p.order != NULL)
            status = attempts(&p, limit, unplaced);
        if (status == SPILL_OK && *unplaced > 0 && p.shelves.margin_ns > 0 && p.runs.count <= FEW) {
            p.shelves.margin_ns = 0; /* a frame too few weighs more than a copy that waits */
            status = attempts(&p, limit, unplaced);
        }
    }
    spill_shelves_end(&p.shelves);
    spill_arena_free(&scratch);
    return status;
}
