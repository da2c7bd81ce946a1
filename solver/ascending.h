/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_ASCENDING_H
#define SPILL_ASCENDING_H

#include <stdint.h>
#include <stdlib.h>

static inline int spill_ascending_compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return a < b ? -1 : a > b;
}

/* Sorts numbers, the least first. */
static inline void spill_ascending_sort(uint32_t *list, size_t count)
{
    qsort(list, count, sizeof(*list), spill_ascending_compare);
}

#endif
