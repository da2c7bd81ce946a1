/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory held over the time of one iteration, by class of buffer. */
#ifndef SPILL_HOLDING_H
#define SPILL_HOLDING_H

#include "tools/spillway/bufclass.h"
#include "tools/spillway/facts.h"
#include "tools/spillway/planrow.h"

/* More points than a screen has columns say nothing more. */
enum { SPILL_HOLDING_POINTS = 2000 };

struct spill_holding_point {
    uint64_t ns;                          /* from here on ... */
    uint32_t op;                          /* ... while this op runs or is waited for ... */
    uint64_t bytes[SPILL_BUFCLASS_COUNT]; /* ... this is held, in whole pages */
};

struct spill_holding {
    struct spill_holding_point *points; /* rising; the first is at 0 */
    uint32_t count;
    bool decimated; /* each point is the highest that begins in its 2000th of the iteration */
    uint64_t length_ns;
    uint64_t peak_bytes, peak_ns; /* never of the decimated ones */
};

/* As the program has it: from allocation to free, ops one after another. */
enum spill_status spill_holding_before(const struct spill_facts *facts,
                                       struct spill_holding *holding);
/* Under a plan: a buffer from its first to its last use, less what is away, from the end of the
 * copy out to the start of the copy in. */
enum spill_status spill_holding_after(const struct spill_facts *facts,
                                      const struct spill_keptplan *planned,
                                      struct spill_holding *holding);
void spill_holding_free(struct spill_holding *holding);

#endif
