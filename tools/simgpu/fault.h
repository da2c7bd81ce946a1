/* SPDX-License-Identifier: Apache-2.0 */
/* Running code that may touch device memory: a fault in it ends the operation, not the process. */
#ifndef SIMGPU_FAULT_H
#define SIMGPU_FAULT_H

#include "core.h"

/* Calls BODY(ARG); CUDA_SUCCESS, or the error that a fault stands for. */
CUresult simgpu_fault_guard(void (*body)(void *arg), void *arg);
/* A stop on the device's own wish (assert, trap); only inside a guarded body. */
void simgpu_fault_raise(CUresult error) __attribute__((noreturn));
/* Where the last fault happened, for messages. */
uint64_t simgpu_fault_address(void);

#endif
