/* SPDX-License-Identifier: Apache-2.0 */
/* The one function that a program may call on purpose: at the border of its training iteration. It
 * needs no header and no library of ours: extern void spillway_iteration(void)
 * __attribute__((weak)); if (spillway_iteration) spillway_iteration(); From the third call on,
 * iterations are looked for between marks only. */
#ifndef SPILL_MARK_H
#define SPILL_MARK_H

void spillway_iteration(void);

#endif
