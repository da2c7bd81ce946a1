/* SPDX-License-Identifier: Apache-2.0 */
/* How fresh host memory comes to be: near the device, in huge pages, touched by several threads. */
#ifndef SPILL_HOSTTOUCH_H
#define SPILL_HOSTTOUCH_H

#include <stddef.h>

/* Prefers the NUMA node next to the current context's device for a range that nobody has touched
 * yet. Nothing happens where driver or kernel know of none. */
void spill_hosttouch_prefer(char *base, size_t bytes);

/* Has all pages of the range made. */
void spill_hosttouch(char *base, size_t bytes);

#endif
