/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the copy links of a device: once, when a trace is first needed. */
#ifndef SPILL_CALIBRATE_H
#define SPILL_CALIBRATE_H

#include "preload/base/trace.h"
#include "replay/device.h"

struct spill_links {
    struct spill_trace_link out, in;
    uint32_t duplex_permille;
    bool measured;
};

/* Fills LINKS by copying a few resident pages to pinned host memory and back (their contents stay
 * what they are). The device must be idle. Without two resident pages LINKS is left as it is, to be
 * tried again; without pinned memory nothing is known, for good. */
void spill_calibrate(struct spill_device *dev, struct spill_links *links);

#endif
