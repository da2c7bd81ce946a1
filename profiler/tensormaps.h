/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps (CUtensorMap, for copies by the TMA unit): 128 opaque bytes that hold a device
 * address, not necessarily as a word that a scan would know. What was encoded is remembered by its
 * bytes, so that the same bytes in a kernel's parameters, or in memory, show which buffer they
 * reach. Inside the turnstile only. */
#ifndef SPILL_TENSORMAPS_H
#define SPILL_TENSORMAPS_H

#include <stdbool.h>
#include <stdint.h>

#define SPILL_TENSORMAP_BYTES 128
#define SPILL_TENSORMAP_ALIGN 64 /* where the device reads it */

struct spill_tensormap {
    unsigned char bytes[SPILL_TENSORMAP_BYTES];
    uint64_t addr; /* of the tensor */
    bool settled;  /* some launch carried it, or its buffer stays anyway */
};

/* How many are remembered; of those, how many are not settled: they may lie where no launch shows
 * them, and any kernel may use them. */
extern uint32_t spill_tensormaps_count, spill_tensormaps_unsettled;

/* MAP was encoded for ADDR. False: there is no room for it. */
bool spill_tensormaps_note(const void *map, uint64_t addr);

/* The map whose bytes stand at DATA, or NULL. */
struct spill_tensormap *spill_tensormaps_find(const void *data);
void spill_tensormaps_settle(struct spill_tensormap *map);

/* Calls UNSETTLED for the address of every map that is not settled. */
void spill_tensormaps_each(void (*unsettled)(void *arg, struct spill_tensormap *map), void *arg);

#endif
