/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/ordering.h"

#include <stdlib.h>
#include <string.h>

/* One stay of one page, as far as its frame (or its place in host memory) cares. Tokens: 2 * move
 * for a copy, 2 * buffer + 1 for a birth (as start) or a death (as end). */
struct stay {
    uint32_t frame;
    uint32_t start_token, end_token;
    uint64_t start; /* host-order position */
};

struct build {
    struct spill_ordering *o;
    const struct spill_script *s;
    const struct spill_problem *problem;
    uint32_t n, m, streams;
    uint32_t *touch_ops; /* by buffer: the ops that touch it, ascending */
    uint32_t *touch_base;
    struct stay *stays;
    size_t stay_count, stay_cap;
    uint32_t *found;       /* scratch: one op per stream */
    uint32_t *sources;     /* the same */
    uint32_t *in_position; /* by move: its place in the plan's in_order */
};

static int grow(void **array, size_t *cap, size_t want, size_t elem)
{
    if (want <= *cap)
        return 0;
    size_t bigger = *cap == 0 ? 256 : *cap * 2;
    void *p = realloc(*array, bigger * elem);
    if (p == NULL)
        return -1;
    *array = p;
    *cap = bigger;
    return 0;
}

uint32_t spill_ordering_stream(const struct spill_ordering *o, uint32_t id)
{
    if (id < o->op_count)
        return o->script->it.trace.ops[id].stream;
    return id < o->op_count + o->move_count ? o->streams - 2 : o->streams - 1;
}

/* Place in host order within an iteration. Copies of one op keep their order on their link. */
static uint64_t place_of(const struct build *b, uint32_t id)
{
    uint64_t width = 2 * (uint64_t)b->m + 2;
    if (id < b->n)
        return id * width;
    if (id < b->n + b->m)
        return b->s->plan->moves[id - b->n].out_op * width + 1 + (id - b->n);
    uint32_t move = id - b->n - b->m;
    return b->s->plan->moves[move].in_op * width + 1 + b->m + b->in_position[move];
}

static enum spill_status add_pair(struct build *b, uint32_t consumer, uint32_t source)
{
    uint64_t round = b->n * (2 * (uint64_t)b->m + 2);
    struct spill_ordering *o = b->o;
    if (grow((void **)&o->pairs, &o->pair_cap, o->pair_count + 1, sizeof(*o->pairs)) != 0)
        return SPILL_ERR_NOMEM;
    uint64_t c = place_of(b, consumer), p = place_of(b, source);
    o->pairs[o->pair_count++] =
        (struct spill_ordering_pair){consumer, source, c > p ? c - p : c + round - p, false};
    return SPILL_OK;
}

/* Fills found[] with, per stream, the first (or the last) op that touches BUFFER in the cyclic
 * range of ops [FROM, TO]; SPILL_NO_EVENT where there is none. */
static void touches_in(struct build *b, uint32_t buffer, uint32_t from, uint32_t to, bool last)
{
    uint32_t base = b->touch_base[buffer], count = b->touch_base[buffer + 1] - base;
    uint32_t span = to >= from ? to - from : to + b->n - from, begin = 0;
    for (uint32_t i = 0; i < b->streams; i++)
        b->found[i] = SPILL_NO_EVENT;
    while (begin < count && b->touch_ops[base + begin] < from)
        begin++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t op = b->touch_ops[base + (begin + i) % count];
        uint32_t distance = op >= from ? op - from : op + b->n - from;
        uint32_t stream = spill_ordering_stream(b->o, op);
        if (distance <= span && (last || b->found[stream] == SPILL_NO_EVENT))
            b->found[stream] = op;
    }
}

static enum spill_status pair_found(struct build *b, uint32_t other, bool found_consume)
{
    enum spill_status status = SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < b->streams; i++)
        if (b->found[i] != SPILL_NO_EVENT)
            status =
                found_consume ? add_pair(b, b->found[i], other) : add_pair(b, other, b->found[i]);
    return status;
}

static void life_of(const struct build *b, uint32_t buffer, uint32_t *first, uint32_t *last)
{
    *first = b->problem->buffers[buffer].birth_op;
    *last = b->problem->buffers[buffer].death_op;
}

/* The pairs of a move's own data. */
static enum spill_status pair_move(struct build *b, uint32_t m)
{
    const struct spill_move *move = &b->s->plan->moves[m];
    bool persistent = b->problem->buffers[move->buffer].life == SPILL_LIFE_PERSISTENT;
    uint32_t first = move->use_op, last = move->out_op;
    if (!persistent)
        life_of(b, move->buffer, &first, &last);
    touches_in(b, move->buffer, first, move->out_op, true);
    enum spill_status status = pair_found(b, b->n + m, false);
    touches_in(b, move->buffer, move->use_op, last, false);
    if (status == SPILL_OK)
        status = pair_found(b, b->n + b->m + m, true);
    return status == SPILL_OK ? add_pair(b, b->n + b->m + m, b->n + m) : status;
}

static enum spill_status add_stay(struct build *b, uint32_t frame, uint32_t start_token,
                                  uint32_t end_token)
{
    if (grow((void **)&b->stays, &b->stay_cap, b->stay_count + 1, sizeof(*b->stays)) != 0)
        return SPILL_ERR_NOMEM;
    uint64_t start = (start_token & 1) != 0
                         ? place_of(b, b->problem->buffers[start_token / 2].birth_op)
                         : place_of(b, b->n + b->m + start_token / 2);
    b->stays[b->stay_count++] = (struct stay){frame, start_token, end_token, start};
    return SPILL_OK;
}

/* The stays of one page. MINE: its moves, sorted by the distance of out_op from the life's start.
 */
static enum spill_status page_stays(struct build *b, uint32_t buffer, uint32_t frame,
                                    const uint32_t *mine, uint32_t count)
{
    bool persistent = b->problem->buffers[buffer].life == SPILL_LIFE_PERSISTENT ||
                      b->problem->buffers[buffer].pinned;
    enum spill_status status = SPILL_OK;
    if (frame == SPILL_NO_FRAME || (persistent && count == 0))
        return SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < count; i++) {
        uint32_t start = persistent ? 2 * mine[(i + count - 1) % count]
                         : i == 0   ? 2 * buffer + 1
                                    : 2 * mine[i - 1];
        status = add_stay(b, frame, start, 2 * mine[i]);
    }
    if (status == SPILL_OK && !persistent)
        status =
            add_stay(b, frame, count == 0 ? 2 * buffer + 1 : 2 * mine[count - 1], 2 * buffer + 1);
    return status;
}

static enum spill_status buffer_stays(struct build *b, uint32_t buffer, const uint32_t *moves,
                                      uint32_t move_count, uint32_t *mine)
{
    const struct spill_plan *plan = b->s->plan;
    uint32_t pages = plan->page_base[buffer + 1] - plan->page_base[buffer];
    enum spill_status status = SPILL_OK;
    /* A buffer that no op touches orders nothing: its stay must not stand between two that do. */
    if (b->touch_base[buffer] == b->touch_base[buffer + 1])
        return SPILL_OK;
    for (uint32_t p = 0; status == SPILL_OK && p < pages; p++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < move_count; i++) {
            const struct spill_move *move = &plan->moves[moves[i]];
            if (p >= move->page_first && p < move->page_first + move->page_count)
                mine[count++] = moves[i];
        }
        status = page_stays(b, buffer, plan->frame_of[plan->page_base[buffer] + p], mine, count);
    }
    return status;
}

/* All stays. Moves are grouped by buffer; within one they come in cyclic order from the life's
 * start, which is the array's order rotated. */
static enum spill_status all_stays(struct build *b)
{
    const struct spill_plan *plan = b->s->plan;
    uint32_t *moves = calloc(2 * (size_t)b->m + 2, sizeof(*moves));
    enum spill_status status = moves == NULL ? SPILL_ERR_NOMEM : SPILL_OK;
    uint32_t *first = calloc((size_t)b->s->buffer_count + 2, sizeof(*first));
    uint32_t *by_buffer = calloc((size_t)b->m + 1, sizeof(*by_buffer));
    if (first == NULL || by_buffer == NULL)
        status = SPILL_ERR_NOMEM;
    for (uint32_t m = 0; status == SPILL_OK && m < b->m; m++)
        first[plan->moves[m].buffer + 2]++;
    for (uint32_t i = 2; status == SPILL_OK && i < b->s->buffer_count + 2; i++)
        first[i] += first[i - 1];
    for (uint32_t m = 0; status == SPILL_OK && m < b->m; m++)
        by_buffer[first[plan->moves[m].buffer + 1]++] = m;
    for (uint32_t buffer = 0; status == SPILL_OK && buffer < b->s->buffer_count; buffer++) {
        uint32_t count = first[buffer + 1] - first[buffer], start = 0;
        const uint32_t *group = by_buffer + first[buffer];
        if (b->problem->buffers[buffer].life == SPILL_LIFE_ITERATION)
            while (start < count &&
                   plan->moves[group[start]].out_op < b->problem->buffers[buffer].birth_op)
                start++;
        for (uint32_t i = 0; i < count; i++)
            moves[i] = group[(start + i) % count];
        status = buffer_stays(b, buffer, moves, count, moves + b->m + 1);
    }
    free(moves);
    free(first);
    free(by_buffer);
    return status;
}

static int by_frame(const void *left, const void *right)
{
    const struct stay *a = left, *c = right;
    if (a->frame != c->frame)
        return a->frame < c->frame ? -1 : 1;
    return a->start < c->start ? -1 : a->start > c->start;
}

/* NEXT's start comes after BEFORE's end, in one frame. */
static enum spill_status pair_frame(struct build *b, const struct stay *before,
                                    const struct stay *next)
{
    uint32_t first, last;
    enum spill_status status = SPILL_OK;
    uint32_t *sources = b->sources, count = 0;
    if ((before->end_token & 1) == 0) {
        sources[count++] = b->n + before->end_token / 2;
    } else {
        life_of(b, before->end_token / 2, &first, &last);
        touches_in(b, before->end_token / 2, first, last, true);
        for (uint32_t i = 0; i < b->streams; i++)
            if (b->found[i] != SPILL_NO_EVENT)
                sources[count++] = b->found[i];
    }
    for (uint32_t i = 0; status == SPILL_OK && i < count; i++) {
        if ((next->start_token & 1) == 0) {
            status = add_pair(b, b->n + b->m + next->start_token / 2, sources[i]);
            continue;
        }
        life_of(b, next->start_token / 2, &first, &last);
        touches_in(b, next->start_token / 2, first, last, false);
        status = pair_found(b, sources[i], true);
    }
    return status;
}

/* The same in one place of host memory: it is written by one copy out and read by its copy in. */
static enum spill_status pair_slot(struct build *b, const struct stay *before,
                                   const struct stay *next)
{
    return add_pair(b, b->n + next->start_token / 2, b->n + b->m + before->end_token / 2);
}

/* Calls PAIR for all stays that follow one another in a frame, around the iteration. */
static enum spill_status
pair_stays(struct build *b, enum spill_status (*pair)(struct build *b, const struct stay *before,
                                                      const struct stay *next))
{
    enum spill_status status = SPILL_OK;
    qsort(b->stays, b->stay_count, sizeof(*b->stays), by_frame);
    for (size_t i = 0; status == SPILL_OK && i < b->stay_count;) {
        size_t end = i;
        while (end < b->stay_count && b->stays[end].frame == b->stays[i].frame)
            end++;
        for (size_t j = i; status == SPILL_OK && j < end; j++)
            status = pair(b, &b->stays[j == i ? end - 1 : j - 1], &b->stays[j]);
        i = end;
    }
    b->stay_count = 0;
    return status;
}

/* The stays of moves' pages in host memory, from copy out to copy in. */
static enum spill_status all_slots(struct build *b)
{
    for (uint32_t m = 0; m < b->m; m++)
        for (uint32_t p = 0; p < b->s->moves[m].page_count; p++) {
            if (grow((void **)&b->stays, &b->stay_cap, b->stay_count + 1, sizeof(*b->stays)) != 0)
                return SPILL_ERR_NOMEM;
            b->stays[b->stay_count++] =
                (struct stay){b->s->moves[m].host_slot + p, 2 * m, 2 * m, place_of(b, b->n + m)};
        }
    return SPILL_OK;
}

/* By consumer; the youngest source first, whose wait most likely covers the older ones. */
static int by_consumer(const void *left, const void *right)
{
    const struct spill_ordering_pair *a = left, *c = right;
    if (a->consumer != c->consumer)
        return a->consumer < c->consumer ? -1 : 1;
    if (a->age != c->age)
        return a->age < c->age ? -1 : 1;
    return a->source < c->source ? -1 : a->source > c->source;
}

static void sort_pairs(struct spill_ordering *o)
{
    size_t kept = 0;
    qsort(o->pairs, o->pair_count, sizeof(*o->pairs), by_consumer);
    for (size_t i = 0; i < o->pair_count; i++)
        if (kept == 0 || o->pairs[i].consumer != o->pairs[kept - 1].consumer ||
            o->pairs[i].source != o->pairs[kept - 1].source)
            o->pairs[kept++] = o->pairs[i];
    o->pair_count = kept;
}

/* The ops that touch each buffer, ascending; and the other tables. */
static enum spill_status list_touches(struct build *b)
{
    const struct spill_problem *problem = b->problem;
    b->touch_base = calloc((size_t)b->s->buffer_count + 2, sizeof(*b->touch_base));
    b->touch_ops = calloc((size_t)problem->access_count + 1, sizeof(*b->touch_ops));
    b->found = calloc(b->streams, sizeof(*b->found));
    b->sources = calloc(b->streams, sizeof(*b->sources));
    b->in_position = calloc((size_t)b->m + 1, sizeof(*b->in_position));
    if (b->touch_base == NULL || b->touch_ops == NULL || b->found == NULL || b->sources == NULL ||
        b->in_position == NULL)
        return SPILL_ERR_NOMEM;
    for (uint32_t i = 0; i < b->m; i++)
        b->in_position[b->s->plan->in_order[i]] = i;
    for (uint32_t a = 0; a < problem->access_count; a++)
        b->touch_base[problem->accesses[a].buffer + 2]++;
    for (uint32_t i = 2; i < b->s->buffer_count + 2; i++)
        b->touch_base[i] += b->touch_base[i - 1];
    for (uint32_t k = 0; k < b->n; k++)
        for (uint32_t a = 0; a < problem->ops[k].access_count; a++) {
            uint32_t buffer = problem->accesses[problem->ops[k].access_first + a].buffer;
            b->touch_ops[b->touch_base[buffer + 1]++] = k;
        }
    return SPILL_OK;
}

enum spill_status spill_ordering_build(struct spill_ordering *ordering,
                                       const struct spill_script *script,
                                       const struct spill_problem *problem)
{
    struct build b = {.o = ordering,
                      .s = script,
                      .problem = problem,
                      .n = script->op_count,
                      .m = script->move_count};
    memset(ordering, 0, sizeof(*ordering));
    for (uint32_t k = 0; k < b.n; k++)
        if (script->it.trace.ops[k].stream >= b.streams)
            b.streams = script->it.trace.ops[k].stream + 1;
    b.streams += 2;
    ordering->script = script;
    ordering->problem = problem;
    ordering->op_count = b.n;
    ordering->move_count = b.m;
    ordering->streams = b.streams;
    enum spill_status status = list_touches(&b);
    for (uint32_t m = 0; status == SPILL_OK && m < b.m; m++)
        status = pair_move(&b, m);
    if (status == SPILL_OK)
        status = all_stays(&b);
    if (status == SPILL_OK)
        status = pair_stays(&b, pair_frame);
    if (status == SPILL_OK)
        status = all_slots(&b);
    if (status == SPILL_OK)
        status = pair_stays(&b, pair_slot);
    if (status == SPILL_OK)
        sort_pairs(ordering);
    free(b.touch_ops);
    free(b.touch_base);
    free(b.stays);
    free(b.found);
    free(b.sources);
    free(b.in_position);
    return status;
}

void spill_ordering_free(struct spill_ordering *ordering)
{
    free(ordering->pairs);
    ordering->pairs = NULL;
}
