/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations below one page share resident pages: they are never moved, so no op needs to name
 * them. First fit at the lowest address, so that an iteration that repeats gets the same addresses.
 */
#ifndef SPILL_SLAB_H
#define SPILL_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#include <cudaTypedefs.h>

#include "replay/device.h"
#include "replay/freepoints.h"

#define SPILL_SLAB_UNIT 512 /* cudaMalloc's alignment is at least 256; textures want 512 */

struct spill_slab {
    uint32_t page;   /* of the span */
    uint32_t used;   /* units */
    uint16_t *run;   /* per unit: units of the allocation that starts here, 0: none starts here */
    uint64_t *asked; /* per unit: bytes asked for by the allocation that starts here */
    spill_freemark *after; /* per unit: where it was freed last */
};

struct spill_slabs {
    struct spill_slab *list; /* sorted by page */
    size_t cap;
    uint32_t count;
};

/* Forgets all of them. */
void spill_slab_end(struct spill_slabs *slabs, const struct spill_device *dev);
/* CUDA_ERROR_OUT_OF_MEMORY when no page can be had for it. MARKS: what it may be used after. */
CUresult spill_slab_alloc(struct spill_slabs *slabs, struct spill_device *dev, uint64_t bytes,
                          CUdeviceptr *addr, struct spill_freemarks *marks);
/* Is ADDR the start of one of ours? */
bool spill_slab_holds(const struct spill_slabs *slabs, const struct spill_device *dev,
                      CUdeviceptr addr);
/* MARK is left on it. */
void spill_slab_free(struct spill_slabs *slabs, const struct spill_device *dev, CUdeviceptr addr,
                     spill_freemark mark);
/* The allocation that holds ADDR. */
bool spill_slab_find(const struct spill_slabs *slabs, const struct spill_device *dev,
                     CUdeviceptr addr, CUdeviceptr *base, size_t *bytes);
/* Is there room without a new page? */
bool spill_slab_has_room(const struct spill_slabs *slabs, const struct spill_device *dev,
                         uint64_t bytes);

#endif
