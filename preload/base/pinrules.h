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

/* Do the buffers that the kernel NAME (mangled) touches stay on the GPU? */
bool spill_pinrules_kernel(const char *name);

#endif
