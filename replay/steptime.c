/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on the planner's thread. Items are ops, then copies out, then copies in; each belongs to a
 * queue (a stream of the program's, the out stream, the in stream) that runs it in host order once
 * what it waits for is over. The host enqueues as far ahead as its own waits let it, and at most
 * one iteration beyond the one that is not over. */
#include "replay/steptime.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/script.h"

#define RING            4 /* iterations whose items are told apart */
#define AHEAD           2 /* the host begins an iteration when this many before it are over */
#define ITERATIONS_MOST 40
#define NOT_READY       UINT64_MAX

struct queue {
    uint32_t first, count; /* of the list of items */
    uint64_t next;         /* running number of the item to start next, or under way */
    uint64_t ready;        /* since when it could start, NOT_READY: it cannot */
};

struct totals {
    uint64_t begun, wait_in, wait_memory, out, in;
};

struct play {
    const struct spill_script *s;
    const struct spill_problem *problem;
    uint32_t n, m, ids, streams;
    struct queue *queues; /* streams + 2 of them */
    uint32_t *list;       /* items by queue, in host order */
    uint32_t *place;      /* of each item in host order */
    uint32_t *source_of;  /* of each event */
    uint64_t *end[RING];  /* of each item; 0: not yet */
    uint32_t left[RING];  /* items that are not over */
    uint64_t host;        /* ops enqueued */
    uint64_t now;
    struct queue *busy; /* the stream whose op is under way, NULL: none */
    uint64_t busy_until, idle_since;
    bool linked[2];                           /* a copy out, in is under way */
    uint64_t linked_since[2], linked_left[2]; /* left: nanoseconds * 1000 */
    struct totals so_far, at[RING];           /* when op 0 of an iteration began */
};

static uint32_t op_of(const struct play *p, uint32_t id)
{
    if (id < p->n)
        return id;
    return id < p->n + p->m ? p->s->plan->moves[id - p->n].out_op
                            : p->s->plan->moves[id - p->n - p->m].in_op;
}

static uint32_t queue_of(const struct play *p, uint32_t id)
{
    if (id < p->n)
        return p->s->it.trace.ops[id].stream;
    return id < p->n + p->m ? p->streams : p->streams + 1;
}

static struct spill_slice waits_of(const struct play *p, uint32_t id)
{
    if (id < p->n)
        return p->s->ops[id].waits;
    return id < p->n + p->m ? p->s->moves[id - p->n].out_waits
                            : p->s->moves[id - p->n - p->m].in_waits;
}

/* Calls EACH for every item of an iteration, in host order. */
static void walk(struct play *p, void (*each)(struct play *p, uint32_t id))
{
    for (uint32_t k = 0; k < p->n; k++) {
        const struct spill_script_op *op = &p->s->ops[k];
        each(p, k);
        for (uint32_t i = 0; i < op->outs.count; i++)
            each(p, p->n + op->outs.first + i);
        for (uint32_t i = 0; i < op->ins.count; i++)
            each(p, p->n + p->m + p->s->plan->in_order[op->ins.first + i]);
    }
}

static void count_item(struct play *p, uint32_t id)
{
    p->queues[queue_of(p, id)].count++;
    p->place[id] = p->ids++;
}

static void list_item(struct play *p, uint32_t id)
{
    struct queue *queue = &p->queues[queue_of(p, id)];
    uint32_t event = id < p->n          ? p->s->ops[id].event
                     : id < p->n + p->m ? p->s->moves[id - p->n].out_event
                                        : p->s->moves[id - p->n - p->m].in_event;
    p->list[queue->first + queue->count++] = id;
    if (event != SPILL_NO_EVENT)
        p->source_of[event] = id;
}

static enum spill_status open_play(struct play *p)
{
    size_t ids = (size_t)p->n + 2 * (size_t)p->m;
    for (uint32_t k = 0; k < p->n; k++)
        if (p->s->it.trace.ops[k].stream >= p->streams)
            p->streams = p->s->it.trace.ops[k].stream + 1;
    p->queues = calloc((size_t)p->streams + 2, sizeof(*p->queues));
    p->list = calloc(ids + 1, sizeof(*p->list));
    p->place = calloc(ids + 1, sizeof(*p->place));
    p->source_of = calloc((size_t)p->s->event_count + 1, sizeof(*p->source_of));
    bool failed = p->queues == NULL || p->list == NULL || p->place == NULL || p->source_of == NULL;
    for (int r = 0; r < RING; r++) {
        p->end[r] = calloc(ids + 1, sizeof(*p->end[r]));
        failed = failed || p->end[r] == NULL;
    }
    if (failed)
        return SPILL_ERR_NOMEM;
    walk(p, count_item);
    for (uint32_t q = 0, first = 0; q < p->streams + 2; q++) {
        p->queues[q].first = first;
        first += p->queues[q].count;
        p->queues[q].count = 0;
        p->queues[q].ready = NOT_READY;
    }
    walk(p, list_item);
    return SPILL_OK;
}

static void close_play(struct play *p)
{
    free(p->queues);
    free(p->list);
    free(p->place);
    free(p->source_of);
    for (int r = 0; r < RING; r++)
        free(p->end[r]);
}

/* When item ID of iteration T ended; 0: not yet. What came before the first iteration is over. */
static uint64_t ended(const struct play *p, uint32_t id, int64_t t)
{
    return t < 0 ? 1 : p->end[t % RING][id];
}

/* AFTER: an op's number, less the ops of an iteration if it belongs to the one before. */
static uint64_t ended_after(const struct play *p, int32_t after, int64_t t)
{
    return after >= 0 ? ended(p, (uint32_t)after, t)
                      : ended(p, (uint32_t)(after + (int64_t)p->n), t - 1);
}

static bool host_may(const struct play *p)
{
    int64_t t = (int64_t)(p->host / p->n);
    uint32_t k = (uint32_t)(p->host % p->n);
    const struct spill_iteration_op *op = &p->s->it.ops[k];
    if (k == 0 && t >= AHEAD && p->left[(t - AHEAD) % RING] != 0)
        return false;
    for (uint32_t i = 0; i < op->after_count; i++) {
        const struct spill_iteration_after *after = &p->s->it.afters[op->after_first + i];
        if (after->host && ended_after(p, after->op, t) == 0)
            return false;
    }
    return true;
}

static bool host_goes_on(struct play *p)
{
    if (!host_may(p))
        return false;
    if (p->host % p->n == 0) {
        uint32_t r = (uint32_t)(p->host / p->n % RING);
        memset(p->end[r], 0, p->ids * sizeof(*p->end[r]));
        p->left[r] = p->ids;
    }
    p->host++;
    return true;
}

static uint32_t head(const struct play *p, const struct queue *queue)
{
    return p->list[queue->first + queue->next % queue->count];
}

/* May the head of QUEUE start? */
static bool is_ready(const struct play *p, const struct queue *queue)
{
    if (queue->count == 0)
        return false;
    uint32_t id = head(p, queue);
    uint64_t t = queue->next / queue->count;
    struct spill_slice waits = waits_of(p, id);
    if (p->host <= t * p->n + op_of(p, id))
        return false;
    for (uint32_t i = 0; i < waits.count; i++) {
        uint32_t source = p->source_of[p->s->waits[waits.first + i]];
        if (ended(p, source, (int64_t)t - (p->place[source] >= p->place[id])) == 0)
            return false;
    }
    const struct spill_iteration_op *op = id < p->n ? &p->s->it.ops[id] : NULL;
    for (uint32_t i = 0; op != NULL && i < op->after_count; i++)
        if (ended_after(p, p->s->it.afters[op->after_first + i].op, (int64_t)t) == 0)
            return false;
    return true;
}

/* Op ID begins after a time without any: what did it wait for last? */
static void blame(struct play *p, uint32_t id, uint64_t t)
{
    struct spill_slice waits = p->s->ops[id].waits;
    uint64_t idle = p->now - p->idle_since, last = 0;
    uint32_t cause = id;
    for (uint32_t i = 0; i < waits.count; i++) {
        uint32_t source = p->source_of[p->s->waits[waits.first + i]];
        uint64_t when = ended(p, source, (int64_t)t - (p->place[source] >= p->place[id]));
        if (when >= last) {
            last = when;
            cause = source;
        }
    }
    if (cause >= p->n + p->m)
        p->so_far.wait_in += idle;
    else if (cause >= p->n)
        p->so_far.wait_memory += idle;
}

/* Starts the op that could for longest, in host order among equals. */
static bool start_op(struct play *p)
{
    struct queue *best = NULL;
    for (uint32_t q = 0; q < p->streams; q++) {
        struct queue *queue = &p->queues[q];
        if (queue->ready == NOT_READY && queue != p->busy && is_ready(p, queue))
            queue->ready = p->now;
        if (queue->ready == NOT_READY)
            continue;
        if (best == NULL || queue->ready < best->ready ||
            (queue->ready == best->ready &&
             queue->next / queue->count * p->ids + p->place[head(p, queue)] <
                 best->next / best->count * p->ids + p->place[head(p, best)]))
            best = queue;
    }
    if (p->busy != NULL || best == NULL)
        return false;
    uint32_t id = head(p, best);
    uint64_t t = best->next / best->count;
    if (p->now > p->idle_since)
        blame(p, id, t);
    best->ready = NOT_READY;
    p->busy = best;
    p->busy_until = p->now + p->problem->ops[id].duration_ns;
    if (id == 0) {
        p->so_far.begun = p->now;
        p->at[t % RING] = p->so_far;
    }
    return true;
}

static bool start_copy(struct play *p, int in)
{
    struct queue *queue = &p->queues[p->streams + (uint32_t)in];
    if (p->linked[in] || !is_ready(p, queue))
        return false;
    uint32_t move = head(p, queue) - p->n - (in ? p->m : 0);
    p->linked[in] = true;
    p->linked_since[in] = p->now;
    p->linked_left[in] =
        1000 * spill_link_ns(in ? &p->problem->in : &p->problem->out, p->s->moves[move].bytes);
    return true;
}

static void end_head(struct play *p, struct queue *queue)
{
    uint64_t r = queue->next / queue->count % RING;
    p->end[r][head(p, queue)] = p->now + 1;
    p->left[r]--;
    queue->next++;
}

/* To the next end of anything; false: nothing is under way. */
static bool advance(struct play *p)
{
    uint64_t rate = p->linked[0] && p->linked[1] ? p->problem->duplex_permille : 1000;
    uint64_t step = p->busy != NULL ? p->busy_until - p->now : UINT64_MAX;
    for (int in = 0; in < 2; in++)
        if (p->linked[in] && (p->linked_left[in] + rate - 1) / rate < step)
            step = (p->linked_left[in] + rate - 1) / rate;
    if (step == UINT64_MAX)
        return false;
    p->now += step;
    for (int in = 0; in < 2; in++) {
        if (!p->linked[in])
            continue;
        p->linked_left[in] -= p->linked_left[in] < rate * step ? p->linked_left[in] : rate * step;
        if (p->linked_left[in] != 0)
            continue;
        p->linked[in] = false;
        *(in ? &p->so_far.in : &p->so_far.out) += p->now - p->linked_since[in];
        end_head(p, &p->queues[p->streams + (uint32_t)in]);
    }
    if (p->busy != NULL && p->busy_until == p->now) {
        end_head(p, p->busy);
        p->busy = NULL;
        p->idle_since = p->now;
    }
    return true;
}

/* Op 0 of iteration T has begun. True: the step repeats, or was played for long enough. */
static bool is_steady(const struct play *p, uint64_t t, struct spill_steptime *time)
{
    const struct totals *now = &p->at[t % RING], *before = &p->at[(t + RING - 1) % RING];
    if (t < RING)
        return false;
    time->step_ns = now->begun - before->begun;
    time->wait_in_ns = now->wait_in - before->wait_in;
    time->wait_memory_ns = now->wait_memory - before->wait_memory;
    time->out_ns = now->out - before->out;
    time->in_ns = now->in - before->in;
    if (t == ITERATIONS_MOST) {
        const struct totals *first = &p->at[(t + 1) % RING];
        time->step_ns = (now->begun - first->begun) / (RING - 1);
        return true;
    }
    for (uint64_t i = 1; i + 1 < RING; i++)
        if (p->at[(t - i) % RING].begun - p->at[(t - i - 1) % RING].begun != time->step_ns)
            return false;
    return true;
}

enum spill_status spill_steptime_predict(const struct spill_script *script,
                                         const struct spill_problem *problem,
                                         struct spill_steptime *time)
{
    struct play p = {
        .s = script, .problem = problem, .n = script->op_count, .m = script->move_count};
    memset(time, 0, sizeof(*time));
    enum spill_status status = open_play(&p);
    for (uint64_t judged = 0; status == SPILL_OK;) {
        if (host_goes_on(&p) || start_copy(&p, 0) || start_copy(&p, 1) || start_op(&p)) {
            uint64_t begun = p.so_far.begun;
            if (p.busy != NULL && p.now == begun && head(&p, p.busy) == 0 &&
                p.busy->next / p.busy->count > judged) {
                judged = p.busy->next / p.busy->count;
                if (is_steady(&p, judged, time))
                    break;
            }
        } else if (!advance(&p)) {
            status = SPILL_ERR_INFEASIBLE;
        }
    }
    close_play(&p);
    return status;
}
