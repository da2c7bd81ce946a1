/* SPDX-License-Identifier: Apache-2.0 */
/* Event pairs around ops, and the times of the log's records that they give. */
#ifndef SPILL_TIMERS_H
#define SPILL_TIMERS_H

#include "profiler/recorder.h"

/* More ops than a driver queues, so that the oldest pair can be read without a wait. */
#define SPILL_TIMERS_MAX ((uint32_t)1 << 12)

/* A free pair; once there are MOST, the oldest one, which is read first. SPILL_NO_TIMER: none can
 * be had. */
uint32_t spill_timers_take(struct spill_recorder *rec, uint32_t most);

/* Nanoseconds from event FROM to event TO. False: they are not over, or not recorded. */
bool spill_timers_between(CUevent from, CUevent to, int64_t *ns);

/* Orders LIST by the records' ends and fills their durations. Where ops of several streams overlap,
 * the time counts for the one that ends first, and only what it takes longer for the other:
 * durations add up to the time in which any op was under way. */
void spill_timers_share(struct spill_logrec **list, size_t count);

/* Waits for the ops of the records [first, last) and reads their times, shared out like that. */
enum spill_status spill_timers_harvest(struct spill_recorder *rec, uint32_t first, uint32_t last);

/* Time on the device from the end of the last op that is PERIOD records old to the end of the last
 * op, once harvested; 0: it was not taken. */
uint64_t spill_timers_elapsed(const struct spill_recorder *rec, uint32_t period);

#endif
