/* SPDX-License-Identifier: Apache-2.0 */
/* The planning methods of other systems, by name, to compare ours with. What a system does at run
 * time or on its own kind of graph is restated here on a trace: which gaps it moves and when it
 * calls pages back. All of them are then scheduled, given frames and simulated by the same code as
 * ours. Where a system would fail to fit the budget, so does its method. */
#ifndef SPILL_METHODS_H
#define SPILL_METHODS_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/arena.h"
#include "solver/draft.h"
#include "solver/prep.h"

struct spill_method {
    const char *name;
    const char *source; /* where it is described, and what is different here */
    enum spill_recall recall;
    /* Sets AMOUNT (gap_count entries, zero at first) for a budget of BUDGET pages at every op, of
     * which PARKED pages of idle buffers have already been taken off. SPILL_ERR_INFEASIBLE: does
     * not fit. */
    enum spill_status (*choose)(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                uint32_t *amount, struct spill_arena *arena);
};

/* The method of that name, NULL when there is none. "ours" is not in the table. */
const struct spill_method *spill_method_find(const char *name);
/* The i-th method; NULL after the last. */
const struct spill_method *spill_method_at(uint32_t index);

/* Pages over the budget at each op for AMOUNT; negative where there is room. NULL: out of memory.
 */
int64_t *spill_method_excess(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                             const uint32_t *amount, struct spill_arena *arena);

enum spill_status spill_choose_nothing(const struct spill_prep *prep, uint32_t budget,
                                       uint32_t parked, uint32_t *amount,
                                       struct spill_arena *arena);
enum spill_status spill_choose_vdnn_all(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena);
enum spill_status spill_choose_vdnn_conv(const struct spill_prep *prep, uint32_t budget,
                                         uint32_t parked, uint32_t *amount,
                                         struct spill_arena *arena);
enum spill_status spill_choose_vdnn_dyn(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena);
enum spill_status spill_choose_meng(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_tflms(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_doa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_aoa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_wdoa(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_vote(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                    uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_capuchin(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena);
enum spill_status spill_choose_g10(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_lru(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                   uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_superneurons(const struct spill_prep *prep, uint32_t budget,
                                            uint32_t parked, uint32_t *amount,
                                            struct spill_arena *arena);
enum spill_status spill_choose_belady(const struct spill_prep *prep, uint32_t budget,
                                      uint32_t parked, uint32_t *amount, struct spill_arena *arena);
enum spill_status spill_choose_fluid(const struct spill_prep *prep, uint32_t budget,
                                     uint32_t parked, uint32_t *amount, struct spill_arena *arena);

#endif
