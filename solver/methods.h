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

/* Sets AMOUNT (gap_count entries, zero at first) for a budget of BUDGET pages at every op, of which
 * PARKED pages of idle buffers have already been taken off. SPILL_ERR_INFEASIBLE: does not fit. */
typedef enum spill_status spill_chooser(const struct spill_prep *prep, uint32_t budget,
                                        uint32_t parked, uint32_t *amount,
                                        struct spill_arena *arena);

struct spill_method {
    const char *name;
    const char *source; /* where it is described, and what is different here */
    enum spill_recall recall;
    spill_chooser *choose;
};

/* The method of that name, NULL when there is none. "ours" and "exact" are not in the table. */
const struct spill_method *spill_method_find(const char *name);
/* The i-th method; NULL after the last. */
const struct spill_method *spill_method_at(uint32_t index);

/* By the shape of the network: methods.c. */
spill_chooser spill_choose_nothing, spill_choose_vdnn_all, spill_choose_vdnn_conv,
    spill_choose_vdnn_dyn, spill_choose_meng, spill_choose_tflms;
/* By a score of each gap: methods_autoswap.c, methods_score.c. */
spill_chooser spill_choose_doa, spill_choose_aoa, spill_choose_wdoa, spill_choose_swdoa,
    spill_choose_vote, spill_choose_capuchin, spill_choose_g10;
/* By paging: methods_paging.c. */
spill_chooser spill_choose_lru, spill_choose_superneurons, spill_choose_belady;

/* The two heuristics of Beaumont, Eyraud-Dubois and Shilova, and the relaxation under the first.
 * The text of the paper was not to be had; both are reconstructed from its abstract and from the
 * code of its successor POFO (NeurIPS 2021), as follows.
 *   Relaxed is that memory leaves and comes continuously, while a copy runs, and in any part.
 *   FLUID: activations leave in the order in which they fall idle, longest idle first, and of each
 *   as much as the op that lacks most needs; other buffers only after all of them.
 *   GREEDY: the same of activations alone, then rounded to whole ones: those that leave to the
 *   largest part are taken in full, one by one, until everything fits.
 *   DP: stages i = 1 .. L of the chain with F_i and its mirror image B_i are passed in pairs. The
 *   state is what stays (A), what has left but is still on its way out (df), and what must be under
 *   way back (db), each in 50 slots of the budget; in each stage the activations it leaves idle
 *   either stay or go, whole. Where A + df does not leave the room that F_i needs, it waits for the
 *   drain (and so B_i for db); df is drained by what the link carries during F_i, db during B_i;
 *   what is left of both at the turning point is waited for. Least waiting wins. POFO's
 *   recomputation is left out. Of an op sequence that is no chain, one is made: 64 stages at most
 * of about equal size, each with the ops up to the last that leaves an activation idle, and
 *   mirrored, those from the first that needs one of its own. */
spill_chooser spill_choose_fluid, spill_choose_greedy, spill_choose_dp;

#endif
