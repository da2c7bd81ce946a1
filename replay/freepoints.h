/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that was freed in the order of a stream (cuMemFreeAsync). Its users lie before that place
 * of the stream, its free point, which the device may reach long after the host has. Whoever is
 * given the memory next comes after the free point, by an event: the host never waits for it. */
#ifndef SPILL_FREEPOINTS_H
#define SPILL_FREEPOINTS_H

#include <stdint.h>

#include "preload/base/driver.h"

#define SPILL_FREEPOINTS 16 /* streams that are told apart; further ones share */

struct spill_freepoints {
    struct spill_freepoint {
        CUstream stream;                 /* NULL: none yet, or it went away */
        CUevent event;                   /* recorded at its last free point */
        uint64_t number;                 /* of that one; 0: none yet */
        uint64_t seen[SPILL_FREEPOINTS]; /* what it is given now comes after these of the others */
    } list[SPILL_FREEPOINTS];
    uint64_t number; /* of the last free point there was */
    uint64_t over;   /* the device has passed those up to this one */
};

/* What is left on freed memory, for whoever gets it; 0: there is nobody to wait for. */
typedef uint64_t spill_freemark;

/* The last of each stream's free points among some freed memory. Starts as zeros. */
struct spill_freemarks {
    uint64_t number[SPILL_FREEPOINTS];
};

static inline void spill_freepoints_gather(struct spill_freemarks *marks, spill_freemark mark)
{
    if (marks->number[mark % SPILL_FREEPOINTS] < mark / SPILL_FREEPOINTS)
        marks->number[mark % SPILL_FREEPOINTS] = mark / SPILL_FREEPOINTS;
}

/* STREAM frees memory here, and *MARK is to be left on it. STREAM must not be captured, and its
 * context be the current one. On failure nothing may be freed. */
CUresult spill_freepoints_add(struct spill_freepoints *f, CUstream stream, spill_freemark *mark);
/* Memory with MARKS is given out, to whatever is put into STREAM from now on. */
CUresult spill_freepoints_follow(struct spill_freepoints *f, const struct spill_freemarks *marks,
                                 CUstream stream);
/* The same for whoever asks first, on any stream: HOLD is called for each event that must have
 * passed. */
CUresult spill_freepoints_pass(const struct spill_freepoints *f,
                               const struct spill_freemarks *marks,
                               CUresult (*hold)(void *arg, CUevent event), void *arg);
/* The device was waited for. */
void spill_freepoints_drained(struct spill_freepoints *f);
/* STREAM goes away; what was put into it goes on. */
void spill_freepoints_end(struct spill_freepoints *f, CUstream stream);

#endif
