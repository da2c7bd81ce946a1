/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_TOUCHED: a file of what every operation really read and wrote in device memory: copies and
 * memsets to the byte, kernels to 4 KiB. Text, in the order of execution: a line "ID TYPE [NAME]"
 * an operation, its ID in the order in which they were queued, then a line "r ADDRESS BYTES" or
 * "w ADDRESS BYTES" for each run that it touched. What was written and read is only in "w" if the
 * write came first. */
#ifndef SIMGPU_TOUCHED_H
#define SIMGPU_TOUCHED_H

#include "op.h"

/* True: touches are to be watched (races.h does) and handed on. */
bool simgpu_touched_load(void);
/* The running operation touches these bytes. Also called from the fault handler. */
void simgpu_touched_add(uint64_t address, uint64_t bytes, bool write);
/* OP has run: writes what was added. */
void simgpu_touched_end(const struct simgpu_op *op);

#endif
