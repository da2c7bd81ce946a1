/* SPDX-License-Identifier: Apache-2.0 */
/* Which managed buffers an op touches: the conservative pointer scan. Every aligned 8-byte word of
 * every kernel parameter, structs included, at every launch, and every tensor map in them; the
 * addresses that copies and memsets name; those of a graph's nodes. A word that happens to look
 * like an address of ours costs memory, never correctness. */
#ifndef SPILL_ACCESS_H
#define SPILL_ACCESS_H

#include <stdint.h>

#include "preload/base/sink.h"
#include "profiler/bufmap.h"

struct spill_touch {
    uint32_t slot; /* in the buffer table */
    uint32_t mode; /* enum spill_access_mode */
};

struct spill_touches {
    struct spill_touch *list;
    size_t cap;
    uint32_t count;
    bool everything; /* the op may touch any buffer: list holds all of them */
    uint64_t stamp;  /* internal: numbers the scans */
};

/* Lists what OP touches in order of discovery, each buffer once, in TOUCHES (reused from op to op).
 * SPILL_ERR_NOMEM: the list could not grow; nothing may be assumed. */
enum spill_status spill_access_scan(struct spill_bufmap *map, const struct spill_opcall *op,
                                    struct spill_touches *touches);

/* Calls FOUND for every word of the parameters of OP, a kernel, that may be an address, and for the
 * addresses of tensor maps in them. False: what its parameters are is not known. */
bool spill_access_words(const struct spill_opcall *op, void (*found)(void *arg, uint64_t word),
                        void *arg);

/* Calls FOUND for every managed buffer whose address, or a tensor map of it, stands in the BYTES at
 * DATA (what is being copied to the device, or was read from it): it may be reached without any
 * kernel naming it. Tensor maps begin at multiples of MAPS_EVERY bytes. */
void spill_access_stored(struct spill_bufmap *map, const void *data, uint64_t bytes,
                         uint64_t maps_every, void (*found)(void *arg, uint32_t slot), void *arg);

#endif
