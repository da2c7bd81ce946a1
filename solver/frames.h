/* SPDX-License-Identifier: Apache-2.0 */
/* The frame behind every page: a colouring of the pages whose stays overlap. */
#ifndef SPILL_FRAMES_H
#define SPILL_FRAMES_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/plan.h"
#include "solver/prep.h"
#include "solver/simulate.h"

/* Gives every page of PLAN that is ever resident a frame below LIMIT in plan->frame_of (PLAN has
 * moves and parks), and sets plan->frame_count. UNPLACED: pages that found none, in the best of
 * several attempts; unless it is 0, plan->frame_of is incomplete. LATE: pages that come back need
 * their frame only from use_op on; in_op is then to be chosen for the frames (spill_dispatch).
 * WHEN, if not NULL, is the expected timing: frames are then chosen so that no stay waits for a
 * copy out, where that can be had, and of those that are left so that they are free MARGIN_NS
 * before their next use. */
enum spill_status spill_frames_assign(const struct spill_prep *prep, struct spill_plan *plan,
                                      uint32_t limit, bool late, const struct spill_timeline *when,
                                      uint64_t step_ns, uint64_t margin_ns, uint32_t *unplaced);

#endif
