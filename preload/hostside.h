/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that a copy reads, for the copies that do not say which side an address is on. */
#ifndef SPILL_HOSTSIDE_H
#define SPILL_HOSTSIDE_H

#include <stdint.h>

#include "preload/base/cuapi.h"

/* The BYTES at SRC, safe to read until the next call; NULL when SRC is device memory, unreadable,
 * or too much to be a table of addresses. Inside the guard only. */
const void *spill_hostside_read(CUdeviceptr src, uint64_t bytes);

#endif
