/* SPDX-License-Identifier: Apache-2.0 */
/* Small changes to a plan, one at a time, kept when they help. */
#ifndef SPILL_POLISH_H
#define SPILL_POLISH_H

#include "preload/base/status.h"
#include "solver/job.h"

/* One round over the pieces of job->best: each comes back an op earlier or later, or does not move
 * at all. */
enum spill_status spill_polish(struct spill_job *job);

#endif
