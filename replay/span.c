/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/span.h"

#include <string.h>

#include "preload/base/heap.h"

enum spill_status spill_span_boot(struct spill_span *ranges, uint32_t pages)
{
    memset(ranges, 0, sizeof(*ranges));
    return spill_span_give(ranges, 0, pages);
}

void spill_span_end(struct spill_span *ranges)
{
    spill_heap_free(ranges->free, ranges->cap * sizeof(*ranges->free));
    memset(ranges, 0, sizeof(*ranges));
}

uint32_t spill_span_take(struct spill_span *ranges, uint32_t count)
{
    for (uint32_t i = 0; i < ranges->free_count; i++) {
        struct spill_range *range = &ranges->free[i];
        if (range->count < count)
            continue;
        uint32_t first = range->first;
        range->first += count;
        range->count -= count;
        if (range->count == 0) {
            ranges->free_count--;
            memmove(range, range + 1, (ranges->free_count - i) * sizeof(*range));
        }
        return first;
    }
    return SPILL_NO_PAGE;
}

enum spill_status spill_span_give(struct spill_span *ranges, uint32_t first, uint32_t count)
{
    uint32_t i = 0;
    while (i < ranges->free_count && ranges->free[i].first < first)
        i++;
    struct spill_range *left = i > 0 ? &ranges->free[i - 1] : NULL;
    struct spill_range *right = i < ranges->free_count ? &ranges->free[i] : NULL;
    if (left != NULL && left->first + left->count == first) {
        left->count += count;
        if (right != NULL && left->first + left->count == right->first) {
            left->count += right->count;
            ranges->free_count--;
            memmove(right, right + 1, (ranges->free_count - i) * sizeof(*right));
        }
        return SPILL_OK;
    }
    if (right != NULL && first + count == right->first) {
        right->first = first;
        right->count += count;
        return SPILL_OK;
    }
    if (SPILL_HEAP_GROW(ranges->free, ranges->cap, (size_t)ranges->free_count + 1) != 0)
        return SPILL_ERR_NOMEM;
    memmove(&ranges->free[i + 1], &ranges->free[i],
            (ranges->free_count - i) * sizeof(*ranges->free));
    ranges->free[i] = (struct spill_range){first, count};
    ranges->free_count++;
    return SPILL_OK;
}
