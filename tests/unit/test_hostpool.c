/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory beside a driver that pins as much as it is told to: pages, the limit that all pools
 * share, parts, and a plan's slab. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "replay/hostpool.h"
#include "tests/unit/nodriver.h"

enum { PAGE = 64 << 10, PAGES = 40, PARTS = 64 };

static struct part {
    char *base;
    size_t bytes;
} parts[PARTS];
static size_t pinned, most_at_once, most_in_all;

static CUresult host_register(void *base, size_t bytes, unsigned flags)
{
    uint32_t free_part = PARTS;
    assert_int_equal(flags, CU_MEMHOSTREGISTER_PORTABLE);
    for (uint32_t i = 0; i < PARTS; i++) {
        if (parts[i].bytes == 0)
            free_part = i;
        else /* the driver refuses what overlaps */
            assert_true((char *)base + bytes <= parts[i].base ||
                        (char *)base >= parts[i].base + parts[i].bytes);
    }
    if (bytes > most_at_once || pinned + bytes > most_in_all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    assert_int_not_equal(free_part, PARTS);
    parts[free_part] = (struct part){base, bytes};
    pinned += bytes;
    return CUDA_SUCCESS;
}

static CUresult host_unregister(void *base)
{
    for (uint32_t i = 0; i < PARTS; i++)
        if (parts[i].base == base && parts[i].bytes != 0) {
            pinned -= parts[i].bytes;
            parts[i].bytes = 0;
            return CUDA_SUCCESS;
        }
    fail_msg("unregistered what was not registered");
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult no_device(CUdevice *device)
{
    (void)device;
    return CUDA_ERROR_INVALID_CONTEXT;
}

static int reset(void **state)
{
    (void)state;
    spill_driver.p_cuMemHostRegister_v2 = host_register;
    spill_driver.p_cuMemHostUnregister = host_unregister;
    spill_driver.p_cuCtxGetDevice = no_device;
    memset(parts, 0, sizeof(parts));
    pinned = 0;
    most_at_once = most_in_all = SIZE_MAX;
    return 0;
}

static uint32_t take_all(struct spill_hostpool *pool, char **pages, uint32_t most)
{
    uint32_t count = 0;
    while (count < most && (pages[count] = spill_hostpool_take(pool)) != NULL) {
        memset(pages[count], (int)count + 1, PAGE);
        count++;
    }
    return count;
}

static void check_contents(char *const *pages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pages[i][0], (char)(i + 1));
        assert_int_equal(pages[i][PAGE - 1], (char)(i + 1));
    }
}

static void test_pages(void **state)
{
    struct spill_hostpool pool;
    char *pages[PAGES + 1];
    (void)state;
    spill_hostpool_boot(&pool, (uint64_t)PAGES * PAGE + PAGE / 2, PAGE);
    assert_int_equal(take_all(&pool, pages, PAGES + 1), PAGES); /* all of the limit, no more */
    check_contents(pages, PAGES);
    assert_int_equal(pinned, PAGES * PAGE);
    assert_int_equal(pool.peak_bytes, PAGES * PAGE);
    /* What is given back is taken again, the lowest first. */
    spill_hostpool_give(&pool, pages[30]);
    spill_hostpool_give(&pool, pages[7]);
    assert_ptr_equal(spill_hostpool_take(&pool), pages[7]);
    assert_ptr_equal(spill_hostpool_take(&pool), pages[30]);
    assert_null(spill_hostpool_take(&pool));
    check_contents(pages, PAGES);
    spill_hostpool_end(&pool);
    assert_int_equal(pinned, 0);
}

/* The limit is the process's, whichever pool takes first. */
static void test_two_pools(void **state)
{
    struct spill_hostpool one, two;
    char *ones[PAGES], *twos[PAGES];
    (void)state;
    spill_hostpool_boot(&one, (uint64_t)PAGES * PAGE, PAGE);
    spill_hostpool_boot(&two, (uint64_t)PAGES * PAGE, PAGE);
    assert_int_equal(spill_hostpool_plannable(&two), (PAGES - 1) * PAGE);
    assert_int_equal(take_all(&one, ones, 16), 16);
    assert_int_equal(spill_hostpool_plannable(&two), (PAGES - 16 - 1) * PAGE);
    assert_int_equal(take_all(&two, twos, PAGES), PAGES - 16);
    assert_null(spill_hostpool_take(&one));
    assert_int_equal(spill_hostpool_plannable(&one), 15 * PAGE);
    assert_false(spill_hostpool_slab(&two, (PAGES - 15) * PAGE));
    /* What one gives back to the system, the other may have. */
    for (uint32_t i = 0; i < 16; i++)
        spill_hostpool_give(&one, ones[i]);
    spill_hostpool_trim(&one);
    assert_int_equal(take_all(&two, ones, PAGES), 16);
    assert_null(spill_hostpool_take(&one));
    check_contents(twos, PAGES - 16);
    spill_hostpool_end(&two);
    assert_int_equal(take_all(&one, ones, PAGES), PAGES);
    spill_hostpool_end(&one);
}

/* The driver pins little at once and not all in all: as much as it will, in parts; the rest of the
 * pages are there, unpinned, and plans are made for what is pinned. */
static void test_refused(void **state)
{
    struct spill_hostpool pool;
    char *pages[PAGES];
    uint32_t count = 0;
    (void)state;
    most_at_once = 4 * PAGE;
    most_in_all = 11 * PAGE;
    spill_hostpool_boot(&pool, (uint64_t)PAGES * PAGE, PAGE);
    assert_int_equal(take_all(&pool, pages, PAGES), PAGES);
    check_contents(pages, PAGES);
    assert_int_equal(pinned, 11 * PAGE);
    assert_int_equal(pool.pinnable, 11 * PAGE);
    assert_int_equal(spill_hostpool_plannable(&pool), 11 * PAGE);
    for (uint32_t i = 0; i < PAGES; i++)
        count += spill_hostpool_pinned(&pool, pages[i]);
    assert_int_equal(count, 11);
    /* A slab is one part, so that it is no larger than the driver pins at once. */
    assert_false(spill_hostpool_slab(&pool, 12 * PAGE));
    assert_false(spill_hostpool_slab(&pool, 6 * PAGE));
    assert_true(spill_hostpool_slab(&pool, 4 * PAGE));
    assert_true(pool.parts[0] >= 4 * PAGE);
    check_contents(pages, PAGES);
    spill_hostpool_end(&pool);
    assert_int_equal(pinned, 0);
}

/* A slab has the first bytes, in one part, whatever was in them. */
static void test_slab(void **state)
{
    struct spill_hostpool pool;
    char *pages[PAGES];
    (void)state;
    spill_hostpool_boot(&pool, (uint64_t)PAGES * PAGE, PAGE);
    assert_true(spill_hostpool_slab(&pool, 0));
    assert_int_equal(take_all(&pool, pages, 5), 5);
    assert_true(spill_hostpool_slab(&pool, 20 * PAGE));
    assert_ptr_equal(pool.base, pages[0]);
    assert_true(pool.parts[0] >= 20 * PAGE);
    check_contents(pages, 5);
    assert_true(spill_hostpool_slab(&pool, 12 * PAGE)); /* a smaller one is there already */
    assert_true(pool.parts[0] >= 20 * PAGE);
    /* Claimed, its pages are given to nobody; others are, and single ones are kept. */
    spill_hostpool_claim(&pool, 20 * PAGE);
    pages[0] = spill_hostpool_take(&pool);
    assert_int_equal(spill_hostpool_index(&pool, pages[0]), 20);
    spill_hostpool_claim(&pool, 0);
    spill_hostpool_keep(&pool, pool.base + PAGE);
    pages[0] = spill_hostpool_take(&pool);
    pages[1] = spill_hostpool_take(&pool);
    assert_int_equal(spill_hostpool_index(&pool, pages[0]), 0);
    assert_int_equal(spill_hostpool_index(&pool, pages[1]), 2);
    assert_false(spill_hostpool_slab(&pool, (PAGES + 1) * PAGE));
    spill_hostpool_end(&pool);
    assert_int_equal(pinned, 0);
}

/* What is pinned together goes together, and never a page that is in use. */
static void test_trim(void **state)
{
    struct spill_hostpool pool;
    char *pages[PAGES];
    (void)state;
    most_at_once = 8 * PAGE;
    spill_hostpool_boot(&pool, (uint64_t)PAGES * PAGE, PAGE);
    assert_int_equal(take_all(&pool, pages, PAGES), PAGES);
    for (uint32_t i = 10; i < PAGES; i++)
        spill_hostpool_give(&pool, pages[i]);
    spill_hostpool_trim(&pool);
    assert_int_equal(pool.page_count, 16);
    assert_int_equal(pinned, 16 * PAGE);
    check_contents(pages, 10);
    for (uint32_t i = 0; i < 10; i++)
        spill_hostpool_give(&pool, pages[i]);
    spill_hostpool_trim(&pool);
    assert_int_equal(pool.page_count, 0);
    assert_int_equal(pinned, 0);
    assert_int_equal(take_all(&pool, pages, PAGES), PAGES);
    spill_hostpool_end(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pages, reset),   cmocka_unit_test_setup(test_two_pools, reset),
        cmocka_unit_test_setup(test_refused, reset), cmocka_unit_test_setup(test_slab, reset),
        cmocka_unit_test_setup(test_trim, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
