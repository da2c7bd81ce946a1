/* SPDX-License-Identifier: Apache-2.0 */
/* Iteration borders on shaped sequences: what a training job does is played into the recorder,
 * without a driver. Each case says which period must be found, in events, and after how many of
 * them at most; or that none may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "preload/base/accessmode.h"
#include "profiler/recorder.h"
#include "replay/span.h"
#include "tests/unit/nodriver.h"

enum { BASE_SHIFT = 21, SPAN_PAGES = 1 << 16, NAMES = 512 };

static struct spill_recorder rec;
static struct spill_bufmap map;
static struct spill_span ranges;
static uint32_t slot_of[NAMES]; /* a case's own names of its buffers */
static uint32_t found, found_at, events;

static int set_up(void **state)
{
    (void)state;
    spill_recorder_reset(&rec);
    rec.known_period = rec.mark_total = 0;
    rec.marks_only = false;
    assert_int_equal(spill_span_boot(&ranges, SPAN_PAGES), SPILL_OK);
    assert_int_equal(
        spill_bufmap_boot(&map, (uint64_t)1 << 40, (uint64_t)SPAN_PAGES << BASE_SHIFT, BASE_SHIFT),
        SPILL_OK);
    found = found_at = events = 0;
    return 0;
}

static void noticed(void)
{
    uint32_t period = spill_border_period(&rec);
    events++;
    if (found == 0 && period != 0) {
        found = period;
        found_at = events;
    }
}

static void make(uint32_t name, uint32_t pages)
{
    uint32_t page = spill_span_take(&ranges, pages);
    uint64_t bytes = (uint64_t)pages << BASE_SHIFT;
    assert_int_equal(
        spill_bufmap_add(&map, map.base + ((uint64_t)page << BASE_SHIFT), bytes, &slot_of[name]),
        SPILL_OK);
    assert_int_equal(spill_recorder_alloc(&rec, &map, slot_of[name], false), SPILL_OK);
    noticed();
}

static void drop(uint32_t name)
{
    const struct spill_buf *buf = &map.bufs[slot_of[name]];
    uint32_t first = buf->first_page, count = buf->page_count;
    assert_int_equal(spill_recorder_alloc(&rec, &map, slot_of[name], true), SPILL_OK);
    spill_bufmap_remove(&map, slot_of[name]);
    assert_int_equal(spill_span_give(&ranges, first, count), SPILL_OK);
    noticed();
}

/* KERNEL touches the buffers A and B (B may equal A) on STREAM. */
static void op_on(uintptr_t stream, uintptr_t kernel, uint32_t a, uint32_t b)
{
    struct spill_opcall op = {.kind = SPILL_OPKIND_KERNEL,
                              .stream = (CUstream)stream,
                              .function = (CUfunction)kernel,
                              .grid = {1, 1, 1},
                              .block = {1, 1, 1}};
    struct spill_touch list[2] = {{slot_of[a], SPILL_ACCESS_UNKNOWN},
                                  {slot_of[b], SPILL_ACCESS_UNKNOWN}};
    struct spill_touches touches = {.list = list, .cap = 2, .count = a == b ? 1 : 2};
    assert_int_equal(spill_recorder_op_begin(&rec, &map, &op, &touches), SPILL_OK);
    spill_recorder_op_end(&rec, &op);
    noticed();
}

static void op(uintptr_t kernel, uint32_t a, uint32_t b)
{
    op_on(1, kernel, a, b);
}

/* Names: weights 0.., their momentum 100.., activations 200.., a gradient 300. */
static void weights(uint32_t layers)
{
    for (uint32_t l = 0; l < layers; l++) {
        make(l, 2);
        make(100 + l, 2);
    }
}

static void forward(uint32_t layers, uint32_t pages)
{
    make(200, pages);
    for (uint32_t l = 0; l < layers; l++) {
        make(201 + l, pages);
        op(1, l, 201 + l);
    }
}

static void forget(uint32_t layers)
{
    for (uint32_t l = 0; l <= layers; l++)
        drop(200 + l);
}

static void backward(uint32_t layers, uint32_t pages, bool update)
{
    make(300, pages);
    for (uint32_t l = layers; l-- > 0;) {
        op(2, 201 + l, 300);
        op(3, 300, l);
        drop(201 + l);
        if (update)
            op(4, l, 100 + l);
    }
    drop(200);
    drop(300);
}

static uint32_t train(uint32_t layers, uint32_t pages)
{
    uint32_t before = events;
    forward(layers, pages);
    backward(layers, pages, true);
    return events - before;
}

/* Found: PERIOD events, and no later than after LATEST events. */
static void expect(uint32_t period, uint32_t latest)
{
    if (found != period || found_at > latest)
        fail_msg("found a period of %u after %u events; expected %u after at most %u", found,
                 found_at, period, latest);
}

static void plain_training(void **state)
{
    (void)state;
    weights(4);
    uint32_t start = events, period = 0;
    for (int i = 0; i < 3; i++)
        period = train(4, 1);
    expect(period, start + 2 * period);
}

static void equal_layers(void **state)
{
    (void)state;
    weights(48);
    uint32_t start = events, period = 0;
    for (int i = 0; i < 3; i++)
        period = train(48, 1);
    expect(period, start + 2 * period);
}

static void warm_up_steps(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(4);
    for (uint32_t i = 1; i < 4; i++)
        (void)train(4, i); /* growing batches */
    start = events;
    for (int i = 0; i < 3; i++)
        period = train(4, 5);
    expect(period, start + 2 * period);
}

static void autotuning_then_training(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(4);
    for (uint32_t candidate = 0; candidate < 6; candidate++) { /* the same work by other kernels */
        make(400, 2 + candidate);
        op(50 + candidate, 0, 400);
        op(50 + candidate, 0, 400);
        drop(400);
    }
    start = events;
    for (int i = 0; i < 3; i++)
        period = train(4, 1);
    expect(period, start + 2 * period);
}

/* Lazily made optimizer state: the first step is longer than the others. */
static void lazy_first_step(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    for (uint32_t l = 0; l < 4; l++)
        make(l, 2);
    forward(4, 1);
    make(300, 1);
    for (uint32_t l = 4; l-- > 0;) {
        op(2, 201 + l, 300);
        op(3, 300, l);
        drop(201 + l);
        make(100 + l, 2);
        op(4, l, 100 + l);
    }
    drop(200);
    drop(300);
    start = events;
    for (int i = 0; i < 3; i++)
        period = train(4, 1);
    expect(period, start + 2 * period);
}

static void static_allocations(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(6);
    make(300, 1);
    start = events;
    for (int i = 0; i < 60; i++) {
        uint32_t before = events;
        for (uint32_t l = 0; l < 6; l++)
            op(1, l, 300);
        for (uint32_t l = 6; l-- > 0;)
            op(2, l, 100 + l);
        period = events - before;
    }
    expect(period, start + 20 * period);
}

/* An inner loop that touches the same buffers again and again is no iteration. */
static void inner_loop(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(4);
    start = events;
    for (int i = 0; i < 3; i++) {
        uint32_t before = events;
        forward(4, 1);
        for (int j = 0; j < 12; j++) {
            op(7, 0, 1);
            op(8, 1, 0);
        }
        backward(4, 1, true);
        period = events - before;
    }
    expect(period, start + 2 * period);
}

/* Micro-steps are iterations of their own. Once they are known to be part of something, the longer
 * period is found, and not two of the known one. */
static void gradient_accumulation(void **state)
{
    uint32_t micro = 0, whole = 0;
    (void)state;
    weights(3);
    for (int i = 0; i < 2; i++) {
        uint32_t before = events;
        forward(3, 1);
        backward(3, 1, false);
        micro = events - before;
    }
    expect(micro, UINT32_MAX);
    rec.known_period = micro;
    rec.known_sum = spill_border_sum(&rec, micro);
    found = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t before = events;
        for (uint32_t l = 0; l < 3; l++)
            op(4, l, 100 + l);
        for (int j = 0; j < 4; j++) {
            forward(3, 1);
            backward(3, 1, false);
        }
        whole = events - before;
    }
    expect(whole, UINT32_MAX);
}

static void evaluation_between(void **state)
{
    uint32_t step = 0, whole = 0;
    (void)state;
    weights(3);
    for (int i = 0; i < 2; i++)
        step = train(3, 1);
    expect(step, UINT32_MAX);
    rec.known_period = step;
    rec.known_sum = spill_border_sum(&rec, step);
    found = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t before = events;
        forward(3, 1);
        forget(3);
        for (int j = 0; j < 5; j++)
            (void)train(3, 1);
        whole = events - before;
    }
    expect(whole, UINT32_MAX);
}

static void last_smaller_batch(void **state)
{
    uint32_t period = 0;
    (void)state;
    weights(4);
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int i = 0; i < 4; i++)
            period = train(4, 4);
        (void)train(4, 1);
    }
    expect(period, UINT32_MAX);
}

static void two_alternating_networks(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(6);
    start = events;
    for (int i = 0; i < 3; i++) {
        uint32_t before = events;
        (void)train(3, 1); /* the generator */
        forward(6, 2);     /* the discriminator */
        backward(6, 2, true);
        period = events - before;
    }
    expect(period, start + 2 * period);
}

static void two_streams(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(4);
    start = events;
    for (int i = 0; i < 3; i++) {
        uint32_t before = events;
        forward(4, 1);
        for (uint32_t l = 0; l < 4; l++)
            op_on(1 + l % 2, 9, l, 100 + l);
        forget(4);
        period = events - before;
    }
    expect(period, start + 2 * period);
}

static void logging_copy(void **state)
{
    uint32_t period = 0;
    (void)state;
    weights(4);
    for (int i = 1; i <= 9; i++) {
        period = train(4, 1);
        if (i % 4 == 0)
            op(99, 0, 0);
    }
    expect(period, UINT32_MAX);
}

/* Batches of ever other length: nothing repeats, so nothing may be found. */
static void variable_lengths(void **state)
{
    static const uint8_t lengths[] = {3, 7, 4, 9, 5, 2, 8, 6, 11, 1, 10, 12, 15, 13, 14, 16};
    (void)state;
    weights(4);
    for (unsigned i = 0; i < sizeof(lengths); i++)
        (void)train(4, lengths[i]);
    expect(0, 0);
}

/* A batch is allocated before the one in use is freed, DEPTH of them ahead: its address is another
 * one in every step. The iteration is as many steps as bring the addresses back. */
static void prefetched(uint32_t depth)
{
    uint32_t period = 0, start;
    weights(3);
    for (uint32_t i = 0; i < depth; i++)
        make(400 + i, 3);
    start = events;
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t before = events;
        make(400 + (i + depth) % (depth + 1), 3);
        op(9, 400 + i % (depth + 1), 0);
        (void)train(3, 1);
        drop(400 + i % (depth + 1));
        period = events - before;
    }
    expect((depth + 1) * period, start + 2 * (depth + 1) * period);
}

static void changing_addresses(void **state)
{
    (void)state;
    prefetched(1);
}

static void changing_addresses_deeper(void **state)
{
    (void)state;
    prefetched(3);
}

/* The same layer with the same weights (a recurrent net): live bytes grow, so no step of it is
 * taken for an iteration. */
static void recurrent_net(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(1);
    start = events;
    for (int i = 0; i < 3; i++) {
        uint32_t before = events;
        make(200, 1);
        for (uint32_t t = 0; t < 40; t++) {
            make(201 + t, 1);
            op(1, 0, 201 + t);
        }
        for (uint32_t t = 40; t-- > 0;) {
            op(2, 0, 201 + t);
            drop(201 + t);
        }
        drop(200);
        period = events - before;
    }
    expect(period, start + 2 * period);
}

/* A leak: live bytes do not return, so there is no border. */
static void a_leak(void **state)
{
    (void)state;
    weights(3);
    for (uint32_t i = 0; i < 12; i++) {
        (void)train(3, 1);
        make(350 + i, 1);
    }
    expect(0, 0);
}

/* Marks win: a step of two halves that are alike but for the mark is one iteration. */
static void marked_borders(void **state)
{
    uint32_t marked = 0, start, period = 0;
    (void)state;
    weights(3);
    for (int i = 0; i < 4; i++) {
        uint32_t at = spill_border_mark(&rec);
        if (marked == 0)
            marked = at;
        start = events;
        for (int half = 0; half < 2; half++) {
            forward(3, 1);
            backward(3, 1, i % 2 == 1); /* no two steps in a row are alike */
        }
    }
    assert_int_equal(marked, 0);
    assert_int_equal(set_up(state), 0);
    weights(3);
    for (int i = 0; i < 4; i++) {
        uint32_t at = spill_border_mark(&rec);
        if (marked == 0)
            marked = at;
        start = events;
        forward(3, 2);
        forget(3);
        (void)train(3, 1);
        (void)train(3, 1);
        period = events - start;
    }
    assert_int_equal(marked, period);
}

static void long_iteration(void **state)
{
    uint32_t period = 0, start;
    (void)state;
    weights(50);
    start = events;
    for (int i = 0; i < 2; i++) {
        uint32_t before = events;
        forward(50, 1);
        for (uint32_t k = 0; k < 100000; k++)
            op(1000 + k % 777, k % 50, 201 + k % 49);
        backward(50, 1, true);
        period = events - before;
    }
    expect(period, start + 2 * period);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(plain_training, set_up),
        cmocka_unit_test_setup(equal_layers, set_up),
        cmocka_unit_test_setup(warm_up_steps, set_up),
        cmocka_unit_test_setup(autotuning_then_training, set_up),
        cmocka_unit_test_setup(lazy_first_step, set_up),
        cmocka_unit_test_setup(static_allocations, set_up),
        cmocka_unit_test_setup(inner_loop, set_up),
        cmocka_unit_test_setup(gradient_accumulation, set_up),
        cmocka_unit_test_setup(evaluation_between, set_up),
        cmocka_unit_test_setup(last_smaller_batch, set_up),
        cmocka_unit_test_setup(two_alternating_networks, set_up),
        cmocka_unit_test_setup(two_streams, set_up),
        cmocka_unit_test_setup(logging_copy, set_up),
        cmocka_unit_test_setup(variable_lengths, set_up),
        cmocka_unit_test_setup(changing_addresses, set_up),
        cmocka_unit_test_setup(changing_addresses_deeper, set_up),
        cmocka_unit_test_setup(recurrent_net, set_up),
        cmocka_unit_test_setup(a_leak, set_up),
        cmocka_unit_test_setup(marked_borders, set_up),
        cmocka_unit_test_setup(long_iteration, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
