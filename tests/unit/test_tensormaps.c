/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps known again by their bytes: in a block of parameters, in memory, at a new address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profiler/access.h"
#include "profiler/tensormaps.h"
#include "tests/unit/nodriver.h"

#define PAGE ((uint64_t)2 << 20)
#define BASE ((uint64_t)1 << 40)

static struct spill_bufmap map;
static struct spill_touches touches;
static uint32_t slots[3];

static int boot(void **state)
{
    (void)state;
    if (spill_bufmap_boot(&map, BASE, 64 * PAGE, 21) != SPILL_OK)
        return -1;
    for (uint32_t b = 0; b < 3; b++)
        if (spill_bufmap_add(&map, BASE + 4 * b * PAGE, PAGE, &slots[b]) != SPILL_OK)
            return -1;
    return 0;
}

/* No word of it is an address. */
static void fill(unsigned char *bytes, unsigned seed)
{
    for (unsigned i = 0; i < SPILL_TENSORMAP_BYTES; i++)
        bytes[i] = (unsigned char)(seed * 37 + i * 11 + 1);
}

static void scan(void *block, size_t bytes)
{
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    struct spill_opcall op = {.kind = SPILL_OPKIND_KERNEL, .extra = extra};
    assert_int_equal(spill_access_scan(&map, &op, &touches), SPILL_OK);
}

static void in_parameters(void **state)
{
    unsigned char block[512] = {0};
    (void)state;
    fill(block + 64, 1);
    fill(block + 320, 2);
    scan(block, sizeof(block));
    assert_int_equal(touches.count, 0);
    assert_true(spill_tensormaps_note(block + 64, BASE + 16));
    assert_true(spill_tensormaps_note(block + 320, BASE + 4 * PAGE));
    assert_int_equal(spill_tensormaps_unsettled, 2);
    scan(block, 320 + SPILL_TENSORMAP_BYTES - 1); /* the second is not whole */
    assert_int_equal(touches.count, 1);
    assert_int_equal(touches.list[0].slot, slots[0]);
    assert_int_equal(spill_tensormaps_unsettled, 1);
    scan(block, sizeof(block));
    assert_int_equal(touches.count, 2);
    assert_int_equal(touches.list[1].slot, slots[1]);
    assert_int_equal(spill_tensormaps_unsettled, 0);
    memmove(block + 72, block + 64, SPILL_TENSORMAP_BYTES); /* the device could not read it there */
    scan(block, 256);
    assert_int_equal(touches.count, 0);
}

static void encoded_again(void **state)
{
    unsigned char block[SPILL_TENSORMAP_BYTES];
    (void)state;
    fill(block, 1);
    uint32_t before = spill_tensormaps_count;
    assert_true(spill_tensormaps_note(block, BASE + 8 * PAGE));
    assert_int_equal(spill_tensormaps_count, before);
    scan(block, sizeof(block));
    assert_int_equal(touches.count, 1);
    assert_int_equal(touches.list[0].slot, slots[2]);
    spill_bufmap_remove(&map, slots[2]); /* a map of what is gone reaches nothing */
    scan(block, sizeof(block));
    assert_int_equal(touches.count, 0);
}

static void collect(void *arg, uint32_t slot)
{
    *(uint32_t *)arg |= 1u << slot;
}

static void in_memory(void **state)
{
    unsigned char data[400] = {0};
    uint32_t found = 0;
    (void)state;
    fill(data + 24, 2);
    spill_access_stored(&map, data, sizeof(data), SPILL_TENSORMAP_ALIGN, collect, &found);
    assert_int_equal(found, 0);
    spill_access_stored(&map, data, sizeof(data), 8, collect, &found);
    assert_int_equal(found, 1u << slots[1]);
}

static void no_more_room(void **state)
{
    unsigned char block[SPILL_TENSORMAP_BYTES];
    unsigned taken = spill_tensormaps_count, n = 0;
    (void)state;
    fill(block, 3);
    do {
        memcpy(block + 40, &n, sizeof(n));
        n++;
    } while (spill_tensormaps_note(block, BASE));
    assert_int_equal(taken + n - 1, 4096);
    assert_null(spill_tensormaps_find(block));
    n = 77;
    memcpy(block + 40, &n, sizeof(n));
    assert_non_null(spill_tensormaps_find(block));
    assert_true(spill_tensormaps_note(block, BASE)); /* known already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_parameters),
        cmocka_unit_test(encoded_again),
        cmocka_unit_test(in_memory),
        cmocka_unit_test(no_more_room),
    };
    return cmocka_run_group_tests_name("tensormaps", tests, boot, NULL);
}
