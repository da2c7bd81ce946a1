/* SPDX-License-Identifier: Apache-2.0 */
/* Runs on the planner's thread: malloc is allowed, driver calls are not. */
#include "replay/script.h"

#include <stdlib.h>
#include <string.h>

static enum spill_status make_tables(struct spill_script *s)
{
    const struct spill_trace *trace = &s->it.trace;
    s->op_count = trace->op_count;
    s->move_count = s->plan->move_count;
    s->buffer_count = trace->buffer_count;
    s->ops = calloc((size_t)s->op_count + 1, sizeof(*s->ops));
    s->moves = calloc((size_t)s->move_count + 1, sizeof(*s->moves));
    s->buffers = calloc((size_t)s->buffer_count + 1, sizeof(*s->buffers));
    s->touches = calloc((size_t)trace->access_count + 1, sizeof(*s->touches));
    s->lives = calloc(2 * (size_t)s->buffer_count + 1, sizeof(*s->lives));
    s->border_place = calloc((size_t)s->plan->page_total + 1, sizeof(*s->border_place));
    s->border_slot = calloc((size_t)s->plan->page_total + 1, sizeof(*s->border_slot));
    s->park_slots = calloc((size_t)s->plan->park_count + 1, sizeof(*s->park_slots));
    return s->ops == NULL || s->moves == NULL || s->buffers == NULL || s->touches == NULL ||
                   s->lives == NULL || s->border_place == NULL || s->border_slot == NULL ||
                   s->park_slots == NULL
               ? SPILL_ERR_NOMEM
               : SPILL_OK;
}

static void fill_ops(struct spill_script *s)
{
    const struct spill_trace *trace = &s->it.trace;
    uint32_t out = 0, in = 0;
    for (uint32_t k = 0; k < s->op_count; k++) {
        const struct spill_trace_op *op = &trace->ops[k];
        struct spill_script_op *to = &s->ops[k];
        to->function = s->it.ops[k].function;
        to->stream = s->it.ops[k].stream;
        to->bytes = s->it.ops[k].bytes;
        to->kind = op->kind;
        memcpy(to->grid, op->grid, sizeof(to->grid));
        memcpy(to->block, op->block, sizeof(to->block));
        to->touches = (struct spill_slice){op->access_first, op->access_count};
        to->event = SPILL_NO_EVENT;
        to->outs.first = out;
        while (out < s->move_count && s->plan->moves[out].out_op == k)
            out++;
        to->outs.count = out - to->outs.first;
        to->ins.first = in;
        while (in < s->move_count && s->plan->moves[s->plan->in_order[in]].in_op == k)
            in++;
        to->ins.count = in - to->ins.first;
    }
    for (uint32_t a = 0; a < trace->access_count; a++)
        s->touches[a] = trace->accesses[a].buffer;
}

/* A buffer whose free comes between its last op and the next one may be read again until then: the
 * program may be about to leave the plan. */
static void fill_frees(struct spill_script *s, const struct spill_problem *problem)
{
    uint32_t op = SPILL_NO_EVENT;
    for (uint32_t b = 0; b < s->buffer_count; b++)
        s->buffers[b].held_by = SPILL_NO_EVENT;
    for (uint32_t i = 0; i < s->it.event_count; i++) {
        uint32_t index = s->it.events[i].index;
        if (s->it.events[i].kind == SPILL_LOGREC_OP)
            op = index;
        if (s->it.events[i].kind != SPILL_LOGREC_FREE || op == SPILL_NO_EVENT ||
            problem->buffers[index].life != SPILL_LIFE_ITERATION ||
            problem->buffers[index].pinned || problem->buffers[index].death_op != op)
            continue;
        s->buffers[index].held_by = op;
        s->ops[op].frees++;
    }
}

/* Lists, per op, the ITERATION buffers whose memory begins or ends with it (counting sort by op).
 */
static void fill_lives(struct spill_script *s, const struct spill_problem *problem)
{
    uint32_t at = 0;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < s->buffer_count; b++) {
            const struct spill_buffer *buffer = &problem->buffers[b];
            if (buffer->life != SPILL_LIFE_ITERATION || buffer->pinned)
                continue;
            struct spill_script_op *op = &s->ops[pass == 0 ? buffer->birth_op : buffer->death_op];
            (pass == 0 ? &op->births : &op->deaths)->count++;
        }
        for (uint32_t k = 0; k < s->op_count; k++) {
            struct spill_slice *slice = pass == 0 ? &s->ops[k].births : &s->ops[k].deaths;
            slice->first = at;
            at += slice->count;
            slice->count = 0;
        }
        for (uint32_t b = 0; b < s->buffer_count; b++) {
            const struct spill_buffer *buffer = &problem->buffers[b];
            if (buffer->life != SPILL_LIFE_ITERATION || buffer->pinned)
                continue;
            struct spill_slice *slice =
                pass == 0 ? &s->ops[buffer->birth_op].births : &s->ops[buffer->death_op].deaths;
            s->lives[slice->first + slice->count++] = b;
        }
    }
}

static void fill_moves(struct spill_script *s)
{
    uint64_t page_bytes = s->it.trace.page_bytes;
    for (uint32_t m = 0; m < s->move_count; m++) {
        const struct spill_move *move = &s->plan->moves[m];
        struct spill_script_buffer *buffer = &s->buffers[move->buffer];
        struct spill_script_move *to = &s->moves[m];
        buffer->leaves = true;
        to->page_count = move->page_count;
        to->device_offset = move->page_first * page_bytes;
        to->bytes = move->page_count * page_bytes;
        if (to->device_offset + to->bytes > buffer->bytes)
            to->bytes = buffer->bytes - to->device_offset;
        to->out_event = to->in_event = SPILL_NO_EVENT;
    }
    for (uint32_t i = 0; i < s->plan->park_count; i++)
        s->buffers[s->plan->parks[i].buffer].leaves = true;
}

void spill_script_walk(const struct spill_script *s, uint32_t ops, bool held,
                       spill_script_placed *placed, void *arg)
{
    for (uint32_t k = 0; k < ops; k++) {
        const struct spill_script_op *op = &s->ops[k];
        for (uint32_t i = 0; i < op->births.count; i++) {
            uint32_t b = s->lives[op->births.first + i];
            placed(arg, b, 0, s->buffers[b].page_count, SPILL_BORDER_DEVICE, 0);
        }
        bool whole = k + 1 < ops || !held;
        for (uint32_t i = 0; whole && i < op->deaths.count; i++) {
            uint32_t b = s->lives[op->deaths.first + i];
            placed(arg, b, 0, s->buffers[b].page_count, SPILL_BORDER_DEAD, 0);
        }
        for (uint32_t i = 0; i < op->outs.count; i++) {
            const struct spill_move *move = &s->plan->moves[op->outs.first + i];
            placed(arg, move->buffer, move->page_first, move->page_count, SPILL_BORDER_HOST,
                   s->moves[op->outs.first + i].host_slot);
        }
        for (uint32_t i = 0; whole && i < op->ins.count; i++) {
            const struct spill_move *move = &s->plan->moves[s->plan->in_order[op->ins.first + i]];
            placed(arg, move->buffer, move->page_first, move->page_count, SPILL_BORDER_DEVICE, 0);
        }
    }
}

static void set_pages(void *script, uint32_t buffer, uint32_t first, uint32_t count,
                      enum spill_border_place place, uint32_t slot)
{
    struct spill_script *s = script;
    uint32_t page = s->plan->page_base[buffer] + first;
    memset(s->border_place + page, (int)place, count);
    for (uint32_t i = 0; i < count; i++)
        s->border_slot[page + i] = slot + i;
}

/* Where every page is at the border, in host order: walk one iteration from a state that is right
 * for all pages that no event touches. Pages that events touch end right whatever they began as. */
static void walk_border(struct spill_script *s, const struct spill_problem *problem)
{
    for (uint32_t b = 0; b < s->buffer_count; b++)
        set_pages(s, b, 0, s->buffers[b].page_count,
                  problem->buffers[b].life == SPILL_LIFE_PERSISTENT || problem->buffers[b].pinned
                      ? SPILL_BORDER_DEVICE
                      : SPILL_BORDER_DEAD,
                  0);
    for (uint32_t i = 0; i < s->plan->park_count; i++)
        set_pages(s, s->plan->parks[i].buffer, s->plan->parks[i].page_first,
                  s->plan->parks[i].page_count, SPILL_BORDER_HOST, s->park_slots[i]);
    spill_script_walk(s, s->op_count, false, set_pages, s);
}

enum spill_status spill_script_build(struct spill_iteration *it,
                                     const struct spill_problem *problem, struct spill_plan *plan,
                                     struct spill_script **script)
{
    struct spill_script *s = calloc(1, sizeof(*s));
    *script = NULL;
    if (s == NULL) {
        spill_plan_free(plan);
        return SPILL_ERR_NOMEM;
    }
    s->it = *it;
    s->plan = plan;
    enum spill_status status = make_tables(s);
    if (status != SPILL_OK)
        goto err_free;
    uint64_t page_bytes = s->it.trace.page_bytes;
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        s->buffers[b].bytes = s->it.trace.buffers[b].bytes;
        s->buffers[b].page_count = (uint32_t)((s->buffers[b].bytes + page_bytes - 1) / page_bytes);
        s->buffers[b].live_slot = s->it.live_slot[b];
        s->buffers[b].at_border = s->it.live_slot[b] != SPILL_NO_BUFFER;
        s->border_buffers += s->buffers[b].at_border;
    }
    fill_ops(s);
    fill_lives(s, problem);
    fill_frees(s, problem);
    fill_moves(s);
    status = spill_hostslots_build(s);
    if (status == SPILL_OK && s->slab_bytes > problem->host_budget)
        status = SPILL_ERR_INFEASIBLE;
    if (status != SPILL_OK)
        goto err_free;
    walk_border(s, problem);
    status = spill_waits_build(s, problem);
    if (status != SPILL_OK)
        goto err_free;
    if (spill_steptime_predict(s, problem, &s->predicted) != SPILL_OK) /* no memory: a guess */
        s->predicted = (struct spill_steptime){.step_ns = plan->step_ns};
    memset(it, 0, sizeof(*it));
    *script = s;
    return SPILL_OK;
err_free:
    memset(&s->it, 0, sizeof(s->it));
    spill_script_free(s);
    return status;
}

void spill_script_free(struct spill_script *s)
{
    if (s == NULL)
        return;
    spill_iteration_free(&s->it);
    spill_plan_free(s->plan);
    free(s->ops);
    free(s->moves);
    free(s->buffers);
    free(s->touches);
    free(s->waits);
    free(s->lives);
    free(s->border_place);
    free(s->border_slot);
    free(s->park_slots);
    free(s);
}
