/* SPDX-License-Identifier: Apache-2.0 */
/* The safe mechanism: before an op, the pages it touches are made resident, whatever the sequence.
 * The launching thread waits. Victims are pages of freed buffers first, then the least recently
 * used. */
#ifndef SPILL_PAGER_H
#define SPILL_PAGER_H

#include "profiler/access.h"
#include "replay/device.h"

/* Makes every page of the buffers in TOUCHES resident. CUDA_ERROR_OUT_OF_MEMORY (said, with what
 * would be enough) when they do not fit the budget together or host memory is out; other results
 * are the driver's. Nothing is lost in any case. */
CUresult spill_pager_ensure(struct spill_device *dev, const struct spill_touches *touches);

/* Makes the pages [FIRST, FIRST + COUNT) resident, by free frames. CUDA_ERROR_OUT_OF_MEMORY: there
 * are too few; as after other failures, what is not on the device then has no frame. */
CUresult spill_pager_bring(struct spill_device *dev, uint32_t first, uint32_t count);

/* Brings in the buffers that were found to be reachable without being named (dev->new_pins). */
CUresult spill_pager_bring_pins(struct spill_device *dev);

/* COUNT more frames for good (a slab), taken from others if need be. Writes them to FRAMES. */
CUresult spill_pager_claim(struct spill_device *dev, uint32_t count, uint32_t *frames);

/* Copies one resident page out to host memory and takes its frame away. The program's work must
 * have ended. */
CUresult spill_pager_evict(struct spill_device *dev, uint32_t page);

/* The contents of these pages are no longer wanted. Frames stay mapped until somebody needs them.
 */
void spill_pager_forget(struct spill_device *dev, uint32_t first, uint32_t count);

/* Takes the frame of a page without contents. */
CUresult spill_pager_drop(struct spill_device *dev, uint32_t page);

/* Shrinks to the frame limit (an unmanaged allocation was made). */
CUresult spill_pager_shrink(struct spill_device *dev);

#endif
