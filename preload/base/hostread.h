/* SPDX-License-Identifier: Apache-2.0 */
/* The program's host memory, read so that a stale address makes no fault of ours out of an error of
 * the driver. Inside the turnstile only. */
#ifndef SPILL_HOSTREAD_H
#define SPILL_HOSTREAD_H

#include <stdint.h>

#define SPILL_HOSTREAD_MAX ((uint64_t)1 << 20)

/* A copy of the BYTES (SPILL_HOSTREAD_MAX at most) at FROM, good until the next call; NULL: they
 * are not all there. */
const void *spill_hostread(uint64_t from, uint64_t bytes);

#endif
