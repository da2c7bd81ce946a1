/* SPDX-License-Identifier: Apache-2.0 */
/* Which event waits a script needs. Everything that must be ordered is listed first, as pairs
 * (consumer, source):
 *   - an op that touches a moved buffer after the gap comes after the copy in;
 *   - a copy out comes after the ops that touched the buffer before the gap;
 *   - a copy in comes after its own copy out (the data), and after the frame's previous stay;
 *   - the first ops of a newborn buffer come after the previous stays of its frames.
 * Then vector clocks (Mattern 1989) tell which pairs stream order and other waits already order; only
 * the rest becomes waits. A set of waits is accepted when a walk of three iterations with exactly these
 * waits finds every pair ordered, so each one is needed and all together suffice. */
#include <stdlib.h>
#include <string.h>

#include "replay/script.h"

enum { WALKS = 3 };

/* Sources and consumers share one numbering: ops, then copies out, then copies in. */
struct pair {
    uint32_t consumer;
    uint32_t source;
    uint64_t age; /* of the source when the consumer comes, in host-order positions */
    bool wait;
};

/* One stay of one page, as far as frames care. Tokens: 2 * move for a copy, 2 * buffer + 1 for a birth
 * (as start) or a death (as end). */
struct stay {
    uint32_t frame;
    uint32_t start_token, end_token;
    uint64_t start; /* host-order position */
};

struct build {
    struct spill_script *s;
    const struct spill_problem *problem;
    uint32_t n, m, streams;
    uint32_t *touch_ops; /* by buffer: the ops that touch it, ascending */
    uint32_t *touch_base;
    struct pair *pairs;
    size_t pair_count, pair_cap;
    struct stay *stays;
    size_t stay_count, stay_cap;
    uint32_t *found; /* scratch: one op per stream */
    uint64_t *clock, *snapshot, *position;
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

static uint32_t stream_of(const struct build *b, uint32_t id)
{
    if (id < b->n)
        return b->s->it.trace.ops[id].stream;
    return id < b->n + b->m ? b->streams - 2 : b->streams - 1;
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
    return b->s->plan->moves[move].in_op * width + 1 + b->m + move;
}

static enum spill_status add_pair(struct build *b, uint32_t consumer, uint32_t source)
{
    uint64_t round = b->n * (2 * (uint64_t)b->m + 2);
    if (grow((void **)&b->pairs, &b->pair_cap, b->pair_count + 1, sizeof(*b->pairs)) != 0)
        return SPILL_ERR_NOMEM;
    uint64_t c = place_of(b, consumer), p = place_of(b, source);
    b->pairs[b->pair_count++] = (struct pair){consumer, source, c > p ? c - p : c + round - p, false};
    return SPILL_OK;
}

/* Fills found[] with, per stream, the first (or the last) op that touches BUFFER in the cyclic range of
 * ops [FROM, TO]; SPILL_NO_EVENT where there is none. */
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
        uint32_t stream = stream_of(b, op);
        if (distance <= span && (last || b->found[stream] == SPILL_NO_EVENT))
            b->found[stream] = op;
    }
}

static enum spill_status pair_found(struct build *b, uint32_t other, bool found_consume)
{
    enum spill_status status = SPILL_OK;
    for (uint32_t i = 0; status == SPILL_OK && i < b->streams; i++)
        if (b->found[i] != SPILL_NO_EVENT)
            status = found_consume ? add_pair(b, b->found[i], other)
                                   : add_pair(b, other, b->found[i]);
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

/* The stays of one page. MINE: its moves, sorted by the distance of out_op from the life's start. */
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
        status = add_stay(b, frame, count == 0 ? 2 * buffer + 1 : 2 * mine[count - 1],
                          2 * buffer + 1);
    return status;
}

static enum spill_status buffer_stays(struct build *b, uint32_t buffer, const uint32_t *moves,
                                      uint32_t move_count, uint32_t *mine)
{
    const struct spill_plan *plan = b->s->plan;
    uint32_t pages = plan->page_base[buffer + 1] - plan->page_base[buffer];
    enum spill_status status = SPILL_OK;
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

/* All stays. Moves are grouped by buffer; within one they come in cyclic order from the life's start,
 * which is the array's order rotated. */
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

/* NEXT's start comes after BEFORE's end. */
static enum spill_status pair_frame(struct build *b, const struct stay *before,
                                    const struct stay *next)
{
    uint32_t first, last;
    enum spill_status status = SPILL_OK;
    uint32_t sources[68], count = 0;
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

static enum spill_status pair_frames(struct build *b)
{
    enum spill_status status = SPILL_OK;
    qsort(b->stays, b->stay_count, sizeof(*b->stays), by_frame);
    for (size_t i = 0; status == SPILL_OK && i < b->stay_count;) {
        size_t end = i;
        while (end < b->stay_count && b->stays[end].frame == b->stays[i].frame)
            end++;
        for (size_t j = i; status == SPILL_OK && j < end; j++)
            status = pair_frame(b, &b->stays[j == i ? end - 1 : j - 1], &b->stays[j]);
        i = end;
    }
    return status;
}

/* By consumer; the youngest source first, whose wait most likely covers the older ones. */
static int by_consumer(const void *left, const void *right)
{
    const struct pair *a = left, *c = right;
    if (a->consumer != c->consumer)
        return a->consumer < c->consumer ? -1 : 1;
    if (a->age != c->age)
        return a->age < c->age ? -1 : 1;
    return a->source < c->source ? -1 : a->source > c->source;
}

static void sort_pairs(struct build *b)
{
    size_t kept = 0;
    qsort(b->pairs, b->pair_count, sizeof(*b->pairs), by_consumer);
    for (size_t i = 0; i < b->pair_count; i++)
        if (kept == 0 || b->pairs[i].consumer != b->pairs[kept - 1].consumer ||
            b->pairs[i].source != b->pairs[kept - 1].source)
            b->pairs[kept++] = b->pairs[i];
    b->pair_count = kept;
}

struct walk {
    struct build *b;
    const size_t *first_pair; /* by consumer id */
    uint64_t now;             /* position counter; equal on no two actions */
    bool changed;
};

/* CONSUMER is enqueued on its stream: waits for what it must, then is recorded. */
static void enqueue(struct walk *w, uint32_t consumer)
{
    struct build *b = w->b;
    uint32_t stream = stream_of(b, consumer), width = b->streams;
    uint64_t *clock = b->clock + (size_t)stream * width;
    for (size_t i = w->first_pair[consumer]; i < w->first_pair[consumer + 1]; i++) {
        struct pair *pair = &b->pairs[i];
        uint64_t when = b->position[pair->source];
        uint32_t source_stream = stream_of(b, pair->source);
        if (when == 0)
            continue; /* before the first iteration: the device was idle */
        if (!pair->wait && source_stream != stream && clock[source_stream] < when) {
            pair->wait = true;
            w->changed = true;
        }
        if (!pair->wait)
            continue;
        const uint64_t *seen = b->snapshot + (size_t)pair->source * width;
        for (uint32_t s = 0; s < width; s++)
            if (clock[s] < seen[s])
                clock[s] = seen[s];
    }
    w->now++;
    clock[stream] = w->now;
    b->position[consumer] = w->now;
    memcpy(b->snapshot + (size_t)consumer * width, clock, width * sizeof(*clock));
}

static bool walk(struct build *b, const size_t *first_pair)
{
    struct walk w = {.b = b, .first_pair = first_pair};
    size_t ids = b->n + 2 * (size_t)b->m;
    memset(b->clock, 0, (size_t)b->streams * b->streams * sizeof(*b->clock));
    memset(b->position, 0, ids * sizeof(*b->position));
    for (int round = 0; round < WALKS; round++)
        for (uint32_t k = 0; k < b->n; k++) {
            const struct spill_script_op *op = &b->s->ops[k];
            enqueue(&w, k);
            for (uint32_t i = 0; i < op->outs.count; i++)
                enqueue(&w, b->n + op->outs.first + i);
            for (uint32_t i = 0; i < op->ins.count; i++)
                enqueue(&w, b->n + b->m + b->s->plan->in_order[op->ins.first + i]);
        }
    return w.changed;
}

static uint32_t *event_of(struct build *b, uint32_t id)
{
    if (id < b->n)
        return &b->s->ops[id].event;
    return id < b->n + b->m ? &b->s->moves[id - b->n].out_event
                            : &b->s->moves[id - b->n - b->m].in_event;
}

static struct spill_slice *waits_of(struct build *b, uint32_t id)
{
    if (id < b->n)
        return &b->s->ops[id].waits;
    return id < b->n + b->m ? &b->s->moves[id - b->n].out_waits
                            : &b->s->moves[id - b->n - b->m].in_waits;
}

static enum spill_status choose_waits(struct build *b)
{
    size_t ids = b->n + 2 * (size_t)b->m;
    size_t *first_pair = calloc(ids + 2, sizeof(*first_pair));
    b->clock = calloc((size_t)b->streams * b->streams, sizeof(*b->clock));
    b->snapshot = calloc(ids * b->streams + 1, sizeof(*b->snapshot));
    b->position = calloc(ids + 1, sizeof(*b->position));
    b->s->waits = calloc(b->pair_count + 1, sizeof(*b->s->waits));
    if (first_pair == NULL || b->clock == NULL || b->snapshot == NULL || b->position == NULL ||
        b->s->waits == NULL) {
        free(first_pair);
        return SPILL_ERR_NOMEM;
    }
    for (size_t i = 0; i < b->pair_count; i++)
        first_pair[b->pairs[i].consumer + 1]++;
    for (size_t i = 1; i <= ids; i++)
        first_pair[i] += first_pair[i - 1];
    while (walk(b, first_pair)) /* each round adds a wait, so it ends */
        ;
    for (size_t i = 0; i < b->pair_count; i++) {
        struct spill_slice *slice = waits_of(b, b->pairs[i].consumer);
        uint32_t *event = event_of(b, b->pairs[i].source);
        if (!b->pairs[i].wait)
            continue;
        if (slice->count++ == 0)
            slice->first = b->s->wait_count;
        if (*event == SPILL_NO_EVENT)
            *event = b->s->event_count++;
        b->s->waits[b->s->wait_count++] = *event;
    }
    free(first_pair);
    return SPILL_OK;
}

/* The ops that touch each buffer, ascending. */
static enum spill_status list_touches(struct build *b)
{
    const struct spill_problem *problem = b->problem;
    b->touch_base = calloc((size_t)b->s->buffer_count + 2, sizeof(*b->touch_base));
    b->touch_ops = calloc((size_t)problem->access_count + 1, sizeof(*b->touch_ops));
    b->found = calloc(b->streams, sizeof(*b->found));
    if (b->touch_base == NULL || b->touch_ops == NULL || b->found == NULL)
        return SPILL_ERR_NOMEM;
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

enum spill_status spill_waits_build(struct spill_script *script,
                                    const struct spill_problem *problem)
{
    struct build b = {.s = script, .problem = problem, .n = script->op_count,
                      .m = script->move_count};
    for (uint32_t k = 0; k < b.n; k++)
        if (script->it.trace.ops[k].stream >= b.streams)
            b.streams = script->it.trace.ops[k].stream + 1;
    b.streams += 2; /* ours */
    enum spill_status status = list_touches(&b);
    for (uint32_t m = 0; status == SPILL_OK && m < b.m; m++)
        status = pair_move(&b, m);
    if (status == SPILL_OK)
        status = all_stays(&b);
    if (status == SPILL_OK)
        status = pair_frames(&b);
    if (status == SPILL_OK) {
        sort_pairs(&b);
        status = choose_waits(&b);
    }
    free(b.touch_ops);
    free(b.touch_base);
    free(b.pairs);
    free(b.stays);
    free(b.found);
    free(b.clock);
    free(b.snapshot);
    free(b.position);
    return status;
}
