/* SPDX-License-Identifier: Apache-2.0 */
/* SPILLWAY_PIN: what the user says is not to be moved. */
#ifndef SPILL_PINRULES_H
#define SPILL_PINRULES_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the rules of TEXT, which must stay. False, said in one line: it is not a list of rules. */
bool spill_pinrules_set(const char *text);

/* Is an allocation of BYTES left to the driver? */
bool spill_pinrules_size(uint64_t bytes);

/* Is an allocation left to the driver when a function or a library (libnccl.so.2) called NAME
 * stands in its call stack? The first tells whether any rule asks for that. */
bool spill_pinrules_by_site(void);
bool spill_pinrules_site(const char *name);

/* Do the buffers that the kernel NAME (mangled) touches stay on the GPU? */
bool spill_pinrules_kernel(const char *name);

#endif
