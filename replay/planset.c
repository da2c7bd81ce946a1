/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/planset.h"

#include <string.h>

#include "replay/engine.h"

static bool in_force(const struct spill_engine *e)
{
    return e->state == SPILL_STATE_GUARD || e->state == SPILL_STATE_REPLAY;
}

/* --- comparing --- */

/* Is EVENT number AT of PLAN? Buffers are the same if they are at the same addresses. */
static bool matches(const struct spill_engine *e, const struct spill_planned *plan, uint32_t at,
                    const struct spill_event *event)
{
    const struct spill_script *s = plan->perform.script;
    const struct spill_bufmap *map = &e->dev.buffers;
    if (at >= s->it.event_count || s->it.events[at].kind != event->kind)
        return false;
    uint32_t index = s->it.events[at].index;
    if (event->kind == SPILL_LOGREC_ALLOC)
        return s->buffers[index].bytes == event->bytes &&
               spill_bufmap_find(map, s->buffers[index].addr) == SPILL_NO_BUFFER;
    if (event->kind == SPILL_LOGREC_FREE)
        return s->buffers[index].addr == map->bufs[event->slot].addr;
    const struct spill_script_op *op = &s->ops[index];
    if (!spill_planset_same_op(op, event->op, e->touches.count))
        return false;
    for (uint32_t i = 0; i < op->touches.count; i++)
        if (s->buffers[s->touches[op->touches.first + i]].addr !=
            map->bufs[e->touches.list[i].slot].addr)
            return false;
    return true;
}

/* Does exactly what PLAN has at its border live now? */
static bool at_border(const struct spill_engine *e, const struct spill_planned *plan)
{
    const struct spill_script *s = plan->perform.script;
    if (e->dev.buffers.live_count != s->border_buffers)
        return false;
    for (uint32_t b = 0; b < s->buffer_count; b++) {
        if (!s->buffers[b].at_border)
            continue;
        uint32_t slot = spill_bufmap_at(&e->dev.buffers, s->buffers[b].addr);
        if (slot == SPILL_NO_BUFFER || e->dev.buffers.bufs[slot].bytes != s->buffers[b].bytes ||
            (e->dev.buffers.bufs[slot].pin != SPILL_TRACE_UNPINNED &&
             s->it.trace.buffers[b].pin == SPILL_TRACE_UNPINNED))
            return false;
    }
    return true;
}

/* --- following --- */

/* Another plan that has come so far as the one in force and goes on with EVENT. */
static struct spill_planned *find_other(struct spill_engine *e, const struct spill_event *event)
{
    unsigned now = (unsigned)(e->plan - e->plans);
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        struct spill_planned *plan = &e->plans[i];
        if (i == now || plan->perform.script == NULL || !matches(e, plan, e->cursor, event))
            continue;
        if (e->cursor == 0 ? !plan->wary && at_border(e, plan) : plan->common[now] >= e->cursor)
            return plan;
    }
    return NULL;
}

/* Marks the plans that EVENT leads on; returns one that may be taken up with it. */
static struct spill_planned *watch(struct spill_engine *e, const struct spill_event *event)
{
    struct spill_planned *begun = NULL;
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        struct spill_planned *plan = &e->plans[i];
        plan->hit = false;
        if (plan->perform.script == NULL)
            continue;
        if (e->hold > 0) {
            plan->cursor = 0;
            continue;
        }
        plan->hit = plan->cursor > 0 && matches(e, plan, plan->cursor, event);
        if (plan->hit)
            continue;
        plan->cursor = 0;
        plan->hit = matches(e, plan, 0, event) && at_border(e, plan);
        if (plan->hit && !plan->wary &&
            (begun == NULL ||
             plan->perform.script->it.event_count > begun->perform.script->it.event_count))
            begun = plan;
    }
    return begun;
}

bool spill_planset_expects(struct spill_engine *e, const struct spill_event *event)
{
    if (in_force(e)) {
        if (matches(e, e->plan, e->cursor, event))
            return true;
        struct spill_planned *other = find_other(e, event);
        if (other != NULL && spill_engine_change(e, other))
            return true;
        if (in_force(e))
            spill_engine_diverge(e, event->kind == SPILL_LOGREC_OP ? SPILL_REASON_OTHER_OP
                                                                   : SPILL_REASON_OTHER_ALLOC);
    }
    if (e->state != SPILL_STATE_OBSERVE)
        return false;
    struct spill_planned *begun = watch(e, event);
    return begun != NULL && spill_engine_take_up(e, begun, 0, 0);
}

void spill_planset_happened(struct spill_engine *e, bool failed)
{
    struct spill_planned *ended = NULL;
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        struct spill_planned *plan = &e->plans[i];
        if (!plan->hit)
            continue;
        plan->hit = false;
        plan->cursor = failed ? 0 : plan->cursor + 1;
        if (failed || plan->cursor < plan->perform.script->it.event_count)
            continue;
        plan->cursor = 0;
        plan->wary = false;
        if (ended == NULL && at_border(e, plan))
            ended = plan;
    }
    /* The same event may have been the border at which a new plan was adopted. */
    if (ended != NULL && e->state == SPILL_STATE_OBSERVE && e->hold == 0)
        (void)spill_engine_take_up(e, ended, 0, 0);
}

void spill_planset_restart(struct spill_engine *e)
{
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        e->plans[i].cursor = 0;
        e->plans[i].hit = false;
    }
}

const struct spill_script_buffer *spill_planset_alloc(const struct spill_engine *e,
                                                      const struct spill_script **script)
{
    const struct spill_planned *plan = in_force(e) ? e->plan : NULL;
    uint32_t at = e->cursor;
    for (unsigned i = 0; plan == NULL && i < SPILL_PLANS; i++)
        if (e->plans[i].hit) {
            plan = &e->plans[i];
            at = plan->cursor;
        }
    if (plan == NULL || (!in_force(e) && e->state != SPILL_STATE_OBSERVE))
        return NULL;
    *script = plan->perform.script;
    return &plan->perform.script->buffers[plan->perform.script->it.events[at].index];
}

bool spill_planset_resume(struct spill_engine *e, uint64_t sum)
{
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        struct spill_planned *plan = &e->plans[i];
        if (plan->perform.script == NULL || plan->sum != sum || e->hold > 0 || !at_border(e, plan))
            continue;
        plan->wary = false;
        return spill_engine_take_up(e, plan, 0, 0);
    }
    return false;
}

/* --- keeping --- */

struct spill_planned *spill_planset_place(struct spill_engine *e, uint64_t sum)
{
    struct spill_planned *place = NULL;
    /* The same again, as it is now; or what was found to be a part of this one. */
    for (unsigned i = 0; i < SPILL_PLANS; i++)
        if (e->plans[i].perform.script != NULL &&
            (e->plans[i].sum == sum ||
             (e->rec.known_period != 0 && e->planned_period > e->rec.known_period &&
              e->plans[i].sum == e->rec.known_sum))) {
            spill_perform_drop(&e->plans[i].perform, &e->dev);
            place = &e->plans[i];
        }
    for (unsigned i = 0; place == NULL && i < 2 * SPILL_PLANS; i++) {
        if (i == SPILL_PLANS)
            (void)spill_planset_shed(e, NULL);
        if (e->plans[i % SPILL_PLANS].perform.script == NULL)
            place = &e->plans[i % SPILL_PLANS];
    }
    memset(place, 0, sizeof(*place));
    place->sum = sum;
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        e->plans[i].common[place - e->plans] = 0;
        e->plans[i].wary = false; /* where it was left, this one may go on */
    }
    return place;
}

bool spill_planset_shed(struct spill_engine *e, const struct spill_planned *kept)
{
    struct spill_planned *least = NULL;
    for (unsigned i = 0; i < SPILL_PLANS; i++)
        if (e->plans[i].perform.script != NULL && &e->plans[i] != kept &&
            (least == NULL || e->plans[i].used < least->used))
            least = &e->plans[i];
    if (least != NULL)
        spill_perform_drop(&least->perform, &e->dev);
    return least != NULL;
}

void spill_planset_end(struct spill_engine *e)
{
    while (spill_planset_shed(e, NULL))
        ;
    memset(e->plans, 0, sizeof(e->plans));
}

/* The address of S's buffer B: of a live one, or shared with another plan; 0: not known yet. */
static uint64_t address_of(const struct spill_engine *e, const struct spill_script *s, uint32_t b)
{
    if (s->buffers[b].live_slot != SPILL_NO_BUFFER)
        return e->dev.buffers.bufs[s->buffers[b].live_slot].addr;
    return s->buffers[b].shared ? spill_device_addr(&e->dev, s->buffers[b].first_page) : 0;
}

static bool same_borders(const struct spill_engine *e, const struct spill_script *mine,
                         const struct spill_script *other)
{
    if (mine->border_buffers != other->border_buffers)
        return false;
    for (uint32_t b = 0; b < other->buffer_count; b++)
        if (other->buffers[b].at_border &&
            spill_bufmap_at(&e->dev.buffers, other->buffers[b].addr) == SPILL_NO_BUFFER)
            return false;
    return true;
}

static bool same_ops(const struct spill_engine *e, const struct spill_script *mine,
                     const struct spill_script *other, uint32_t k)
{
    const struct spill_script_op *a = &mine->ops[k], *b = &other->ops[k];
    const struct spill_opcall op = {.kind = (enum spill_opkind)a->kind,
                                    .stream = a->stream,
                                    .function = a->function,
                                    .bytes = a->bytes,
                                    .grid = {a->grid[0], a->grid[1], a->grid[2]},
                                    .block = {a->block[0], a->block[1], a->block[2]}};
    if (!spill_planset_same_op(b, &op, a->touches.count))
        return false;
    for (uint32_t i = 0; i < a->touches.count; i++)
        if (address_of(e, mine, mine->touches[a->touches.first + i]) !=
            other->buffers[other->touches[b->touches.first + i]].addr)
            return false;
    return true;
}

/* How many events MINE and OTHER begin with alike. An allocation that OTHER makes at a place that
 * is free at the border is made there by MINE, too. */
static uint32_t count_common(const struct spill_engine *e, struct spill_script *mine,
                             const struct spill_script *other)
{
    uint32_t at = 0, ops = 0;
    if (!same_borders(e, mine, other))
        return 0;
    for (; at < mine->it.event_count && at < other->it.event_count; at++) {
        const struct spill_iteration_event *a = &mine->it.events[at], *b = &other->it.events[at];
        if (a->kind != b->kind)
            return at;
        if (a->kind == SPILL_LOGREC_OP) {
            if (!same_ops(e, mine, other, ops++))
                return at;
            continue;
        }
        struct spill_script_buffer *buffer = &mine->buffers[a->index];
        const struct spill_script_buffer *theirs = &other->buffers[b->index];
        if (a->kind == SPILL_LOGREC_ALLOC && !buffer->at_border && !theirs->at_border &&
            !buffer->shared && buffer->bytes == theirs->bytes) {
            buffer->first_page = theirs->first_page;
            buffer->shared = true;
        }
        if (buffer->bytes != theirs->bytes || address_of(e, mine, a->index) != theirs->addr)
            return at;
    }
    return at;
}

void spill_planset_share(struct spill_engine *e, struct spill_planned *plan,
                         struct spill_script *script)
{
    for (uint32_t b = 0; b < script->buffer_count; b++)
        script->buffers[b].shared = false;
    for (unsigned i = 0; i < SPILL_PLANS; i++) {
        struct spill_planned *other = &e->plans[i];
        plan->common[i] = other->common[plan - e->plans] = 0;
        if (other == plan || other->perform.script == NULL)
            continue;
        plan->common[i] = count_common(e, script, other->perform.script);
        other->common[plan - e->plans] = plan->common[i];
    }
}
