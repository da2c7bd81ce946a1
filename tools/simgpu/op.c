/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of unexecuted operations and the adversary that picks from it. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "op.h"
#include "races.h"
#include "stream.h"
#include "timeline.h"

static struct simgpu_op *oldest, *newest, *spare;
static struct simgpu_op **ready;
static size_t ready_count, ready_room;
static size_t queued[SIMGPU_MAX_DEVICES];
static uint32_t mark;
static uint64_t next_id;
static bool running;
static uint64_t progress = 1; /* operations run; a stalled one is tried again after the next */

static bool edge_add(struct simgpu_edges *e, struct simgpu_op *op)
{
    if (e->count == e->room) {
        uint32_t room = e->room * 2;
        struct simgpu_op **grown = malloc(room * sizeof *grown);
        if (grown == NULL)
            return false;
        memcpy(grown, e->at, e->count * sizeof *grown);
        if (e->at != e->own)
            free(e->at);
        e->at = grown;
        e->room = room;
    }
    e->at[e->count++] = op;
    return true;
}

static void edge_clear(struct simgpu_edges *e)
{
    if (e->at != e->own)
        free(e->at);
    e->at = e->own;
    e->count = 0;
    e->room = sizeof e->own / sizeof *e->own;
}

struct simgpu_op *simgpu_op_hold(struct simgpu_op *op)
{
    if (op != NULL)
        op->refs++;
    return op;
}

void simgpu_op_release(struct simgpu_op *op)
{
    if (op == NULL || --op->refs != 0)
        return;
    simgpu_races_forget(op);
    op->next = spare;
    spare = op;
}

static void ready_add(struct simgpu_op *op)
{
    if (ready_count == ready_room) {
        size_t room = ready_room != 0 ? ready_room * 2 : 256;
        struct simgpu_op **grown = realloc(ready, room * sizeof *grown);
        if (grown == NULL)
            abort();
        ready = grown;
        ready_room = room;
    }
    op->ready_slot = (uint32_t)ready_count;
    ready[ready_count++] = op;
}

static void ready_remove(struct simgpu_op *op)
{
    struct simgpu_op *moved = ready[--ready_count];
    ready[op->ready_slot] = moved;
    moved->ready_slot = op->ready_slot;
}

void simgpu_op_after(struct simgpu_op *op, struct simgpu_op *earlier)
{
    if (earlier == NULL || earlier == op)
        return;
    simgpu_races_join(op, earlier);
    if (earlier->done) {
        if (earlier->end_ns > op->ready_ns)
            op->ready_ns = earlier->end_ns;
        return;
    }
    if (!edge_add(&op->before, earlier) || !edge_add(&earlier->after, op))
        abort(); /* a lost edge would be a silent race */
    simgpu_op_hold(earlier);
    op->waiting++;
}

static struct simgpu_op *make(struct simgpu_stream *stream, const struct simgpu_op_type *type,
                              enum simgpu_engine engine)
{
    struct simgpu_op *op = spare;
    if (op != NULL)
        spare = op->next;
    else if ((op = malloc(sizeof *op)) == NULL)
        return NULL;
    memset(op, 0, sizeof *op);
    op->before.at = op->before.own;
    op->after.at = op->after.own;
    op->before.room = op->after.room = sizeof op->before.own / sizeof *op->before.own;
    op->type = type;
    op->stream = stream;
    op->device = stream->ctx->device;
    op->engine = engine;
    op->refs = 1;
    op->waiting = 1;
    op->id = ++next_id;
    op->ready_ns = simgpu_host_ns;
    op->slow_ns = simgpu_call.slow_ns;
    stream->unfinished++;
    return op;
}

struct simgpu_op *simgpu_op_new_apart(struct simgpu_stream *stream,
                                      const struct simgpu_op_type *type, enum simgpu_engine engine,
                                      uint32_t number)
{
    struct simgpu_op *op = make(stream, type, engine);
    if (op != NULL) {
        op->apart = true;
        op->slot = number;
    }
    return op;
}

struct simgpu_op *simgpu_op_new(struct simgpu_stream *stream, const struct simgpu_op_type *type,
                                enum simgpu_engine engine)
{
    struct simgpu_op *op = make(stream, type, engine);
    if (op == NULL)
        return NULL;
    if (stream->capture != NULL) {
        op->captured = true;
        return op;
    }
    simgpu_op_after(op, stream->last);
    if (stream->legacy) {
        simgpu_races_join_gone(op);
        for (struct simgpu_stream *s = stream->ctx->streams; s != NULL; s = s->next)
            if (simgpu_stream_blocks(s))
                simgpu_op_after(op, s->last);
    } else if (simgpu_stream_blocks(stream)) {
        simgpu_op_after(op, stream->ctx->legacy->last);
    }
    return op;
}

/* False: it cannot run yet. */
static bool execute(struct simgpu_op *op)
{
    uint64_t duration = 0;
    CUresult result = CUDA_SUCCESS;
    ready_remove(op);
    running = true;
    /* After a fault nothing of the context runs any more; operations end as if they took no time.
     */
    if (op->device->sticky == CUDA_SUCCESS) {
        if (simgpu_races_on)
            simgpu_races_begin(op);
        result = op->type->run(op, &duration);
        if (simgpu_races_on)
            simgpu_races_end();
    }
    running = false;
    if (result == SIMGPU_OP_AGAIN) {
        op->stalled = progress;
        ready_add(op);
        return false;
    }
    progress++;
    if (op->type->drop != NULL)
        op->type->drop(op);
    if (result != CUDA_SUCCESS && op->device->sticky == CUDA_SUCCESS) {
        op->device->sticky = result;
        simgpu_stats.faults++;
    }
    if (op->device->sticky == CUDA_SUCCESS)
        duration = simgpu_inject_drift(op->engine, op->ready_ns, duration) + op->slow_ns;
    op->start_ns = simgpu_clock_book(op->device, op->engine, op->ready_ns, &duration);
    op->end_ns = op->start_ns + duration;
    op->done = true;
    simgpu_timeline_op(op);
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        oldest = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        newest = op->previous;
    queued[op->device->ordinal]--;
    if ((op->id & 63) == 0)
        simgpu_clock_forget(op->device, oldest != NULL && oldest->ready_ns < simgpu_host_ns
                                            ? oldest->ready_ns
                                            : simgpu_host_ns);
    for (uint32_t i = 0; i < op->after.count; i++) {
        struct simgpu_op *later = op->after.at[i];
        if (op->end_ns > later->ready_ns)
            later->ready_ns = op->end_ns;
        if (--later->waiting == 0)
            ready_add(later);
    }
    edge_clear(&op->after);
    for (uint32_t i = 0; i < op->before.count; i++)
        simgpu_op_release(op->before.at[i]);
    edge_clear(&op->before);
    simgpu_stream_op_gone(op->stream);
    op->stream = NULL;
    simgpu_op_release(op);
    return true;
}

/* Picks among the ready operations (with NEEDED, among those that carry the current mark). Streams
 * have a luck that is kept for a while, so that one stream may run far ahead of or behind another:
 * uniform picks would hardly ever produce the orders in which a forgotten wait shows. */
static struct simgpu_op *pick(bool needed)
{
    struct simgpu_op *best = NULL;
    uint64_t draw = simgpu_random();
    bool uniform = (draw & 7) == 0;
    uint32_t seen = 0;
    for (size_t i = 0; i < ready_count; i++) {
        struct simgpu_op *op = ready[i];
        if ((needed && op->mark != mark) || op->stalled == progress)
            continue;
        seen++;
        if (best == NULL ||
            (uniform ? simgpu_random() % seen == 0 : op->stream->luck > best->stream->luck))
            best = op;
    }
    if (best != NULL && (draw & 0xf0) == 0)
        best->stream->luck = (uint32_t)(draw >> 32);
    return best;
}

static void mark_needed(struct simgpu_op *goal)
{
    static struct simgpu_op **stack;
    static size_t room;
    size_t count = 0;
    mark++;
    goal->mark = mark;
    for (struct simgpu_op *op = goal;;) {
        for (uint32_t i = 0; i < op->before.count; i++) {
            struct simgpu_op *earlier = op->before.at[i];
            if (earlier->done || earlier->mark == mark)
                continue;
            if (count == room) {
                room = room != 0 ? room * 2 : 256;
                stack = realloc(stack, room * sizeof *stack);
                if (stack == NULL)
                    abort();
            }
            earlier->mark = mark;
            stack[count++] = earlier;
        }
        if (count == 0)
            break;
        op = stack[--count];
    }
}

static void run_until(struct simgpu_op *goal)
{
    if (goal->done || running)
        return;
    mark_needed(goal);
    /* How much of the rest runs along: often nothing at all, sometimes most of it. */
    uint64_t draw = simgpu_random();
    uint32_t others = (draw & 3) == 0 ? 0 : (uint32_t)(draw >> 8) & 0xff;
    while (!goal->done) {
        bool needed = others == 0 || (simgpu_random() & 0xff) >= others;
        struct simgpu_op *op = pick(needed);
        if (op == NULL && needed)
            op = pick(false); /* a value may have to be written elsewhere first */
        if (op == NULL)
            break; /* everything left waits for a value that the host has yet to write */
        execute(op);
    }
}

CUresult simgpu_op_wait(struct simgpu_op *op)
{
    if (op == NULL)
        return CUDA_SUCCESS;
    struct simgpu_device *device = op->device;
    simgpu_op_hold(op);
    run_until(op);
    if (op->done && op->end_ns > simgpu_host_ns)
        simgpu_host_ns = op->end_ns;
    bool done = op->done;
    if (done)
        simgpu_races_host_saw(op);
    simgpu_op_release(op);
    return done ? device->sticky : CUDA_ERROR_NOT_PERMITTED; /* asked by a host function */
}

bool simgpu_op_query(struct simgpu_op *op)
{
    if (op == NULL)
        return true;
    simgpu_op_hold(op);
    if (!op->done && (simgpu_random() & 1) != 0)
        run_until(op);
    bool over = op->done && op->end_ns <= simgpu_host_ns;
    if (over)
        simgpu_races_host_saw(op);
    else
        simgpu_host_ns += 1000; /* a polling loop must see time pass */
    simgpu_op_release(op);
    return over;
}

CUresult simgpu_op_drain(struct simgpu_device *device)
{
    if (running)
        return CUDA_ERROR_NOT_PERMITTED; /* a host function may not synchronise */
    for (;;) {
        struct simgpu_op *last = newest;
        while (last != NULL && device != NULL && last->device != device)
            last = last->previous;
        if (last == NULL)
            break;
        simgpu_op_hold(last);
        run_until(last);
        bool done = last->done;
        simgpu_races_host_saw(last);
        simgpu_op_release(last);
        if (!done)
            return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    return device != NULL ? device->sticky : CUDA_SUCCESS;
}

void simgpu_op_submit(struct simgpu_op *op)
{
    struct simgpu_stream *stream = op->stream;
    int ordinal = op->device->ordinal; /* OP may be run and gone below */
    if (op->captured) {
        simgpu_capture_op(op);
        simgpu_stream_op_gone(stream);
        simgpu_op_release(op);
        return;
    }
    simgpu_races_submit(op);
    op->previous = newest;
    if (newest != NULL)
        newest->next = op;
    else
        oldest = op;
    newest = op;
    queued[op->device->ordinal]++;
    if (!op->apart) {
        simgpu_op_release(stream->last);
        stream->last = simgpu_op_hold(op);
    }
    if (--op->waiting == 0)
        ready_add(op);
    if (running)
        return;
    /* Now and then something runs at once; a full queue makes room as a full hardware queue does.
     */
    uint64_t draw = simgpu_random();
    uint32_t runs = (draw & 15) == 0 ? (uint32_t)(draw >> 8) & 7 : 0;
    while (runs-- > 0) {
        struct simgpu_op *chosen = pick(false);
        if (chosen == NULL)
            break;
        execute(chosen);
    }
    for (struct simgpu_op *chosen; queued[ordinal] > simgpu_config.queue_cap;) {
        chosen = pick(false);
        if (chosen == NULL)
            break;
        execute(chosen);
    }
}
