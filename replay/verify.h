/* SPDX-License-Identifier: Apache-2.0 */
/* SPILLWAY_VERIFY: a checksum of every replayed move, taken of the host copy when it has gone out
 * and compared with what is on the device when it has come back. Costs a second copy a move and
 * time of the host; for doubt, not for use. */
#ifndef SPILL_VERIFY_H
#define SPILL_VERIFY_H

#include <stdint.h>

#include "replay/device.h"
#include "replay/script.h"

struct spill_verify_job {
    const char *home; /* of the move in the slab */
    char *scratch;    /* what came back */
    uint64_t bytes;
    uint64_t sum;
    uint32_t known; /* sum was taken */
};

struct spill_verify {
    struct spill_verify_job *jobs; /* one a move; NULL: not verifying */
    uint32_t job_count;
};

/* What was compared and found different since the start, over all plans. */
struct spill_verify_tally {
    uint64_t compared;
    uint64_t different;
};
extern struct spill_verify_tally spill_verify_tally;

/* Bytes that the largest of SCRIPT's moves takes on the host: verifying needs that much more. */
uint64_t spill_verify_scratch(const struct spill_script *script);

/* SLAB holds SCRIPT's moves, in pages of PAGE_BYTES, and the scratch memory after them. */
enum spill_status spill_verify_boot(struct spill_verify *verify, const struct spill_script *script,
                                    char *slab, size_t page_bytes);
void spill_verify_drop(struct spill_verify *verify);

/* To be called right after move M's copy was enqueued. */
CUresult spill_verify_out(const struct spill_verify *verify, struct spill_device *dev, uint32_t m);
CUresult spill_verify_in(const struct spill_verify *verify, struct spill_device *dev,
                         const struct spill_script_move *move, uint32_t m);

#endif
