/* SPDX-License-Identifier: Apache-2.0 */
/* A plan made executable: for each event of the iteration what to expect, and for each op what to
 * wait for before it and what to enqueue after it. Built once (on the planner's thread), then only
 * read. */
#ifndef SPILL_SCRIPT_H
#define SPILL_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "preload/base/status.h"
#include "profiler/iteration.h"
#include "replay/steptime.h"
#include "solver/plan.h"
#include "solver/problem.h"
#include "solver/solve.h"

#define SPILL_NO_EVENT UINT32_MAX

/* A slice of one of the script's lists. */
struct spill_slice {
    uint32_t first;
    uint32_t count;
};

struct spill_script_op {
    /* what must come */
    CUfunction function;
    CUstream stream;
    uint64_t bytes;
    uint32_t kind; /* enum spill_opkind */
    uint32_t grid[3];
    uint32_t block[3];
    struct spill_slice touches; /* in touches: plan buffer numbers in order of discovery */
    /* what to do */
    struct spill_slice waits; /* in waits: events, before the op */
    uint32_t event;           /* to record after it, SPILL_NO_EVENT: none */
    struct spill_slice outs;  /* moves by number: plan->moves is sorted by out_op */
    struct spill_slice ins;   /* in plan->in_order */
    uint32_t
        frees; /* buffers held by it: its deaths and copies in come after the last one's free */
    struct spill_slice births,
        deaths; /* in lives: buffers whose memory begins before, ends after */
};

struct spill_script_move {
    uint32_t first_page; /* of the span; 0 until the script is placed */
    uint32_t page_count;
    uint32_t host_slot;     /* page of the slab where its pages wait, one after another */
    uint64_t bytes;         /* of one copy; the last page is cut to the buffer's length */
    uint64_t device_offset; /* of the copy from the buffer's start */
    struct spill_slice out_waits, in_waits;
    uint32_t out_event, in_event;
};

enum spill_border_place { SPILL_BORDER_DEAD, SPILL_BORDER_DEVICE, SPILL_BORDER_HOST };

struct spill_script_buffer {
    uint64_t addr; /* fixed address; 0 until placed */
    uint64_t bytes;
    uint32_t first_page; /* of the span */
    uint32_t page_count;
    uint32_t live_slot; /* at the border at which it is adopted, or SPILL_NO_BUFFER */
    uint32_t held_by;   /* op after which nothing takes its memory before it is freed, too; else
                           SPILL_NO_EVENT */
    bool at_border;     /* lives at the border */
    bool leaves;        /* some of its pages are on the host at some time */
    bool shared;        /* first_page is that of another plan's buffer, before it is placed */
};

struct spill_script {
    struct spill_iteration it;
    struct spill_plan *plan;
    struct spill_script_op *ops;
    struct spill_script_move *moves;
    struct spill_script_buffer *buffers;
    uint8_t *border_place; /* by page number: enum spill_border_place */
    uint32_t *border_slot; /* by page number: where it is in the slab, if it is on the host */
    uint32_t *park_slots;  /* by park: the same for its first page */
    uint32_t *touches;
    uint32_t *waits;
    uint32_t *lives;
    uint32_t op_count, move_count, buffer_count;
    uint32_t wait_count;
    uint32_t event_count;
    uint32_t border_buffers; /* buffers that live at the border */
    uint64_t slab_bytes;
    struct spill_steptime predicted;
};

/* Takes IT and PLAN over. On failure *SCRIPT is NULL, PLAN is freed and IT is left to the caller:
 * its tables belong to the program thread's heap. SPILL_ERR_INFEASIBLE: the moves' places in host
 * memory do not pack into the host budget, though their pages would. */
enum spill_status spill_script_build(struct spill_iteration *it,
                                     const struct spill_problem *problem, struct spill_plan *plan,
                                     struct spill_script **script);
void spill_script_free(struct spill_script *script);

/* COUNT pages of BUFFER from FIRST on change their place; SLOT is the first one's in the slab, if
 * that is the host. */
typedef void spill_script_placed(void *arg, uint32_t buffer, uint32_t first, uint32_t count,
                                 enum spill_border_place place, uint32_t slot);

/* Calls PLACED for every change of place that the first OPS ops bring, in host order: births before
 * an op; deaths, copies out, copies in after it. HELD: the last one's deaths and copies in are
 * still to come. */
void spill_script_walk(const struct spill_script *script, uint32_t ops, bool held,
                       spill_script_placed *placed, void *arg);

/* Places in host memory, internal to the build: fills the host slots and slab_bytes (hostslots.c).
 */
enum spill_status spill_hostslots_build(struct spill_script *script);

/* The waits, internal to the build: fills the waits slices and the events (waits.c). */
enum spill_status spill_waits_build(struct spill_script *script,
                                    const struct spill_problem *problem);

#endif
