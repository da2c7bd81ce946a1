/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/ranges.h"

#define LARGE (INT64_MAX / 4)

bool spill_ranges_open(struct spill_ranges *ranges, uint32_t count, struct spill_arena *arena)
{
    ranges->count = count;
    ranges->leaves = 1;
    while (ranges->leaves < count)
        ranges->leaves *= 2;
    ranges->most = spill_arena_alloc(arena, 2 * (size_t)ranges->leaves, sizeof(int64_t));
    ranges->least = spill_arena_alloc(arena, 2 * (size_t)ranges->leaves, sizeof(int64_t));
    ranges->pending = spill_arena_alloc(arena, 2 * (size_t)ranges->leaves, sizeof(int64_t));
    if (arena->failed)
        return false;
    for (uint32_t i = count; i < ranges->leaves; i++) {
        ranges->most[ranges->leaves + i] = SPILL_RANGES_NONE;
        ranges->least[ranges->leaves + i] = LARGE;
    }
    for (uint32_t node = ranges->leaves - 1; node > 0; node--) {
        int64_t *most = ranges->most, *least = ranges->least;

        most[node] = most[2 * node] > most[2 * node + 1] ? most[2 * node] : most[2 * node + 1];
        least[node] = least[2 * node] < least[2 * node + 1] ? least[2 * node] : least[2 * node + 1];
    }
    return true;
}

/* A node whose entries are all taken out keeps its marks whatever is added. */
static void add_node(struct spill_ranges *ranges, uint32_t node, int64_t delta)
{
    if (ranges->least[node] == LARGE)
        return;
    ranges->most[node] += delta;
    ranges->least[node] += delta;
    ranges->pending[node] += delta;
}

static void push(struct spill_ranges *ranges, uint32_t node)
{
    add_node(ranges, 2 * node, ranges->pending[node]);
    add_node(ranges, 2 * node + 1, ranges->pending[node]);
    ranges->pending[node] = 0;
}

static void pull(struct spill_ranges *ranges, uint32_t node)
{
    uint32_t a = 2 * node, b = a + 1;

    ranges->most[node] = ranges->most[a] > ranges->most[b] ? ranges->most[a] : ranges->most[b];
    ranges->least[node] = ranges->least[a] < ranges->least[b] ? ranges->least[a] : ranges->least[b];
}

static void add(struct spill_ranges *ranges, uint32_t node, uint32_t low, uint32_t high,
                uint32_t first, uint32_t end, int64_t delta)
{
    uint32_t middle = low + (high - low) / 2;

    if (first >= high || end <= low)
        return;
    if (first <= low && high <= end) {
        add_node(ranges, node, delta);
        return;
    }
    push(ranges, node);
    add(ranges, 2 * node, low, middle, first, end, delta);
    add(ranges, 2 * node + 1, middle, high, first, end, delta);
    pull(ranges, node);
}

static int64_t find_most(struct spill_ranges *ranges, uint32_t node, uint32_t low, uint32_t high,
                         uint32_t first, uint32_t end)
{
    uint32_t middle = low + (high - low) / 2;
    int64_t left, right;

    if (first >= high || end <= low)
        return SPILL_RANGES_NONE;
    if (first <= low && high <= end)
        return ranges->most[node];
    push(ranges, node);
    left = find_most(ranges, 2 * node, low, middle, first, end);
    right = find_most(ranges, 2 * node + 1, middle, high, first, end);
    return left > right ? left : right;
}

void spill_ranges_add(struct spill_ranges *ranges, uint32_t first, uint32_t count, int64_t delta)
{
    uint64_t end = (uint64_t)first + count;

    if (end > ranges->count) {
        add(ranges, 1, 0, ranges->leaves, 0, (uint32_t)(end - ranges->count), delta);
        end = ranges->count;
    }
    add(ranges, 1, 0, ranges->leaves, first, (uint32_t)end, delta);
}

int64_t spill_ranges_most(struct spill_ranges *ranges, uint32_t first, uint32_t count)
{
    uint64_t end = (uint64_t)first + count;
    int64_t wrapped = SPILL_RANGES_NONE, most;

    if (end > ranges->count) {
        wrapped = find_most(ranges, 1, 0, ranges->leaves, 0, (uint32_t)(end - ranges->count));
        end = ranges->count;
    }
    most = find_most(ranges, 1, 0, ranges->leaves, first, (uint32_t)end);
    return most > wrapped ? most : wrapped;
}

static uint32_t last_above(struct spill_ranges *ranges, uint32_t node, uint32_t low, uint32_t high,
                           uint32_t first, uint32_t end, int64_t limit)
{
    uint32_t middle = low + (high - low) / 2, found;

    if (first >= high || end <= low || ranges->most[node] <= limit)
        return UINT32_MAX;
    if (high - low == 1)
        return low;
    push(ranges, node);
    found = last_above(ranges, 2 * node + 1, middle, high, first, end, limit);
    return found != UINT32_MAX ? found
                               : last_above(ranges, 2 * node, low, middle, first, end, limit);
}

uint32_t spill_ranges_last_above(struct spill_ranges *ranges, uint32_t first, uint32_t end,
                                 int64_t limit)
{
    return last_above(ranges, 1, 0, ranges->leaves, first, end, limit);
}

uint32_t spill_ranges_take_low(struct spill_ranges *ranges)
{
    uint32_t node = 1;

    if (ranges->least[1] > 0)
        return UINT32_MAX;
    while (node < ranges->leaves) {
        push(ranges, node);
        node = 2 * node + (ranges->least[2 * node] <= 0 ? 0 : 1);
    }
    ranges->most[node] = SPILL_RANGES_NONE;
    ranges->least[node] = LARGE;
    ranges->pending[node] = 0;
    for (uint32_t up = node / 2; up > 0; up /= 2)
        pull(ranges, up);
    return node - ranges->leaves;
}
