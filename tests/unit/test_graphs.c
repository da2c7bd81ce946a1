/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of executable graphs: nodes that are told of, replaced and gone, and what all of
 * them touch then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/base/accessmode.h"
#include "profiler/access.h"
#include "profiler/graphs.h"
#include "tests/unit/nodriver.h"

#define PAGE ((uint64_t)2 << 20)
#define BASE ((uint64_t)1 << 40)

enum { PAGES = 64 };

static const CUgraphExec exec = (CUgraphExec)(uintptr_t)0x1000;

static uint64_t page_of(uint64_t addr)
{
    return addr >= BASE && addr < BASE + PAGES * PAGE ? addr & ~(PAGE - 1) : 0;
}

static CUgraphNode node(unsigned number)
{
    return (CUgraphNode)(uintptr_t)(0x100 + 16 * number);
}

/* Node NUMBER copies from page FROM to page TO. */
static void copies(unsigned number, unsigned owner, unsigned from, unsigned to)
{
    const struct spill_opcall op = {.kind = SPILL_OPKIND_COPY,
                                    .ranges = {{BASE + to * PAGE + 8, SPILL_ACCESS_WRITE},
                                               {BASE + from * PAGE, SPILL_ACCESS_READ}},
                                    .range_count = 2,
                                    .bytes = 64};
    spill_graphs_node(exec, node(number), owner == 0 ? NULL : node(owner), &op, page_of);
}

static struct spill_opcall launched(void)
{
    struct spill_opcall op = {.kind = SPILL_OPKIND_GRAPH, .graph = exec};
    spill_graphs_launch(&op);
    return op;
}

/* The mode in which PAGE is touched; 0: it is not. */
static uint32_t mode_of(unsigned page)
{
    uint32_t count, mode = 0;
    const struct spill_graph_word *words = spill_graphs_words(exec, &count);
    for (uint32_t i = 0; i < count; i++)
        if (words[i].addr == BASE + page * PAGE) {
            assert_int_equal(mode, 0); /* each page once */
            mode = words[i].mode;
        }
    return mode;
}

static void unknown(void **state)
{
    (void)state;
    spill_graphs_end(exec);
    assert_int_equal(launched().kind, SPILL_OPKIND_ALL);
}

static void pages_of_all_nodes(void **state)
{
    (void)state;
    spill_graphs_made(exec);
    copies(1, 0, 3, 4);
    copies(2, 0, 4, 5);
    assert_int_equal(launched().kind, SPILL_OPKIND_GRAPH);
    assert_int_equal(mode_of(3), SPILL_ACCESS_READ);
    assert_int_equal(mode_of(4), SPILL_ACCESS_READ | SPILL_ACCESS_WRITE);
    assert_int_equal(mode_of(5), SPILL_ACCESS_WRITE);
    assert_int_equal(mode_of(6), 0);
}

static void a_node_that_is_replaced(void **state)
{
    (void)state;
    spill_graphs_made(exec);
    copies(1, 0, 3, 4);
    copies(2, 0, 8, 9);
    const CUfunction shape = launched().function;
    copies(1, 0, 5, 6);
    assert_ptr_equal(launched().function, shape); /* the same op, on other memory */
    assert_int_equal(mode_of(3) | mode_of(4), 0);
    assert_int_equal(mode_of(5), SPILL_ACCESS_READ);
    assert_int_equal(mode_of(8), SPILL_ACCESS_READ);
}

/* A child graph that is exchanged takes its own children with it. */
static void child_graphs(void **state)
{
    const struct spill_opcall plain = {.kind = SPILL_OPKIND_HOST_FUNC};
    (void)state;
    spill_graphs_made(exec);
    copies(1, 0, 0, 1);
    spill_graphs_node(exec, node(2), NULL, &plain, page_of);
    copies(3, 2, 2, 3);
    spill_graphs_node(exec, node(4), node(2), &plain, page_of);
    copies(5, 4, 4, 5);
    copies(6, 2, 6, 7);
    (void)launched();
    assert_int_equal(mode_of(4), SPILL_ACCESS_READ);
    spill_graphs_emptied(exec, node(2));
    copies(7, 2, 8, 9);
    (void)launched();
    for (unsigned page = 2; page < 8; page++)
        assert_int_equal(mode_of(page), 0);
    assert_int_equal(mode_of(0), SPILL_ACCESS_READ);
    assert_int_equal(mode_of(8), SPILL_ACCESS_READ);
}

static void what_is_not_understood(void **state)
{
    const struct spill_opcall all = {.kind = SPILL_OPKIND_ALL};
    (void)state;
    spill_graphs_made(exec);
    copies(1, 0, 0, 1);
    spill_graphs_node(exec, node(2), NULL, &all, page_of);
    assert_int_equal(launched().kind, SPILL_OPKIND_ALL);
    copies(2, 0, 2, 3); /* it was given parameters that are */
    assert_int_equal(launched().kind, SPILL_OPKIND_GRAPH);
}

static void shapes(void **state)
{
    (void)state;
    spill_graphs_made(exec);
    copies(1, 0, 0, 1);
    const struct spill_graph_shape *one = (const void *)launched().function;
    assert_string_equal(one->name, "graph, 1 node");
    copies(2, 0, 0, 1);
    const struct spill_graph_shape *two = (const void *)launched().function;
    assert_string_equal(two->name, "graph, 2 nodes");
    assert_ptr_not_equal(one, two);
    spill_graphs_end(exec);
    spill_graphs_made(exec); /* anew, of other nodes on other memory */
    copies(8, 0, 40, 41);
    copies(9, 0, 42, 43);
    assert_ptr_equal(launched().function, two);
}

/* More pages than the table begins with, met in order, each once. */
static void many_pages(void **state)
{
    uint32_t count;
    (void)state;
    spill_graphs_made(exec);
    for (unsigned n = 0; n < 400; n++)
        copies(n + 1, 0, n % PAGES, (n + 1) % PAGES);
    assert_int_equal(launched().kind, SPILL_OPKIND_GRAPH);
    (void)spill_graphs_words(exec, &count);
    assert_int_equal(count, PAGES);
    for (unsigned page = 0; page < PAGES; page++)
        assert_int_equal(mode_of(page), SPILL_ACCESS_READ | SPILL_ACCESS_WRITE);
}

/* Whose a page is, is looked up at each launch. */
static void buffers_that_come_and_go(void **state)
{
    static struct spill_bufmap map;
    struct spill_touches touches = {0};
    uint32_t first, second;
    (void)state;
    assert_int_equal(spill_bufmap_boot(&map, BASE, PAGES * PAGE, 21), SPILL_OK);
    assert_int_equal(spill_bufmap_add(&map, BASE + 2 * PAGE, 3 * PAGE, &first), SPILL_OK);
    spill_graphs_made(exec);
    copies(1, 0, 3, 4);
    struct spill_opcall op = launched();
    assert_int_equal(spill_access_scan(&map, &op, &touches), SPILL_OK);
    assert_int_equal(touches.count, 1);
    assert_int_equal(touches.list[0].mode, SPILL_ACCESS_READ | SPILL_ACCESS_WRITE);
    spill_bufmap_remove(&map, first);
    assert_int_equal(spill_access_scan(&map, &op, &touches), SPILL_OK);
    assert_int_equal(touches.count, 0);
    assert_int_equal(spill_bufmap_add(&map, BASE + 4 * PAGE, PAGE, &second), SPILL_OK);
    assert_int_equal(spill_access_scan(&map, &op, &touches), SPILL_OK);
    assert_int_equal(touches.count, 1);
    assert_int_equal(touches.list[0].mode, SPILL_ACCESS_WRITE);
}

static void add_bytes(void *total, const void *data, uint64_t bytes)
{
    (void)data;
    *(uint64_t *)total += bytes;
}

static void sources(void **state)
{
    static char host[4096];
    const struct spill_opcall op = {.kind = SPILL_OPKIND_COPY,
                                    .ranges = {{BASE + 4, SPILL_ACCESS_WRITE}},
                                    .range_count = 1,
                                    .host_pending = true,
                                    .host_source = host,
                                    .host_bytes = sizeof(host)};
    uint64_t total = 0;
    (void)state;
    spill_graphs_made(exec);
    spill_graphs_node(exec, node(1), NULL, &op, page_of);
    assert_true(launched().host_pending);
    spill_graphs_sources(exec, sizeof(host), add_bytes, &total);
    assert_int_equal(total, sizeof(host) - 4); /* from where addresses would be aligned */
    spill_graphs_sources(exec, 64, add_bytes, &total);
    assert_int_equal(total, sizeof(host) - 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown),
        cmocka_unit_test(pages_of_all_nodes),
        cmocka_unit_test(a_node_that_is_replaced),
        cmocka_unit_test(child_graphs),
        cmocka_unit_test(what_is_not_understood),
        cmocka_unit_test(shapes),
        cmocka_unit_test(many_pages),
        cmocka_unit_test(buffers_that_come_and_go),
        cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
