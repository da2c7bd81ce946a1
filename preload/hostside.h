/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that a copy reads, for the copies that do not say which side an address is on. */
#ifndef SPILL_HOSTSIDE_H
#define SPILL_HOSTSIDE_H

#include <stddef.h>

#include "preload/base/sink.h"

/* What an address is of: device memory, or nothing that can be told; host memory that the driver
 * knows; or what it does not know, the program's own or an address gone stale. */
enum spill_hostside { SPILL_HOSTSIDE_NOT, SPILL_HOSTSIDE_DRIVERS, SPILL_HOSTSIDE_OWN };
enum spill_hostside spill_hostside_of(CUdeviceptr addr);

/* The BYTES at SRC, safe to read until the next call; NULL when SRC is device memory, unreadable,
 * or too much to be a table of addresses. Inside the guard only, as all here. */
const void *spill_hostside_read(CUdeviceptr src, uint64_t bytes);

/* A box of WIDTH bytes, ROWS and LAYERS, in memory of PITCH bytes a row and LAYER_ROWS rows a layer
 * (either 0: no gap), from its first byte on: what there is up to its last. */
uint64_t spill_hostside_span(size_t width, size_t rows, size_t layers, size_t pitch,
                             size_t layer_rows);

/* OP copies from the BYTES at SRC, which may be either side's; or from host memory for certain. */
void spill_hostside_any(struct spill_opcall *op, CUdeviceptr src, uint64_t bytes);
void spill_hostside_host(struct spill_opcall *op, const void *src, uint64_t bytes);

/* OP copies from several places, named one by one: after BEGIN each of them, ADD; then END. */
void spill_hostside_begin(void);
void spill_hostside_add(CUdeviceptr src, uint64_t bytes);
void spill_hostside_end(struct spill_opcall *op);

#endif
