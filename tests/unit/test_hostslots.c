/* SPDX-License-Identifier: Apache-2.0 */
/* Places in host memory for random moves and parks: two that are out at the same op never overlap,
 * none reaches beyond the slab, and moves that are never out together share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "replay/script.h"
#include "tests/unit/nodriver.h"

enum { OPS_MOST = 40, MOVES_MOST = 60, PARKS_MOST = 6, PAGE = 4096 };

struct fixture {
    struct spill_script script;
    struct spill_plan plan;
    struct spill_move moves[MOVES_MOST];
    struct spill_script_move script_moves[MOVES_MOST];
    struct spill_park parks[PARKS_MOST];
    uint32_t park_slots[PARKS_MOST];
    uint64_t state;
};

static uint32_t random_below(struct fixture *f, uint32_t limit)
{
    f->state = f->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(f->state >> 33) % limit;
}

static void make(struct fixture *f, uint32_t ops, uint32_t moves, uint32_t parks)
{
    f->script = (struct spill_script){.plan = &f->plan,
                                      .moves = f->script_moves,
                                      .park_slots = f->park_slots,
                                      .op_count = ops,
                                      .move_count = moves};
    f->script.it.trace.page_bytes = PAGE;
    f->plan = (struct spill_plan){
        .moves = f->moves, .parks = f->parks, .move_count = moves, .park_count = parks};
}

static void make_random(struct fixture *f, uint64_t seed)
{
    f->state = seed;
    make(f, 2 + random_below(f, OPS_MOST - 1), random_below(f, MOVES_MOST + 1),
         random_below(f, PARKS_MOST + 1));
    for (uint32_t m = 0; m < f->plan.move_count; m++) {
        uint32_t out = random_below(f, f->script.op_count), pages = 1 + random_below(f, 9);
        f->moves[m] = (struct spill_move){
            .out_op = out, .use_op = random_below(f, f->script.op_count), .page_count = pages};
        f->script_moves[m].page_count = pages;
    }
    for (uint32_t i = 0; i < f->plan.park_count; i++)
        f->parks[i].page_count = 1 + random_below(f, 9);
}

/* Is the move's place in use at OP? From out_op until use_op starts; if these are one op, around.
 */
static int busy(const struct fixture *f, uint32_t m, uint32_t op)
{
    uint32_t n = f->script.op_count, out = f->moves[m].out_op, use = f->moves[m].use_op;
    uint32_t length = (use + n - out) % n;
    return (op + n - out) % n < (length == 0 ? n : length);
}

/* At each op: no page of the slab is held twice. Returns the most pages in use at one op. */
static uint32_t check(const struct fixture *f)
{
    uint32_t total = (uint32_t)(f->script.slab_bytes / PAGE), most = 0;
    uint8_t *held = malloc((size_t)total + 1);
    assert_non_null(held);
    for (uint32_t op = 0; op < f->script.op_count; op++) {
        uint32_t used = 0;
        memset(held, 0, total);
        for (uint32_t i = 0; i < f->plan.move_count + f->plan.park_count; i++) {
            int move = i < f->plan.move_count;
            uint32_t park = i - f->plan.move_count;
            if (move && !busy(f, i, op))
                continue;
            uint32_t slot = move ? f->script_moves[i].host_slot : f->park_slots[park];
            uint32_t pages = move ? f->moves[i].page_count : f->parks[park].page_count;
            assert_true(slot + pages <= total);
            for (uint32_t p = slot; p < slot + pages; p++)
                assert_int_equal(held[p]++, 0);
            used += pages;
        }
        most = used > most ? used : most;
    }
    free(held);
    return most;
}

static void test_random(void **state)
{
    static struct fixture f;
    uint64_t most = 0, slabs = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        make_random(&f, seed);
        assert_int_equal(spill_hostslots_build(&f.script), SPILL_OK);
        most += check(&f);
        slabs += f.script.slab_bytes / PAGE;
    }
    print_message("slots: %llu pages for the %llu that are in use at once\n",
                  (unsigned long long)slabs, (unsigned long long)most);
    assert_true(slabs < most + most / 2); /* packing is no optimum, but no waste either */
}

static void test_sharing(void **state)
{
    static struct fixture f;
    (void)state;
    /* In turns: 0 to 3, 3 to 6, and around the border 6 to 0. */
    make(&f, 9, 3, 0);
    f.moves[0] = (struct spill_move){.out_op = 0, .use_op = 3, .page_count = 5};
    f.moves[1] = (struct spill_move){.out_op = 3, .use_op = 6, .page_count = 4};
    f.moves[2] = (struct spill_move){.out_op = 6, .use_op = 0, .page_count = 3};
    assert_int_equal(spill_hostslots_build(&f.script), SPILL_OK);
    assert_int_equal(f.script.slab_bytes, 5 * PAGE);
    assert_int_equal(check(&f), 5);
    /* A park is there all the time. */
    make(&f, 9, 3, 1);
    f.parks[0].page_count = 2;
    assert_int_equal(spill_hostslots_build(&f.script), SPILL_OK);
    assert_int_equal(f.script.slab_bytes, 7 * PAGE);
    assert_int_equal(check(&f), 7);
}

static void test_nothing(void **state)
{
    static struct fixture f;
    (void)state;
    make(&f, 5, 0, 0);
    assert_int_equal(spill_hostslots_build(&f.script), SPILL_OK);
    assert_int_equal(f.script.slab_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
