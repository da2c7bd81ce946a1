/* SPDX-License-Identifier: Apache-2.0 */
/* SIMGPU_RACES: a happens-before check. Every operation carries a vector clock over streams; every
 * grain (4 KiB, or SIMGPU_GRAIN) of device memory, and of pinned host memory that copies touch,
 * remembers who touched it last. Two touches of the same bytes, one of them a write, that no stream
 * order, event or host wait orders are a race, no matter in which order they happened to run. */
#ifndef SIMGPU_RACES_H
#define SIMGPU_RACES_H

#include "op.h"

#define SIMGPU_GRAIN_MOST ((uint64_t)64 << 10)

extern uint64_t simgpu_races_grain; /* bytes that a touch of a kernel opens, and counts for */

extern bool simgpu_races_on; /* touches are watched, for this check or for touched.h */

void simgpu_races_load(void);
/* EARLIER happens before OP. */
void simgpu_races_join(struct simgpu_op *op, const struct simgpu_op *earlier);
/* OP has all its edges and what the host knows. */
void simgpu_races_submit(struct simgpu_op *op);
/* The host has seen OP end: whatever it enqueues from now on comes after. */
void simgpu_races_host_saw(const struct simgpu_op *op);
/* A destroyed stream leaves with its last operation, LAST: what waits for the whole device, or for
 * all blocking streams, comes after it all the same. */
void simgpu_races_stream_gone(const struct simgpu_op *last, bool blocking);
void simgpu_races_host_saw_gone(const struct simgpu_device *device, bool blocking_only);
void simgpu_races_join_gone(struct simgpu_op *op);
void simgpu_races_forget(struct simgpu_op *op);
/* Around the run of an operation. In between, device memory is shut and each first touch faults. */
void simgpu_races_begin(struct simgpu_op *op);
void simgpu_races_end(void);
/* The running operation touches these bytes, known exactly. */
void simgpu_races_range(uint64_t address, uint64_t bytes, bool write);
/* It touched this page of device memory somewhere; from the fault handler. False: a real fault. */
bool simgpu_races_fault(uint64_t address, bool write);
/* A frame changes hands, or bytes of one. */
void simgpu_races_clear(const struct simgpu_device *device, uint32_t frame, uint64_t from,
                        uint64_t to);

#endif
