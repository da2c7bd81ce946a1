/* SPDX-License-Identifier: Apache-2.0 */
/* Long work says how far it is: a line that comes after a second and goes in the end, for people at
 * a terminal only. */
#ifndef SPILL_PROGRESS_H
#define SPILL_PROGRESS_H

#include <stdint.h>
#include <time.h>

struct spill_progress {
    const char *what; /* "plans" */
    time_t since;
    uint32_t done, of;
};

struct spill_progress spill_progress_begin(const char *what, uint32_t of);
/* One more is done. */
void spill_progress_step(struct spill_progress *progress);
/* Takes the line away, however far the work came. */
void spill_progress_end(struct spill_progress *progress);

#endif
