/* SPDX-License-Identifier: Apache-2.0 */
/* How much host memory this process may reckon with. */
#ifndef SPILL_HOSTMEM_H
#define SPILL_HOSTMEM_H

#include <stdint.h>

/* Bytes that may still be used: what the kernel calls available, or what is left of the limit of a
 * control group (a container, a batch job) when that is less. 0: cannot tell. */
uint64_t spill_hostmem_available(void);

/* Bytes left within the control group's limit; UINT64_MAX when there is none. */
uint64_t spill_hostmem_group(void);

/* The library's default budget: three quarters of what is available, shared between the ranks on
 * this machine. */
uint64_t spill_hostmem_default(void);

#endif
