/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of one buffer with the same moves are one run; frames with the same occupants are one
 * class. A run is laid into the classes that are free at all its stays, splitting a class when it
 * is larger.
 *
 * Stays are arcs of a cycle and a page may have several, so this is the colouring of a
 * multi-interval graph: NP-hard, and it may need more frames than the most crowded op has pages.
 * First fit over runs sorted by start colours ordinary intervals optimally; a few other orders are
 * tried when that fails. */
#include "solver/frames.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define ORDERS   3
#define REPAINTS 6

struct arc {
    uint32_t first;
    uint32_t end;  /* one past the last op; arcs that wrap are cut in two */
    uint64_t need; /* when its memory is wanted; UINT64_MAX: second half of a cut arc */
    uint64_t free; /* when its memory is free again; UINT64_MAX: first half of a cut arc */
};

struct run_arcs {
    uint32_t first; /* index into arcs */
    uint32_t count;
    uint32_t length;
    uint64_t
        *map; /* one bit an op: where it stays; words [word_first, word_end) are not all zero */
    uint32_t word_first, word_end;
};

struct class
{
    struct arc *arcs; /* sorted */
    uint32_t arc_count, arc_room;
    uint32_t last_first; /* arcs[arc_count - 1].first */
    uint32_t frame_first, frame_count;
};

struct offer {
    uint64_t wait, slack;
    uint32_t class;
};

struct painter {
    const struct spill_prep *prep;
    struct spill_plan *plan;
    const struct spill_timeline *when;
    uint64_t step_ns;
    struct spill_arena *arena;
    struct spill_run *runs;
    struct run_arcs *spans;
    struct arc *arcs;
    uint32_t run_count, arc_count;
    uint32_t *order;
    struct class *classes;
    uint32_t class_count, class_room;
    uint64_t *taken; /* one bit an op and class; word w of class c is taken[w * class_room + c] */
    uint32_t words;
    struct offer *offers;
    uint64_t *busy;
};

static void map_set(uint64_t *map, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end;) {
        if (k % 64 == 0 && end - k >= 64) {
            map[k / 64] = UINT64_MAX;
            k += 64;
        } else {
            map[k / 64] |= UINT64_C(1) << (k % 64);
            k++;
        }
    }
}

static void add_arc(struct painter *p, struct run_arcs *span, uint32_t first, uint32_t length,
                    uint64_t need, uint64_t free_at)
{
    uint32_t n = p->prep->problem->op_count;

    span->length += length;
    if (length >= n) {
        p->arcs[p->arc_count++] = (struct arc){0, n, need, free_at};
        span->count += 1;
    } else if (first + length <= n) {
        p->arcs[p->arc_count++] = (struct arc){first, first + length, need, free_at};
        span->count += 1;
    } else {
        p->arcs[p->arc_count++] = (struct arc){first, n, need, UINT64_MAX};
        p->arcs[p->arc_count++] = (struct arc){0, first + length - n, UINT64_MAX, free_at};
        span->count += 2;
    }
}

static uint64_t op_time(const struct painter *p, uint32_t op)
{
    return p->when != NULL ? p->when->op_start[op] : 0;
}

static uint64_t op_end_time(const struct painter *p, uint32_t op)
{
    return op_time(p, op) + p->prep->problem->ops[op].duration_ns;
}

static uint64_t out_time(const struct painter *p, uint32_t m)
{
    return p->when != NULL ? p->when->out_end[m] : 0;
}

static uint64_t in_time(const struct painter *p, uint32_t m)
{
    return p->when != NULL ? p->when->in_start[m] : 0;
}

static int compare_arcs(const void *left, const void *right)
{
    const struct arc *a = left, *b = right;

    return a->first < b->first ? -1 : a->first > b->first;
}

/* One run whose moves, in the buffer's own order, are MOVES[0..COUNT). */
static void add_run(struct painter *p, uint32_t b, uint32_t page, uint32_t pages,
                    const uint32_t *moves, uint32_t count)
{
    const struct spill_buffer *buffer = &p->prep->problem->buffers[b];
    const struct spill_move *all = p->plan->moves;
    uint32_t n = p->prep->problem->op_count;
    struct run_arcs *span = &p->spans[p->run_count];

    p->runs[p->run_count++] = (struct spill_run){page, pages, b, 0};
    span->first = p->arc_count;
    if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0) {
        if (count == 0)
            add_arc(p, span, 0, n, 0, 0);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t next = moves[i + 1 == count ? 0 : i + 1];
            uint32_t first = spill_cyclic_add(all[moves[i]].in_op, 1, n);

            add_arc(p, span, first, spill_cyclic(first, all[next].out_op, n) + 1,
                    in_time(p, moves[i]), out_time(p, next));
        }
    } else {
        for (uint32_t i = 0; i <= count; i++) {
            uint32_t first =
                i == 0 ? buffer->birth_op : spill_cyclic_add(all[moves[i - 1]].in_op, 1, n);
            uint32_t last = i == count ? buffer->death_op : all[moves[i]].out_op;

            add_arc(p, span, first, spill_cyclic(first, last, n) + 1,
                    i == 0 ? op_time(p, first) : in_time(p, moves[i - 1]),
                    i == count ? op_end_time(p, last) : out_time(p, moves[i]));
        }
    }
    qsort(p->arcs + span->first, span->count, sizeof(struct arc), compare_arcs);
    span->map = spill_arena_alloc(p->arena, p->words, sizeof(uint64_t));
    if (span->map == NULL)
        return;
    for (uint32_t a = span->first; a < p->arc_count; a++)
        map_set(span->map, p->arcs[a].first, p->arcs[a].end);
    span->word_end = p->words;
    while (span->word_end > 0 && span->map[span->word_end - 1] == 0)
        span->word_end--;
    while (span->word_first < span->word_end && span->map[span->word_first] == 0)
        span->word_first++;
}

static int compare_u32(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

/* Cuts one buffer into runs at the borders of its moves MINE[0..COUNT), given in its own order. */
static void cut_buffer(struct painter *p, uint32_t b, const uint32_t *mine, uint32_t count,
                       uint32_t *cuts, uint32_t *present)
{
    const struct spill_move *all = p->plan->moves;
    uint32_t cut_count = 0;

    cuts[cut_count++] = 0;
    cuts[cut_count++] = p->prep->pages[b];
    for (uint32_t i = 0; i < count; i++) {
        cuts[cut_count++] = all[mine[i]].page_first;
        cuts[cut_count++] = all[mine[i]].page_first + all[mine[i]].page_count;
    }
    qsort(cuts, cut_count, sizeof(uint32_t), compare_u32);
    for (uint32_t c = 0; c + 1 < cut_count; c++) {
        uint32_t found = 0;

        if (cuts[c] == cuts[c + 1])
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (cuts[c] - all[mine[i]].page_first < all[mine[i]].page_count)
                present[found++] = mine[i];
        add_run(p, b, p->prep->page_base[b] + cuts[c], cuts[c + 1] - cuts[c], present, found);
    }
}

static bool build_runs(struct painter *p)
{
    const struct spill_problem *problem = p->prep->problem;
    uint32_t buffers = problem->buffer_count, moves = p->plan->move_count;
    uint32_t *first_of = spill_arena_alloc(p->arena, (size_t)buffers + 2, sizeof(uint32_t));
    uint32_t *cursor = spill_arena_alloc(p->arena, (size_t)buffers + 1, sizeof(uint32_t));
    uint32_t *list = spill_arena_alloc(p->arena, moves, sizeof(uint32_t));
    uint32_t *cuts = spill_arena_alloc(p->arena, 2 * (size_t)moves + 2, sizeof(uint32_t));
    uint32_t *present = spill_arena_alloc(p->arena, moves, sizeof(uint32_t));
    bool *parked = spill_arena_alloc(p->arena, buffers, sizeof(bool));
    size_t runs = buffers + 2 * (size_t)moves, arcs = 0;

    if (p->arena->failed)
        return false;
    for (uint32_t m = 0; m < moves; m++)
        first_of[p->plan->moves[m].buffer + 1]++;
    for (uint32_t b = 0; b < buffers; b++) {
        uint32_t mine = first_of[b + 1];

        arcs += 2 * (2 * (size_t)mine + 1) * ((size_t)mine + 1);
        first_of[b + 1] += first_of[b];
        cursor[b] = first_of[b];
    }
    for (int round = 0; round < 2; round++)
        for (uint32_t m = 0; m < moves; m++) {
            const struct spill_move *move = &p->plan->moves[m];
            const struct spill_buffer *buffer = &problem->buffers[move->buffer];
            bool after = buffer->life == SPILL_LIFE_PERSISTENT || move->out_op >= buffer->birth_op;

            if (after == (round == 0))
                list[cursor[move->buffer]++] = m;
        }
    p->runs = spill_arena_alloc(p->arena, runs, sizeof(*p->runs));
    p->spans = spill_arena_alloc(p->arena, runs, sizeof(*p->spans));
    p->order = spill_arena_alloc(p->arena, runs, sizeof(uint32_t));
    p->arcs = spill_arena_alloc(p->arena, arcs, sizeof(*p->arcs));
    if (p->arena->failed)
        return false;
    for (uint32_t i = 0; i < p->plan->park_count; i++)
        parked[p->plan->parks[i].buffer] = true;
    for (uint32_t b = 0; b < buffers; b++) {
        if (p->prep->pages[b] > 0 && !parked[b])
            cut_buffer(p, b, list + first_of[b], first_of[b + 1] - first_of[b], cuts, present);
    }
    /* Parks take pages from the front of a buffer, the rest of it stays. */
    for (uint32_t i = 0; i < p->plan->park_count; i++) {
        const struct spill_park *park = &p->plan->parks[i];
        uint32_t rest = p->prep->pages[park->buffer] - park->page_count;

        if (rest > 0)
            add_run(p, park->buffer, p->prep->page_base[park->buffer] + park->page_count, rest,
                    NULL, 0);
    }
    return true;
}

/* Marks in BUSY the classes that are taken where the run stays. */
static void mark_busy(const struct painter *p, const struct run_arcs *span, uint64_t *busy)
{
    memset(busy, 0, p->class_count * sizeof(*busy));
    for (uint32_t w = span->word_first; w < span->word_end; w++) {
        const uint64_t *taken = p->taken + (size_t)w * p->class_room;
        uint64_t wanted = span->map[w];

        if (wanted == 0)
            continue;
        for (uint32_t c = 0; c < p->class_count; c++)
            busy[c] |= taken[c] & wanted;
    }
}

/* How well the run suits a class that is free for it. WAIT: how long new stays would wait for
 * memory that is still being copied out, and make later ones wait. SLACK: how loosely the run fits.
 */
static void rate(const struct painter *p, const struct class *class, const struct run_arcs *span,
                 uint64_t *wait, uint64_t *slack)
{
    uint32_t n = p->prep->problem->op_count;

    *wait = *slack = 0;
    if (class->arc_count == 0) {
        *slack = n;
        return;
    }
    for (uint32_t a = 0; a < span->count; a++) {
        const struct arc *arc = &p->arcs[span->first + a];
        const struct arc *before, *after;
        uint32_t low = 0, high = class->arc_count;

        if (class->last_first < arc->first)
            low = high;      /* the usual case when runs come in order of start */
        while (low < high) { /* first arc of the class that begins after ARC */
            uint32_t middle = (low + high) / 2;

            if (class->arcs[middle].first < arc->first)
                low = middle + 1;
            else
                high = middle;
        }
        before = &class->arcs[low > 0 ? low - 1 : class->arc_count - 1];
        after = &class->arcs[low < class->arc_count ? low : 0];
        *slack += low > 0 ? arc->first - before->end : arc->first + n - before->end;
        if (p->when == NULL)
            continue;
        if (arc->need != UINT64_MAX && before->free != UINT64_MAX) {
            uint64_t need = arc->need + (low > 0 ? 0 : p->step_ns);

            *wait += before->free > need ? before->free - need : 0;
        }
        if (arc->free != UINT64_MAX && after->need != UINT64_MAX) {
            uint64_t need = after->need + (low < class->arc_count ? 0 : p->step_ns);

            *wait += arc->free > need ? arc->free - need : 0;
        }
    }
}

static bool occupy(struct painter *p, uint32_t c, const struct run_arcs *span)
{
    struct class *class = &p->classes[c];
    uint32_t total = class->arc_count + span->count;

    if (total > class->arc_room) {
        struct arc *larger = spill_arena_alloc(p->arena, 2 * (size_t)total, sizeof(*larger));

        if (larger == NULL)
            return false;
        if (class->arc_count > 0)
            memcpy(larger, class->arcs, class->arc_count * sizeof(*larger));
        class->arcs = larger;
        class->arc_room = 2 * total;
    }
    for (uint32_t i = class->arc_count, j = span->count, to = total; j > 0;) {
        if (i > 0 && class->arcs[i - 1].first > p->arcs[span->first + j - 1].first)
            class->arcs[--to] = class->arcs[--i];
        else
            class->arcs[--to] = p->arcs[span->first + --j];
    }
    class->arc_count = total;
    class->last_first = class->arcs[total - 1].first;
    for (uint32_t w = span->word_first; w < span->word_end; w++)
        p->taken[(size_t)w * p->class_room + c] |= span->map[w];
    return true;
}

/* Room for one more class. */
static bool grow(struct painter *p)
{
    uint32_t room = 2 * p->class_room + 64;
    struct class *classes;
    uint64_t *taken;

    if (p->class_count < p->class_room)
        return true;
    classes = spill_arena_alloc(p->arena, room, sizeof(*classes));
    taken = spill_arena_alloc(p->arena, (size_t)room * p->words, sizeof(*taken));
    p->offers = spill_arena_alloc(p->arena, room, sizeof(*p->offers));
    p->busy = spill_arena_alloc(p->arena, room, sizeof(*p->busy));
    if (p->arena->failed)
        return false;
    if (p->class_count > 0) {
        memcpy(classes, p->classes, p->class_count * sizeof(*classes));
        for (uint32_t w = 0; w < p->words; w++)
            memcpy(taken + (size_t)w * room, p->taken + (size_t)w * p->class_room,
                   p->class_count * sizeof(*taken));
    }
    p->classes = classes;
    p->taken = taken;
    p->class_room = room;
    return true;
}

/* Splits off the frames of class C after the first KEEP into a new class with the same arcs. */
static bool split(struct painter *p, uint32_t c, uint32_t keep)
{
    struct class *rest;

    if (!grow(p))
        return false;
    rest = &p->classes[p->class_count];
    *rest = p->classes[c];
    rest->frame_first += keep;
    rest->frame_count -= keep;
    rest->arc_room = 0; /* shared with class C until one of them grows */
    p->classes[c].arc_room = 0;
    p->classes[c].frame_count = keep;
    for (uint32_t w = 0; w < p->words; w++)
        p->taken[(size_t)w * p->class_room + p->class_count] =
            p->taken[(size_t)w * p->class_room + c];
    p->class_count++;
    return true;
}

static bool better(const struct offer *a, const struct offer *b)
{
    if (a->wait != b->wait)
        return a->wait < b->wait;
    if (a->slack != b->slack)
        return a->slack < b->slack;
    return a->class < b->class;
}

/* Restores the heap (best offer at 0) below entry AT. */
static void sift(struct offer *heap, uint32_t count, uint32_t at)
{
    for (;;) {
        uint32_t best = at, child = 2 * at + 1;
        struct offer swap;

        if (child < count && better(&heap[child], &heap[best]))
            best = child;
        if (child + 1 < count && better(&heap[child + 1], &heap[best]))
            best = child + 1;
        if (best == at)
            return;
        swap = heap[at];
        heap[at] = heap[best];
        heap[best] = swap;
        at = best;
    }
}

static bool place_run(struct painter *p, uint32_t r)
{
    struct spill_run *run = &p->runs[r];
    const struct run_arcs *span = &p->spans[r];
    uint32_t count = 0;

    run->placed = 0;
    mark_busy(p, span, p->busy);
    for (uint32_t c = 0; c < p->class_count; c++) {
        struct offer *offer = &p->offers[count];

        if (p->busy[c] != 0)
            continue;
        rate(p, &p->classes[c], span, &offer->wait, &offer->slack);
        offer->class = c;
        count++;
    }
    for (uint32_t i = count / 2; i-- > 0;)
        sift(p->offers, count, i);
    while (count > 0 && run->placed < run->count) {
        uint32_t left = run->count - run->placed, c = p->offers[0].class;

        if (p->classes[c].frame_count > left && !split(p, c, left))
            return false;
        for (uint32_t j = 0; j < p->classes[c].frame_count; j++)
            p->plan->frame_of[run->page + run->placed + j] = p->classes[c].frame_first + j;
        run->placed += p->classes[c].frame_count;
        if (!occupy(p, c, span))
            return false;
        if (run->placed < run->count) {
            p->offers[0] = p->offers[--count];
            sift(p->offers, count, 0);
        }
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
    struct order_key *keys = spill_arena_alloc(p->arena, p->run_count, sizeof(*keys));

    if (keys == NULL)
        return false;
    for (uint32_t r = 0; r < p->run_count; r++) {
        const struct run_arcs *span = &p->spans[r];
        uint32_t start = n, across = 1;

        for (uint32_t a = span->first; a < span->first + span->count; a++) {
            uint32_t from = spill_cyclic(quiet_op, p->arcs[a].first, n);

            start = from < start ? from : start;
            if (p->arcs[a].first <= quiet_op && quiet_op < p->arcs[a].end)
                across = 0; /* runs that stay at the quiet op are there from the beginning */
        }
        keys[r] = (struct order_key){r, across + 1, start};
        if (kind == 1)
            keys[r] = (struct order_key){r, 1, n - span->length};
        else if (kind == 2)
            keys[r] = (struct order_key){r, 1 + UINT32_MAX / 2 - span->count, start};
        if (span->length >= n)
            keys[r].major = 0;
    }
    qsort(keys, p->run_count, sizeof(*keys), compare_keys);
    for (uint32_t r = 0; r < p->run_count; r++)
        p->order[r] = keys[r].run;
    return true;
}

static uint32_t least_crowded_op(const struct painter *p)
{
    uint32_t n = p->prep->problem->op_count, quiet = 0;
    uint32_t *load = spill_arena_alloc(p->arena, (size_t)n + 1, sizeof(uint32_t));

    if (load == NULL)
        return 0;
    for (uint32_t r = 0; r < p->run_count; r++)
        for (uint32_t a = 0; a < p->spans[r].count; a++) {
            const struct arc *arc = &p->arcs[p->spans[r].first + a];

            spill_cyclic_range_add(load, n, arc->first, arc->end - arc->first, p->runs[r].count);
        }
    for (uint32_t k = 1; k < n; k++) {
        load[k] += load[k - 1];
        if (load[k] < load[quiet])
            quiet = k;
    }
    return quiet;
}

static bool paint(struct painter *p, uint32_t limit, struct spill_frames *frames)
{
    p->class_count = p->class_room = 0;
    if (!grow(p))
        return false;
    p->classes[0].frame_count = limit;
    p->class_count = limit > 0;
    frames->unplaced = 0;
    for (uint32_t i = 0; i < p->run_count; i++) {
        if (!place_run(p, p->order[i]))
            return false;
        frames->unplaced += p->runs[p->order[i]].count - p->runs[p->order[i]].placed;
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

/* Moves the runs that found too few frames to the front, behind those that never leave: those that
 * are hard to place choose first next time (Joslin and Clements, "Squeaky wheel optimization",
 * 1999). */
static bool promote_unplaced(struct painter *p)
{
    uint32_t *order = spill_arena_alloc(p->arena, p->run_count, sizeof(uint32_t));
    uint32_t n = p->prep->problem->op_count, count = 0;

    if (order == NULL)
        return false;
    for (int group = 0; group < 3; group++)
        for (uint32_t i = 0; i < p->run_count; i++) {
            uint32_t r = p->order[i];
            int mine = p->spans[r].length >= n ? 0 : p->runs[r].placed < p->runs[r].count ? 1 : 2;

            if (mine == group)
                order[count++] = r;
        }
    p->order = order;
    return true;
}

enum spill_status spill_frames_assign(const struct spill_prep *prep, struct spill_plan *plan,
                                      uint32_t limit, const struct spill_timeline *when,
                                      uint64_t step_ns, struct spill_frames *frames,
                                      struct spill_arena *arena)
{
    struct painter p = {.prep = prep, .plan = plan, .when = when, .step_ns = step_ns};
    uint32_t quiet_op;

    p.arena = arena;
    p.words = (prep->problem->op_count + 63) / 64;
    if (!build_runs(&p) || arena->failed)
        return SPILL_ERR_NOMEM;
    quiet_op = least_crowded_op(&p);
    frames->runs = p.runs;
    frames->run_count = p.run_count;
    /* The first order, then the same with the hard runs first, and where timing does not matter the
     * other orders as a last resort. */
    frames->unplaced_least = UINT32_MAX;
    for (int try = 0; try < REPAINTS + (when == NULL ? ORDERS - 1 : 0); try++) {
        if (try == 2 && frames->unplaced_least > limit / 12)
            break; /* too far off */
        if (!(try > 0 && try < REPAINTS
                  ? promote_unplaced(&p)
                  : sort_runs(&p, try == 0 ? 0 : try - REPAINTS + 1, quiet_op)))
            return SPILL_ERR_NOMEM;
        for (uint32_t page = 0; page < prep->page_total; page++)
            plan->frame_of[page] = SPILL_NO_FRAME;
        if (!paint(&p, limit, frames))
            return SPILL_ERR_NOMEM;
        if (frames->unplaced < frames->unplaced_least)
            frames->unplaced_least = frames->unplaced;
        if (frames->unplaced == 0)
            break;
    }
    if (!renumber(&p, limit))
        return SPILL_ERR_NOMEM;
    frames->frame_count = plan->frame_count;
    return SPILL_OK;
}
