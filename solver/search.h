/* SPDX-License-Identifier: Apache-2.0 */
/* The default method: which drafts to make, in which order, and when to stop. */
#ifndef SPILL_SEARCH_H
#define SPILL_SEARCH_H

#include <stdint.h>

#include "preload/base/status.h"
#include "solver/job.h"

/* Leaves the best plan found in job->best; job->found says whether there is one. With job->ours,
 * EFFORT rounds of improvement follow the first plan. */
enum spill_status spill_search(struct spill_job *job, uint32_t effort);

#endif
