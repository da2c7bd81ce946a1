/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine behind the hooks: observe -> plan -> guarded -> replay, back to observe at the
 * first difference. One engine for each managed device (engines.h); its context is current whenever
 * one of these functions runs. Shared by engine.c (the program's ops), memory.c (allocations),
 * transitions.c (from state to state), planning.c (traces and plans), planset.c (which plan comes
 * next) and account.c (what the user is told). */
#ifndef SPILL_ENGINE_H
#define SPILL_ENGINE_H

#include "preload/base/sink.h"
#include "profiler/access.h"
#include "profiler/follow.h"
#include "profiler/recorder.h"
#include "replay/account.h"
#include "replay/calibrate.h"
#include "replay/captures.h"
#include "replay/device.h"
#include "replay/feedback.h"
#include "replay/freeorder.h"
#include "replay/freepoints.h"
#include "replay/pager.h"
#include "replay/perform.h"
#include "replay/planner.h"
#include "replay/planset.h"
#include "replay/slab.h"

enum spill_state {
    SPILL_STATE_NEW,      /* no managed allocation yet */
    SPILL_STATE_OBSERVE,  /* pager; recording, unless there is nothing to learn */
    SPILL_STATE_GUARD,    /* pager's copies, the plan's residency */
    SPILL_STATE_REPLAY,   /* events only */
    SPILL_STATE_RESIDENT, /* everything stays where it is: not all that touches it is seen */
    SPILL_STATE_BROKEN,   /* a copy of ours failed: every op fails with that error */
    SPILL_STATE_OFF       /* the device cannot be managed */
};

struct spill_engine {
    const struct spill_config *config;
    const uint64_t *hooked_calls; /* of the program, so far */
    enum spill_state state;
    struct spill_device dev;
    struct spill_slabs slabs;
    struct spill_touches touches;
    struct spill_recorder rec;
    bool recording;
    bool gave_up;           /* no plan is to be had */
    uint64_t paged_at_rest; /* bytes paged out when recording stopped because all fitted */
    bool trace_written;
    /* Profile mode: the iteration that the trace holds, and how the program went on with it. */
    struct spill_iteration watched;
    struct spill_follow follow;
    bool watched_marked; /* the program marked its border */
    struct spill_links links;
    struct spill_planner *planner; /* outlives contexts */
    uint32_t planned_period;       /* of the iteration the planner works on */
    uint64_t planned_sum;          /* spill_border_sum of that iteration */
    uint32_t planned_at;           /* record count at its border */
    uint64_t planned_before_ns;    /* what it took, paging included; 0: not known */
    struct spill_planned plans[SPILL_PLANS];
    struct spill_planned *plan; /* the one in force, or last in force */
    uint64_t uses;              /* times a plan was taken up */
    uint32_t cursor;            /* next event of the plan in force */
    uint32_t ops_done;          /* ops of this iteration so far */
    uint32_t stretch;           /* iterations since the plan was last entered */
    uint32_t short_stretches;   /* in a row */
    uint32_t hold;              /* events during which a plan that was left is not taken up again */
    bool looked_longer;         /* for an iteration made of several of the active plan's */
    uint32_t frees_left;        /* before the last op's deaths and copies in may be done */
    uint32_t open_op;           /* script op between before and after, SPILL_NO_EVENT: none */
    bool booted;                /* at least once */
    bool numbered; /* another device was managed before: this one is told apart in what is said */
    CUresult broken;
    /* The program's unfinished work that it can see in host memory: */
    CUstream to_host_stream; /* NULL: none */
    uint64_t to_host_thread; /* whose stream that is, if it is a per-thread one */
    bool to_host_many;       /* on several streams */
    struct spill_freeorder free_order;
    struct spill_freepoints free_points;
    struct spill_feedback feedback;
    struct spill_account account;
};

/* engine.c */
CUresult spill_engine_before(struct spill_engine *e, struct spill_opcall *op);
void spill_engine_after(struct spill_engine *e, const struct spill_opcall *op, CUresult result);
/* The buffer is brought back and stays: it may be reached without any op of this device naming it.
 * On failure it is not all there, and must not be reached. */
CUresult spill_engine_pin(struct spill_engine *e, uint32_t slot, enum spill_trace_pin reason);
/* MAP, a CUtensorMap, was encoded for the tensor at ADDR. False: it cannot be remembered. */
bool spill_engine_tensor_map(struct spill_engine *e, const void *map, CUdeviceptr addr);
/* E's buffers whose addresses stand in what OP copies to a device, this or another, are pinned. */
void spill_engine_sources(struct spill_engine *e, const struct spill_opcall *op);
void spill_engine_synchronized(struct spill_engine *e, CUstream stream);
void spill_engine_ordered(struct spill_engine *e, enum spill_ordered what, CUevent event,
                          CUstream stream);
/* Waits for what the program can see in host memory, and no more if that can be told apart, or for
 * EVERYTHING. */
CUresult spill_engine_wait_for_host(struct spill_engine *e, bool everything);
/* The buffer, and nothing else, must be there. */
CUresult spill_engine_bring(struct spill_engine *e, uint32_t slot);
void spill_engine_stream_end(struct spill_engine *e, CUstream stream);
/* All of its memory may be reached by DEVICE from now on, by ops that E does not see: it stays. */
CUresult spill_engine_peer(struct spill_engine *e, CUdevice device);
/* The same by what its own device does, without a call. */
CUresult spill_engine_unseen(struct spill_engine *e);

/* What happens now goes into the log. */
static inline bool spill_engine_watching(const struct spill_engine *e)
{
    return e->recording && (e->state == SPILL_STATE_OBSERVE || e->state == SPILL_STATE_RESIDENT);
}

/* The device was waited for. Beside a capture only its ops were, not all that its streams wait for.
 */
static inline void spill_engine_drained(struct spill_engine *e)
{
    if (!spill_captures_any())
        spill_freepoints_drained(&e->free_points);
}

/* memory.c */
/* For use in STREAM from here on, and by what comes after that; NULL: for any use from now on. */
CUresult spill_engine_alloc(struct spill_engine *e, size_t bytes, CUstream stream,
                            CUdeviceptr *addr);
/* Freed at this place of STREAM, which must be of the engine's context; NULL: as cuMemFree does. */
CUresult spill_engine_free(struct spill_engine *e, CUdeviceptr addr, CUstream stream);
void spill_engine_unmanaged(struct spill_engine *e, int64_t bytes);
bool spill_engine_find(const struct spill_engine *e, CUdeviceptr addr, struct spill_found *found);

/* transitions.c */
/* Manages the device of the current context, if it can be; OFF otherwise. */
bool spill_engine_boot(struct spill_engine *e);
/* Its context ends, or is GONE: gives everything back and is NEW again; the account goes on. */
void spill_engine_end(struct spill_engine *e, bool gone);
/* The event that happens now, if the script expects it at the cursor; NULL otherwise. */
const struct spill_iteration_event *spill_engine_expected(const struct spill_engine *e);
/* The script's event at the cursor happened; at its end the border is crossed. */
void spill_engine_advance(struct spill_engine *e);
/* Leaves GUARD or REPLAY for OBSERVE. */
void spill_engine_diverge(struct spill_engine *e, enum spill_reason reason);
/* PLAN comes into force, after CURSOR events of its iteration, OPS of them ops. False: it could
 * not, and the pager goes on. */
bool spill_engine_take_up(struct spill_engine *e, struct spill_planned *plan, uint32_t cursor,
                          uint32_t ops);
/* The same in place of the plan that is in force, at the same place of the iteration. */
bool spill_engine_change(struct spill_engine *e, struct spill_planned *plan);
void spill_engine_start_recording(struct spill_engine *e);
/* What is recorded stays. */
void spill_engine_stop_recording(struct spill_engine *e);
/* For good. WHY is said. */
void spill_engine_become_resident(struct spill_engine *e, const char *why);
void spill_engine_break(struct spill_engine *e, CUresult result);
/* Puts SCRIPT in force at this border; takes it over. */
void spill_engine_adopt(struct spill_engine *e, struct spill_script *script);
/* The same in place of the plan in force, which is dropped. */
void spill_engine_replace(struct spill_engine *e, struct spill_script *script);
/* No plan is to be had: page on. */
void spill_engine_give_up(struct spill_engine *e);

/* planning.c */
/* OBSERVE: an event was recorded; is this an iteration border, and what follows from it? */
void spill_engine_recorded(struct spill_engine *e);
/* The same at a border that the program marks. */
void spill_engine_marked(struct spill_engine *e);
/* Begins to plan IT, which is taken over, within the budgets; RIVAL as in planner.h. */
enum spill_status spill_engine_plan(struct spill_engine *e, struct spill_iteration *it,
                                    const struct spill_script *rival);
/* The planner may have taken an iteration or more: what lives at the border is where it was, but
 * not under the numbers that it had; S gets those of now. False: it is no longer the same. */
bool spill_engine_find_border(const struct spill_engine *e, struct spill_script *s);
/* Writes what was seen so far as a trace, if one is wanted and none was written. */
void spill_engine_write_partial_trace(struct spill_engine *e);

/* account.c */
/* The plan of the script in force is a new one. */
void spill_account_adopted(struct spill_engine *e);
void spill_account_started(const struct spill_engine *e);
void spill_account_border(struct spill_engine *e, CUstream stream);
/* What became of the device, in one line: at exit, or as far as it has come. */
void spill_account_say(const struct spill_engine *e);

#endif
