/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges of the span, in pages. Always the lowest range that fits, so that the addresses
 * handed out depend only on what is live: an iteration that repeats gets the same addresses. */
#ifndef SPILL_SPAN_H
#define SPILL_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "preload/base/status.h"

struct spill_range {
    uint32_t first;
    uint32_t count;
};

struct spill_span {
    struct spill_range *free; /* sorted, never adjacent */
    size_t cap;
    uint32_t free_count;
};

#define SPILL_NO_PAGE UINT32_MAX

enum spill_status spill_span_boot(struct spill_span *ranges, uint32_t pages);
void spill_span_end(struct spill_span *ranges);
/* First page of a range of COUNT pages, SPILL_NO_PAGE when the span is full. */
uint32_t spill_span_take(struct spill_span *ranges, uint32_t count);
enum spill_status spill_span_give(struct spill_span *ranges, uint32_t first, uint32_t count);

#endif
