/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that the program captures into graphs. Meanwhile nothing of ours may be put into them,
 * and the device may not be waited for. */
#ifndef SPILL_CAPTURES_H
#define SPILL_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/base/cuapi.h"

#define SPILL_CAPTURES 8

struct spill_captures {
    CUstream streams[SPILL_CAPTURES];
    uint32_t count;
};

/* After a call that may have begun a capture of STREAM: did it? *FULL: and there is no room to
 * remember it, so that its end will not be known. */
bool spill_captures_begun(struct spill_captures *captures, CUstream stream, bool *full);
/* Is any stream being captured? */
bool spill_captures_open(struct spill_captures *captures);
/* STREAM goes away. */
void spill_captures_end(struct spill_captures *captures, CUstream stream);

#endif
