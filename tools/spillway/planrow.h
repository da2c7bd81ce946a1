/* SPDX-License-Identifier: Apache-2.0 */
/* What the solver says about a trace for one budget and one method, as numbers to be printed. */
#ifndef SPILL_PLANROW_H
#define SPILL_PLANROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "preload/base/status.h"
#include "preload/base/trace.h"
#include "solver/plan.h"
#include "solver/problem.h"

struct spill_planrow {
    const char *method;
    uint64_t gpu_bytes;   /* the budget, memory for small buffers included; so are the peak and */
    uint64_t frame_bytes; /* the memory that the plan lays out */
    uint64_t peak_bytes;
    uint64_t step_ns, ideal_ns, bound_ns;
    uint64_t stall_in_ns, stall_memory_ns;
    uint64_t out_bytes, in_bytes, out_busy_ns, in_busy_ns;
    uint64_t host_bytes;
    uint32_t moves, moved_buffers, parks;
    bool fits; /* otherwise all but method and gpu_bytes are 0 */
};

/* The smallest GPU budget with a plan, and the op that sets it. */
struct spill_planleast {
    uint64_t gpu_bytes; /* UINT64_MAX: there is none */
    uint32_t op;
};

/* Solves TRACE within GPU_BYTES and HOST_BYTES by METHOD and fills ROW. SPILL_OK also when nothing
 * fits; otherwise one line was printed. */
enum spill_status spill_planrow_solve(const struct spill_trace *trace, uint64_t gpu_bytes,
                                      uint64_t host_bytes, const char *method,
                                      struct spill_planrow *row);

/* What ROW was made of. */
struct spill_keptplan {
    struct spill_problem problem;
    struct spill_plan *plan; /* NULL: none fits */
    uint64_t *op_start;      /* of each op, in one iteration under the plan */
};

/* The same, and keeps the plan in PLANNED: release it by spill_planrow_release, whatever the
 * status. */
enum spill_status spill_planrow_keep(const struct spill_trace *trace, uint64_t gpu_bytes,
                                     uint64_t host_bytes, const char *method,
                                     struct spill_planrow *row, struct spill_keptplan *planned);
void spill_planrow_release(struct spill_keptplan *planned);

/* By our own method for up to SECONDS, first plan and bound not counted: the result depends on the
 * machine. */
enum spill_status spill_planrow_improve(const struct spill_trace *trace, uint64_t gpu_bytes,
                                        uint64_t host_bytes, double seconds,
                                        struct spill_planrow *row);

enum spill_status spill_planrow_least(const struct spill_trace *trace, uint64_t host_bytes,
                                      struct spill_planleast *least);

/* The GPU budget to plan for where none is asked: what the program had when it was profiled. */
static inline uint64_t spill_planrow_budget(const struct spill_trace *trace)
{
    return trace->gpu_budget != 0 ? trace->gpu_budget : trace->gpu_bytes;
}

/* A GPU budget beyond which nothing has to be moved. */
uint64_t spill_planrow_most(const struct spill_trace *trace);

bool spill_planrow_csv(const struct spill_planrow *rows, uint32_t count, FILE *out);
bool spill_planrow_table(const struct spill_planrow *rows, uint32_t count, FILE *out);
struct spill_json;
/* One row as an object; KEY as spill_json_open takes it. */
void spill_planrow_json_row(struct spill_json *json, const char *key,
                            const struct spill_planrow *row);
bool spill_planrow_json(const struct spill_trace *trace, const struct spill_planrow *rows,
                        uint32_t count, const struct spill_planleast *least, FILE *out);
/* ROWS by rising budget: step time over GPU memory. */
bool spill_planrow_svg(const struct spill_planrow *rows, uint32_t count, FILE *out);

#endif
