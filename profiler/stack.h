/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites of allocations: the return addresses of the program's frames, each distinct stack kept
 * once. libunwind is opened at the first need; without it the frame pointers are followed, as far
 * as there are any. */
#ifndef SPILL_STACK_H
#define SPILL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPILL_STACK_FRAMES 16
#define SPILL_NO_SITE      0

/* Python frames, too? They cost some 10 us each to ask for, so only where a trace is to show them.
 */
void spill_stack_python(bool wanted);

/* The number of the caller's stack, the library's own frames left out; SPILL_NO_SITE if it cannot
 * be walked. The same stack gives the same number. */
uint32_t spill_stack_here(void);

/* Does a rule of SPILLWAY_PIN name a function or a library of the caller's stack? Also true where
 * there are such rules and stacks cannot be walked (said once): what may be meant is not moved.
 * Where there is no such rule this costs nothing. */
bool spill_stack_held(void);

/* The site as text, innermost frame first, "function+0x1f in module" or, of a Python program,
 * "function:LINE in file.py", joined by ";". Returns its
 * length, 0 for SPILL_NO_SITE. */
size_t spill_stack_text(uint32_t site, char *out, size_t out_len);

#endif
