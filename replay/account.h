/* SPDX-License-Identifier: Apache-2.0 */
/* What happened so far on one device, in numbers: for the lines that the user reads (account.c) and
 * for the statistics file (stats.c). Bytes and nanoseconds. */
#ifndef SPILL_ACCOUNT_H
#define SPILL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

enum spill_reason {
    SPILL_REASON_OTHER_OP, /* another op, or with other buffers, than planned */
    SPILL_REASON_OTHER_ALLOC,
    SPILL_REASON_NEW_PIN,   /* a buffer's address was stored in device memory */
    SPILL_REASON_MEMORY,    /* frames were needed for something else */
    SPILL_REASON_FAILED_OP, /* the program's op itself failed */
    SPILL_REASON_COUNT
};

/* Why the host was held, by its clock. Replayed iterations never hold it: what they wait, they wait
 * on the device, and it shows in the step time. */
enum spill_stall {
    SPILL_STALL_PAGING,    /* an op's buffers were brought in on demand */
    SPILL_STALL_PLANNING,  /* a plan was waited for at a border */
    SPILL_STALL_GUARDING,  /* moves of guarded iterations */
    SPILL_STALL_SWITCHING, /* a plan was put in force or left */
    SPILL_STALL_COUNT
};

/* One plan that was put in force. */
struct spill_planstat {
    /* predicted */
    uint64_t compute_ns, step_ns, bound_ns;
    uint64_t wait_in_ns, wait_memory_ns; /* of an iteration, on the device */
    uint64_t peak_bytes, host_bytes;
    uint64_t out_bytes, in_bytes; /* of an iteration */
    uint32_t op_count, move_count;
    /* measured */
    uint64_t before_ns;         /* an iteration before it, with paging; 0: not known */
    uint64_t guarded, replayed; /* iterations */
    uint64_t step_ns_sum, steps_timed;
    /* by feedback */
    uint64_t expected_ns; /* a step, by what was measured; 0: as predicted */
    uint64_t sampled_wait_in_ns, sampled_wait_memory_ns;
};

/* Times that */
struct spill_feedbackstat {
    uint64_t sampled;     /* iterations were sampled, since steps took longer than predicted; */
    uint64_t unexplained; /* these were as planned; */
    uint64_t planned;     /* else a plan was made anew, */
    uint64_t adopted;     /* and put in force */
};

#define SPILL_PLANSTATS 16 /* of the last plans */

struct spill_account {
    struct spill_planstat plans[SPILL_PLANSTATS]; /* plan N at N % SPILL_PLANSTATS */
    uint32_t plan_count;                          /* put in force, a replaced one included */
    uint32_t plan_now;                            /* number of the one in force, or last in force */
    uint64_t fallbacks[SPILL_REASON_COUNT];
    uint64_t changes; /* from one plan to another, without a fallback */
    uint64_t stall_ns[SPILL_STALL_COUNT];
    uint64_t ops_planned;             /* came as planned, guarded iterations included */
    uint64_t ops_resident, ops_paged; /* other ops: their buffers were there; were brought in */
    struct spill_feedbackstat feedback;
    uint64_t last_step_ns; /* the last step that was timed, 0: none since it was asked for */
    CUevent border_events[3];
    uint64_t borders; /* events recorded */
    bool border_events_made;
    bool started_said;
};

uint64_t spill_account_clock(void);

/* The host was held since START, a reading of the clock. */
static inline void spill_account_held(struct spill_account *account, enum spill_stall cause,
                                      uint64_t start)
{
    account->stall_ns[cause] += spill_account_clock() - start;
}

static inline struct spill_planstat *spill_account_plan(struct spill_account *account)
{
    return &account->plans[account->plan_now % SPILL_PLANSTATS];
}

#endif
