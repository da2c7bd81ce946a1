/* SPDX-License-Identifier: Apache-2.0 */
/* The waits of a script, tried on an adversarial device: several iterations are executed in random
 * orders that respect only streams, the script's waits and the program's own order. Every op must
 * find its pages' latest contents in their frames. And every single wait is needed: without it,
 * some order must go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "replay/script.h"
#include "solver/fromtrace.h"
#include "solver/solve.h"
#include "tests/unit/nodriver.h"

enum { ROUNDS = 4, OPS_MAX = 24, BUFFERS_MAX = 12, EDGES_MAX = 64, PAGE = 4096 };

static uint64_t random_state;
static uint32_t streams_max = 2;

static uint32_t next_random(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

/* A random iteration: persistent buffers and buffers born and freed inside it, on up to two
 * streams. */
static void make_iteration(struct spill_iteration *it, uint64_t *most_at_once, uint64_t *total)
{
    struct spill_trace *t = &it->trace;
    uint32_t streams = 1 + next_random(streams_max);
    memset(it, 0, sizeof(*it));
    t->op_count = 6 + next_random(OPS_MAX - 6);
    t->buffer_count = 3 + next_random(BUFFERS_MAX - 3);
    t->page_bytes = PAGE;
    it->op_cap = it->match_cap = t->op_count;
    it->buffer_cap = it->slot_cap = t->buffer_count;
    it->access_cap = (size_t)t->op_count * t->buffer_count;
    it->event_cap = t->op_count;
    t->ops = spill_heap_alloc(it->op_cap * sizeof(*t->ops));
    it->ops = spill_heap_alloc(it->match_cap * sizeof(*it->ops));
    t->buffers = spill_heap_alloc(it->buffer_cap * sizeof(*t->buffers));
    it->live_slot = spill_heap_alloc(it->slot_cap * sizeof(*it->live_slot));
    t->accesses = spill_heap_alloc(it->access_cap * sizeof(*t->accesses));
    it->events = spill_heap_alloc(it->event_cap * sizeof(*it->events));
    *total = *most_at_once = 0;
    for (uint32_t b = 0; b < t->buffer_count; b++) {
        struct spill_trace_buffer *buffer = &t->buffers[b];
        buffer->bytes = (1 + next_random(4)) * PAGE;
        buffer->life = next_random(2) == 0 ? SPILL_TRACE_PERSISTENT : SPILL_TRACE_ITERATION;
        uint32_t from = next_random(t->op_count), to = next_random(t->op_count);
        buffer->birth_op = from < to ? from : to;
        buffer->free_op = (from < to ? to : from) + 1;
        it->live_slot[b] = buffer->life == SPILL_TRACE_PERSISTENT ? b : SPILL_NO_BUFFER;
        *total += buffer->bytes;
    }
    for (uint32_t k = 0; k < t->op_count; k++) {
        uint64_t bytes = 0;
        t->ops[k].duration_ns = 1000 + next_random(50000);
        t->ops[k].stream = next_random(streams);
        t->ops[k].access_first = t->access_count;
        for (uint32_t b = 0; b < t->buffer_count && t->ops[k].access_count < 3; b++) {
            const struct spill_trace_buffer *buffer = &t->buffers[b];
            bool alive = buffer->life == SPILL_TRACE_PERSISTENT ||
                         (k >= buffer->birth_op && k < buffer->free_op);
            if (!alive || next_random(3) != 0)
                continue;
            t->accesses[t->access_count++] = (struct spill_trace_access){b, SPILL_ACCESS_UNKNOWN};
            t->ops[k].access_count++;
            bytes += buffer->bytes;
        }
        it->events[it->event_count++] = (struct spill_iteration_event){SPILL_LOGREC_OP, k};
        if (bytes > *most_at_once)
            *most_at_once = bytes;
    }
}

/* --- the adversarial device --- */

struct action {
    uint32_t kind; /* 0 op, 1 copy out, 2 copy in */
    uint32_t index;
    uint32_t edges[EDGES_MAX]; /* actions that must come before */
    uint32_t edge_count;
};

struct rig {
    struct spill_script *s;
    struct spill_problem problem;
    struct action *actions;
    uint32_t action_count;
    uint32_t dropped; /* index in the waits that is left out, UINT32_MAX: none */
    /* contents */
    uint64_t *frame_page; /* page number + 1 whose data a frame holds */
    uint64_t *frame_version;
    uint64_t *host_page;    /* page number + 1 whose data a slot of host memory holds */
    uint64_t *host_version; /* per slot */
    uint64_t *want;         /* per (action, page number): version an op must find */
};

static void edge(struct action *action, uint32_t from)
{
    if (from == UINT32_MAX)
        return;
    assert_true(action->edge_count < EDGES_MAX);
    action->edges[action->edge_count++] = from;
}

static void add_waits(struct rig *rig, struct action *action, struct spill_slice waits,
                      const uint32_t *recorded)
{
    for (uint32_t i = 0; i < waits.count; i++)
        if (waits.first + i != rig->dropped)
            edge(action, recorded[rig->s->waits[waits.first + i]]);
}

/* The actions of ROUNDS iterations in host order with all that orders them. */
static void lay_out(struct rig *rig)
{
    struct spill_script *s = rig->s;
    uint32_t last[8], previous_op = UINT32_MAX; /* last action on each stream; 6: out, 7: in */
    uint32_t *recorded = malloc((s->event_count + 1) * sizeof(*recorded));
    memset(last, 0xff, sizeof(last));
    memset(recorded, 0xff, (s->event_count + 1) * sizeof(*recorded));
    rig->action_count = 0;
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t k = 0; k < s->op_count; k++) {
            const struct spill_script_op *op = &s->ops[k];
            uint32_t stream = s->it.trace.ops[k].stream;
            for (uint32_t i = 0; i < 1 + op->outs.count + op->ins.count; i++) {
                struct action *a = &rig->actions[rig->action_count];
                memset(a, 0, sizeof(*a));
                uint32_t on = stream, event = op->event;
                struct spill_slice waits = op->waits;
                a->index = k;
                if (i > op->outs.count) {
                    a->kind = 2;
                    a->index = s->plan->in_order[op->ins.first + i - 1 - op->outs.count];
                    on = 7;
                    event = s->moves[a->index].in_event;
                    waits = s->moves[a->index].in_waits;
                } else if (i > 0) {
                    a->kind = 1;
                    a->index = op->outs.first + i - 1;
                    on = 6;
                    event = s->moves[a->index].out_event;
                    waits = s->moves[a->index].out_waits;
                } else {
                    edge(a, previous_op); /* the program orders its own ops */
                    previous_op = rig->action_count;
                }
                edge(a, last[on]);
                last[on] = rig->action_count;
                add_waits(rig, a, waits, recorded);
                if (event != SPILL_NO_EVENT)
                    recorded[event] = rig->action_count;
                rig->action_count++;
            }
        }
    free(recorded);
}

/* Executes one action; false: an op found wrong data. WANT is filled when FILL, else compared. */
static bool execute(struct rig *rig, uint32_t at, bool fill)
{
    const struct action *a = &rig->actions[at];
    const struct spill_plan *plan = rig->s->plan;
    bool good = true;
    if (a->kind != 0) {
        const struct spill_move *move = &plan->moves[a->index];
        for (uint32_t p = 0; p < move->page_count; p++) {
            uint32_t page = plan->page_base[move->buffer] + move->page_first + p;
            uint32_t frame = plan->frame_of[page];
            uint32_t slot = rig->s->moves[a->index].host_slot + p;
            if (a->kind == 1) {
                rig->host_page[slot] = page + 1;
                rig->host_version[slot] =
                    rig->frame_page[frame] == page + 1 ? rig->frame_version[frame] : 0;
                /* What has left is gone, also if nobody takes its frame. */
                if (rig->frame_page[frame] == page + 1)
                    rig->frame_page[frame] = 0;
            } else {
                rig->frame_page[frame] = page + 1;
                rig->frame_version[frame] =
                    rig->host_page[slot] == page + 1 ? rig->host_version[slot] : 0;
            }
        }
        return true;
    }
    const struct spill_op *op = &rig->problem.ops[a->index];
    for (uint32_t i = 0; i < op->access_count; i++) {
        uint32_t b = rig->problem.accesses[op->access_first + i].buffer;
        bool newborn = rig->problem.buffers[b].life == SPILL_LIFE_ITERATION &&
                       rig->problem.buffers[b].birth_op == a->index;
        for (uint32_t p = plan->page_base[b]; p < plan->page_base[b + 1]; p++) {
            uint32_t frame = plan->frame_of[p];
            uint64_t *want = &rig->want[(size_t)at * plan->page_total + p];
            bool here = rig->frame_page[frame] == p + 1;
            uint64_t found = newborn ? 1 : here ? rig->frame_version[frame] : 0;
            if (fill)
                *want = found;
            else
                good = good && *want == found;
            rig->frame_page[frame] = p + 1;
            rig->frame_version[frame] = (uint64_t)at + 2;
        }
    }
    return good;
}

/* At the border everything the plan has on the host is there, everything else in its frame. */
static void reset(struct rig *rig)
{
    const struct spill_plan *plan = rig->s->plan;
    memset(rig->frame_page, 0, (plan->frame_count + 1) * sizeof(*rig->frame_page));
    memset(rig->host_page, 0, (rig->s->slab_bytes / PAGE + 1) * sizeof(*rig->host_page));
    for (uint32_t p = 0; p < plan->page_total; p++) {
        if (rig->s->border_place[p] == SPILL_BORDER_HOST) {
            rig->host_page[rig->s->border_slot[p]] = p + 1;
            rig->host_version[rig->s->border_slot[p]] = 1;
        }
        if (plan->frame_of[p] == SPILL_NO_FRAME || rig->s->border_place[p] != SPILL_BORDER_DEVICE)
            continue;
        rig->frame_page[plan->frame_of[p]] = p + 1;
        rig->frame_version[plan->frame_of[p]] = 1;
    }
}

/* One run in a random order, leaning towards late ops or late copies. */
static bool run_random(struct rig *rig)
{
    bool *done = calloc(rig->action_count, 1), good = true;
    uint32_t left = rig->action_count, lean = next_random(4);
    uint32_t *ready = malloc(rig->action_count * sizeof(*ready));
    reset(rig);
    while (left > 0 && good) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < rig->action_count; i++) {
            bool free_to_run = !done[i];
            for (uint32_t e = 0; free_to_run && e < rig->actions[i].edge_count; e++)
                free_to_run = done[rig->actions[i].edges[e]];
            if (free_to_run)
                ready[count++] = i;
        }
        assert_true(count > 0); /* no cycle */
        uint32_t pick = ready[next_random(count)];
        if (lean < 3) /* hold the ops, the copies out or the copies in back as long as possible */
            for (uint32_t tries = 0; tries < 8 && rig->actions[pick].kind == lean; tries++)
                pick = ready[next_random(count)];
        done[pick] = true;
        left--;
        good = execute(rig, pick, false);
    }
    free(done);
    free(ready);
    return good;
}

static bool make_rig(struct rig *rig)
{
    struct spill_iteration it;
    struct spill_plan *plan = NULL;
    uint64_t most, total;
    memset(rig, 0, sizeof(*rig));
    make_iteration(&it, &most, &total);
    uint64_t budget = most + (total - most) * next_random(60) / 100;
    assert_int_equal(spill_fromtrace(&it.trace, budget, UINT64_MAX, &rig->problem), SPILL_OK);
    enum spill_status status = spill_solve(&rig->problem, NULL, &plan, NULL);
    if (status != SPILL_OK || plan->move_count == 0) {
        spill_plan_free(plan);
        spill_fromtrace_free(&rig->problem);
        spill_iteration_free(&it);
        return false;
    }
    assert_int_equal(spill_script_build(&it, &rig->problem, plan, &rig->s), SPILL_OK);
    size_t actions = ROUNDS * ((size_t)rig->s->op_count + 2 * rig->s->move_count);
    rig->actions = calloc(actions, sizeof(*rig->actions));
    rig->frame_page = calloc(plan->frame_count + 1, sizeof(*rig->frame_page));
    rig->frame_version = calloc(plan->frame_count + 1, sizeof(*rig->frame_version));
    rig->host_page = calloc(rig->s->slab_bytes / PAGE + 1, sizeof(*rig->host_page));
    rig->host_version = calloc(rig->s->slab_bytes / PAGE + 1, sizeof(*rig->host_version));
    rig->want = calloc(actions * plan->page_total + 1, sizeof(*rig->want));
    rig->dropped = UINT32_MAX;
    lay_out(rig);
    reset(rig);
    for (uint32_t i = 0; i < rig->action_count; i++) /* host order itself is the reference */
        assert_true(execute(rig, i, true));
    return true;
}

static void free_rig(struct rig *rig)
{
    spill_script_free(rig->s);
    spill_fromtrace_free(&rig->problem);
    free(rig->actions);
    free(rig->frame_page);
    free(rig->frame_version);
    free(rig->host_page);
    free(rig->host_version);
    free(rig->want);
}

static void reference_finds_data(void **state)
{
    uint32_t plans = 0;
    (void)state;
    for (random_state = 1; plans < 60; random_state++) {
        struct rig rig;
        if (!make_rig(&rig))
            continue;
        plans++;
        for (uint32_t i = 0; i < rig.action_count; i++)
            if (rig.actions[i].kind == 0)
                for (uint32_t p = 0; p < rig.s->plan->page_total; p++) {
                    /* 0 would mean: an op found a frame with another page's data */
                    const struct spill_op *op = &rig.problem.ops[rig.actions[i].index];
                    for (uint32_t a = 0; a < op->access_count; a++) {
                        uint32_t b = rig.problem.accesses[op->access_first + a].buffer;
                        if (p >= rig.s->plan->page_base[b] && p < rig.s->plan->page_base[b + 1])
                            assert_int_not_equal(rig.want[(size_t)i * rig.s->plan->page_total + p],
                                                 0);
                    }
                }
        free_rig(&rig);
    }
}

static void any_order_is_right(void **state)
{
    uint32_t plans = 0;
    (void)state;
    for (uint64_t seed = 1; plans < 60; seed++) {
        struct rig rig;
        random_state = seed;
        if (!make_rig(&rig))
            continue;
        plans++;
        for (int i = 0; i < 40; i++)
            if (!run_random(&rig))
                fail_msg("seed %lu: wrong data in a legal order", (unsigned long)seed);
        free_rig(&rig);
    }
}

/* One stream: with two, the program's own order between them makes some waits needless that the
 * script cannot know of. */
static void each_wait_is_needed(void **state)
{
    uint32_t plans = 0, waits = 0, missed = 0;
    (void)state;
    streams_max = 1;
    for (uint64_t seed = 1; plans < 25; seed++) {
        struct rig rig;
        random_state = seed;
        if (!make_rig(&rig))
            continue;
        plans++;
        for (rig.dropped = 0; rig.dropped < rig.s->wait_count; rig.dropped++) {
            bool wrong = false;
            lay_out(&rig);
            for (int i = 0; !wrong && i < 300; i++)
                wrong = !run_random(&rig);
            waits++;
            missed += wrong;
        }
        free_rig(&rig);
    }
    print_message("%u of %u waits shown to be needed\n", missed, waits);
    assert_true(waits > 100);
    assert_int_equal(missed, waits);
}

/* On one stream only a copy in that is launched by an op still to come may start earlier than the
 * solver has it: the host is ahead of the device. */
static void one_stream_as_the_solver_has_it(void **state)
{
    uint32_t plans = 0, equal = 0;
    (void)state;
    streams_max = 1;
    for (uint64_t seed = 1; plans < 200; seed++) {
        struct rig rig;
        random_state = seed;
        if (!make_rig(&rig))
            continue;
        const struct spill_steptime *time = &rig.s->predicted;
        plans++;
        equal += time->step_ns == rig.s->plan->step_ns;
        assert_true(time->step_ns <= rig.s->plan->step_ns + 1);
        assert_true(time->step_ns >= rig.s->plan->compute_ns);
        assert_true(time->step_ns >= time->out_ns && time->step_ns >= time->in_ns);
        free_rig(&rig);
    }
    print_message("%u of %u plans predicted to take what the solver says\n", equal, plans);
    assert_true(equal > plans / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_finds_data),
        cmocka_unit_test(any_order_is_right),
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(one_stream_as_the_solver_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
