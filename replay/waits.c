/* SPDX-License-Identifier: Apache-2.0 */
/* Which event waits a script needs: vector clocks (Mattern 1989) tell which of the ordering's pairs
 * are ordered already, by streams and by other waits; only the rest becomes waits. A set of waits
 * is accepted when a walk of three iterations with exactly these waits finds every pair ordered, so
 * that all together they suffice. */
#include <stdlib.h>
#include <string.h>

#include "replay/ordering.h"

enum {
    WALKS = 3,
    PRUNE_WORK = 50 * 1000 * 1000 /* steps spent on it: bounds the time of a large plan */
};

struct walk {
    struct spill_script *s;
    struct spill_ordering order;
    size_t *first_pair;  /* by consumer */
    uint64_t *clock;     /* [stream][stream]: what each stream knows to have ended of each other */
    uint64_t *snapshot;  /* [id][stream]: the clock of its stream when id was enqueued */
    uint64_t *position;  /* [id]: when it was last enqueued; 0: not yet */
    uint64_t now;        /* equal on no two actions */
    bool adding;         /* a pair that is not ordered becomes a wait */
    bool short_of_waits; /* one was met */
};

/* CONSUMER is enqueued on its stream: waits for what it must, then is recorded. */
static void enqueue(struct walk *w, uint32_t consumer)
{
    uint32_t stream = spill_ordering_stream(&w->order, consumer), width = w->order.streams;
    uint64_t *clock = w->clock + (size_t)stream * width;
    for (size_t i = w->first_pair[consumer]; i < w->first_pair[consumer + 1]; i++) {
        struct spill_ordering_pair *pair = &w->order.pairs[i];
        uint64_t when = w->position[pair->source];
        uint32_t source_stream = spill_ordering_stream(&w->order, pair->source);
        if (when == 0)
            continue; /* before the first iteration: the device was idle */
        if (!pair->wait && source_stream != stream && clock[source_stream] < when) {
            w->short_of_waits = true;
            pair->wait = w->adding;
        }
        if (!pair->wait)
            continue;
        const uint64_t *seen = w->snapshot + (size_t)pair->source * width;
        for (uint32_t s = 0; s < width; s++)
            if (clock[s] < seen[s])
                clock[s] = seen[s];
    }
    w->now++;
    clock[stream] = w->now;
    w->position[consumer] = w->now;
    memcpy(w->snapshot + (size_t)consumer * width, clock, width * sizeof(*clock));
}

/* Walks the iterations; true if every pair was ordered by streams and the waits chosen so far. */
static bool walk(struct walk *w, bool adding)
{
    size_t ids = w->order.op_count + 2 * (size_t)w->order.move_count;
    w->now = 0;
    w->adding = adding;
    w->short_of_waits = false;
    memset(w->clock, 0, (size_t)w->order.streams * w->order.streams * sizeof(*w->clock));
    memset(w->position, 0, ids * sizeof(*w->position));
    for (int round = 0; round < WALKS; round++)
        for (uint32_t k = 0; k < w->order.op_count; k++) {
            const struct spill_script_op *op = &w->s->ops[k];
            enqueue(w, k);
            for (uint32_t i = 0; i < op->outs.count; i++)
                enqueue(w, w->order.op_count + op->outs.first + i);
            for (uint32_t i = 0; i < op->ins.count; i++)
                enqueue(w, w->order.op_count + w->order.move_count +
                               w->s->plan->in_order[op->ins.first + i]);
        }
    return !w->short_of_waits;
}

static uint32_t *event_of(struct walk *w, uint32_t id)
{
    uint32_t n = w->order.op_count, m = w->order.move_count;
    if (id < n)
        return &w->s->ops[id].event;
    return id < n + m ? &w->s->moves[id - n].out_event : &w->s->moves[id - n - m].in_event;
}

static struct spill_slice *waits_of(struct walk *w, uint32_t id)
{
    uint32_t n = w->order.op_count, m = w->order.move_count;
    if (id < n)
        return &w->s->ops[id].waits;
    return id < n + m ? &w->s->moves[id - n].out_waits : &w->s->moves[id - n - m].in_waits;
}

static enum spill_status make_tables(struct walk *w)
{
    size_t ids = w->order.op_count + 2 * (size_t)w->order.move_count, width = w->order.streams;
    w->first_pair = calloc(ids + 2, sizeof(*w->first_pair));
    w->clock = calloc(width * width, sizeof(*w->clock));
    w->snapshot = calloc(ids * width + 1, sizeof(*w->snapshot));
    w->position = calloc(ids + 1, sizeof(*w->position));
    w->s->waits = calloc(w->order.pair_count + 1, sizeof(*w->s->waits));
    if (w->first_pair == NULL || w->clock == NULL || w->snapshot == NULL || w->position == NULL ||
        w->s->waits == NULL)
        return SPILL_ERR_NOMEM;
    for (size_t i = 0; i < w->order.pair_count; i++)
        w->first_pair[w->order.pairs[i].consumer + 1]++;
    for (size_t i = 1; i <= ids; i++)
        w->first_pair[i] += w->first_pair[i - 1];
    return SPILL_OK;
}

/* Takes out waits that later choices made needless. */
static void prune(struct walk *w)
{
    uint64_t work = 0;
    for (size_t i = w->order.pair_count; i-- > 0 && work < PRUNE_WORK;) {
        struct spill_ordering_pair *pair = &w->order.pairs[i];
        if (!pair->wait)
            continue;
        pair->wait = false;
        pair->wait = !walk(w, false);
        work += w->order.pair_count + w->order.op_count;
    }
}

/* The chosen pairs become waits and events. */
static void emit(struct walk *w)
{
    struct spill_script *s = w->s;
    for (size_t i = 0; i < w->order.pair_count; i++) {
        const struct spill_ordering_pair *pair = &w->order.pairs[i];
        struct spill_slice *slice = waits_of(w, pair->consumer);
        uint32_t *event = event_of(w, pair->source);
        if (!pair->wait)
            continue;
        if (slice->count++ == 0)
            slice->first = s->wait_count;
        if (*event == SPILL_NO_EVENT)
            *event = s->event_count++;
        s->waits[s->wait_count++] = *event;
    }
}

enum spill_status spill_waits_build(struct spill_script *script,
                                    const struct spill_problem *problem)
{
    struct walk w = {.s = script};
    enum spill_status status = spill_ordering_build(&w.order, script, problem);
    if (status == SPILL_OK)
        status = make_tables(&w);
    if (status == SPILL_OK) {
        while (!walk(&w, true)) /* each round adds a wait, so it ends */
            ;
        prune(&w);
        emit(&w);
    }
    spill_ordering_free(&w.order);
    free(w.first_pair);
    free(w.clock);
    free(w.snapshot);
    free(w.position);
    return status;
}
