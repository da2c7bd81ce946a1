/* SPDX-License-Identifier: Apache-2.0 */
/* The optimum, for problems of a handful of pages: branch and bound over every plan that the
 * checker accepts. That is: which runs of pages leave in which gap, the op after which each is
 * called back, the order of copies on either link, and the frame of every page. What is least is
 * the step time of the steady state as the simulator has it.
 *
 * Cut off is only what cannot be better: a choice whose copies alone keep a link busy for longer,
 * or whose pages do not fit at some op even if all that is still open leaves; and, while both links
 * keep their full rate, an order of copies that is no faster with frames of its own for every page
 * (the timing is max-plus linear then, so a wait more never makes a step shorter). */
#ifndef SPILL_EXACT_H
#define SPILL_EXACT_H

#include "preload/base/status.h"
#include "solver/job.h"

#define SPILL_EXACT_OPS   64      /* most ops, */
#define SPILL_EXACT_PAGES 16      /* pages in all, */
#define SPILL_EXACT_MOVES 20      /* pages that have a gap, counted once a gap */
#define SPILL_EXACT_WORK  1000000 /* and timings looked at: seconds */

/* Timings that the default method looks at after its own search. Studies set it to 0. */
#ifndef SPILL_EXACT_UNASKED
#define SPILL_EXACT_UNASKED 30000
#endif

/* Leaves the best plan in job->best and its step time in job->relax.bound_ns; job->found says
 * whether there is one. SPILL_ERR_UNSUPPORTED: the problem is too large. */
enum spill_status spill_exact_search(struct spill_job *job);

/* Looks for a better plan than job->best, if there is one yet, for as long as SPILL_EXACT_UNASKED
 * allows; a search that comes to its end raises the bound. Does nothing if the problem is too
 * large.
 */
enum spill_status spill_exact_improve(struct spill_job *job);

#endif
