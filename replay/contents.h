/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses stored in device memory: a kernel reaches a buffer through them without any parameter
 * that names it. Such a buffer is pinned: it must never be out. */
#ifndef SPILL_CONTENTS_H
#define SPILL_CONTENTS_H

#include "replay/device.h"

/* Reads the slabs, where pointer tables lie (allocations below one page), and pins what their words
 * point to; counts it in dev->new_pins. The device must be idle. Cheap: a copy of a few pages. */
CUresult spill_contents_scan_slabs(struct spill_device *dev);

#define SPILL_CONTENTS_LIMIT ((uint64_t)1 << 30)

/* The same for resident pages of larger buffers, LIMIT bytes at most: once a plan, and once before
 * the first page is paged out. */
CUresult spill_contents_scan_buffers(struct spill_device *dev, uint64_t limit);

/* Tensor maps that no launch carried yet: a map may lie where no launch ever shows it. Their
 * buffers are evicted last; those that an iteration's launches did not carry are pinned. */
void spill_contents_keep_unsettled(struct spill_device *dev);
void spill_contents_pin_unsettled(struct spill_device *dev);

#endif
