/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: which pages leave, after which op, and when they come back; and the frame behind every
 * page.
 *
 * HOST ORDER is what makes a plan executable without stalls of the host and without deadlock. The
 * launching thread walks the ops; right after it has launched op k it enqueues, in this order, (1)
 * the copies out with out_op == k, (2) the copies in with in_op == k, each group in the order of
 * the array. Every wait that a copy or an op needs is on an event recorded earlier in that walk.
 *
 * A page's STAY is a cyclic range of ops [first, last] during which it owns its frame:
 *   - it starts at the birth op of an ITERATION buffer, or at in_op + 1 of the move that brings it
 * back;
 *   - it ends with the death op, or with out_op of the move that takes it away;
 *   - a PERSISTENT page that no move touches stays for ever.
 * So a moved page is absent during the ops out_op+1 .. in_op (cyclic), and out_op is the last op
 * that touches the buffer before use_op. RESIDENCY RULE: at every op the stays that contain it need
 * at most gpu_budget bytes. It needs no clock, and a plan that keeps it cannot run out of memory or
 * deadlock whatever the real durations are; durations only decide how long ops and copies wait. */
#ifndef SPILL_PLAN_H
#define SPILL_PLAN_H

#include <stdint.h>

#define SPILL_NO_FRAME UINT32_MAX

struct spill_move {
    uint32_t buffer;
    uint32_t page_first; /* pages [page_first, page_first + page_count) of the buffer */
    uint32_t page_count;
    uint32_t out_op; /* the copy out starts when out_op and every earlier toucher have ended */
    uint32_t in_op;  /* the copy in is enqueued after op in_op was launched */
    uint32_t use_op; /* the next op that touches the buffer; waits for the copy in */
    uint64_t
        out_start_ns;    /* predicted, from the start of the iteration that launches out_op; the */
    uint64_t out_end_ns; /* copy in may lie in the next iteration: its times then exceed step_ns */
    uint64_t in_start_ns;
    uint64_t in_end_ns;
};

/* Pages of PERSISTENT buffers that the iteration never touches, kept on the host all the time. */
struct spill_park {
    uint32_t buffer;
    uint32_t page_first;
    uint32_t page_count;
};

struct spill_plan {
    struct spill_move *moves; /* sorted by (out_op, position on the out link) */
    struct spill_park *parks;
    uint32_t *in_order; /* move indices, sorted by (in_op, position on the in link) */
    uint32_t
        *page_base; /* page p of buffer b is number page_base[b] + p; buffer_count + 1 entries */
    uint32_t *frame_of; /* frame of each page number, SPILL_NO_FRAME when it never needs one */
    uint32_t move_count;
    uint32_t park_count;
    uint32_t page_total;
    uint32_t
        frame_count;     /* frames the assignment uses: >= peak_pages, <= gpu_budget / page_bytes */
    uint32_t peak_pages; /* most pages that stays hold at one op */
    uint64_t step_ns;    /* predicted steady-state iteration time, by the simulator */
    uint64_t compute_ns; /* sum of op durations: the time with unlimited memory */
    uint64_t bound_ns;   /* no plan for this budget can be faster than this (>= compute_ns) */
    uint64_t out_bytes;  /* moved each way per iteration */
    uint64_t in_bytes;
    uint64_t host_bytes; /* pinned host memory needed, parked pages included */
};

#endif
