/* SPDX-License-Identifier: Apache-2.0 */
/* The planning problem: one training iteration that repeats for ever, the buffers it touches, the
 * two links between GPU and host, and the budgets. Pure data; indices instead of pointers between
 * tables.
 *
 * Time is cyclic: op 0 follows op op_count-1. Sizes are bytes, times nanoseconds. Memory is counted
 * in whole pages of page_bytes. */
#ifndef SPILL_PROBLEM_H
#define SPILL_PROBLEM_H

#include <stdint.h>

#include "preload/base/accessmode.h"

struct spill_access {
    uint32_t buffer;
    uint32_t mode; /* enum spill_access_mode */
};

struct spill_op {
    uint64_t duration_ns;
    uint32_t access_first; /* this op's accesses are [access_first, access_first + access_count) */
    uint32_t access_count; /* each buffer at most once an op */
};

enum spill_life {
    SPILL_LIFE_PERSISTENT, /* its contents live for ever: weights, optimizer state, inputs */
    SPILL_LIFE_ITERATION   /* born at birth_op with undefined contents, dead after death_op */
};

struct spill_buffer {
    uint64_t bytes;
    uint32_t life; /* enum spill_life */
    uint32_t
        birth_op; /* ITERATION: its first and its last op in cyclic order; death_op < birth_op */
    uint32_t death_op; /* when its life crosses the iteration border. Ignored for PERSISTENT. */
    uint32_t pinned;   /* non-zero: never moved, all its pages resident all the time */
};

struct spill_link {
    uint64_t latency_ns;  /* fixed cost of one copy */
    uint64_t bytes_per_s; /* > 0 */
};

/* How long one copy of BYTES takes on LINK when the other link is idle; 2^56 at most, which leaves
 * room for sums. */
uint64_t spill_link_ns(const struct spill_link *link, uint64_t bytes);

struct spill_problem {
    const struct spill_op *ops;
    const struct spill_access *accesses;
    const struct spill_buffer *buffers;
    uint32_t op_count;
    uint32_t access_count;
    uint32_t buffer_count;
    struct spill_link out; /* device to host */
    struct spill_link in;  /* host to device */
    uint32_t
        duplex_permille; /* rate each link keeps while both are busy: 1000 = full, 500 = half */
    uint64_t page_bytes;
    uint64_t gpu_budget; /* bytes for the pages of all buffers here */
    uint64_t
        host_budget; /* bytes of pinned host memory for pages that are out; UINT64_MAX = no limit */
};

#endif
