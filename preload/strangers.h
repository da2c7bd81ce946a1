/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that the program holds and we do not manage: how much, so that it counts against
 * the budget, and how much of it goes when its address or handle does. Inside the guard only. */
#ifndef SPILL_STRANGERS_H
#define SPILL_STRANGERS_H

#include <stdint.h>

#include "preload/base/cuapi.h"

/* Room for BYTES is made, before the driver is asked for them: its answer decides what follows,
 * SETTLE if it refused, KEEP if it gave them at KEY, an address or a handle of cuMemCreate (they
 * share no values: handles are small numbers or host pointers). */
void spill_strangers_reserve(uint64_t bytes, CUdevice device);
void spill_strangers_settle(uint64_t bytes, CUdevice device);
void spill_strangers_keep(uint64_t key, uint64_t bytes, CUdevice device);
/* One more reference to KEY, if it is known. */
void spill_strangers_retain(uint64_t key);
/* One reference less; unknown keys are none of ours. */
void spill_strangers_drop(uint64_t key);
/* DEVICE's managed context ended, and with it what it held. */
void spill_strangers_forget(CUdevice device);

#endif
