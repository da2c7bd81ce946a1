/* SPDX-License-Identifier: Apache-2.0 */
/* What stands under the exported names. A door is a jump that touches no argument: at first to the
 * look-up of what is behind it, then to our wrapper; to the driver's function where we are inert;
 * and to the function of the same name of another library of the program, where there is one,
 * whatever its arguments are. */
#ifndef SPILL_DOORS_H
#define SPILL_DOORS_H

struct spill_door {
    void *target;  /* the assembly below knows the order of these */
    void *wrapper; /* also the way while nothing can be looked up */
};

/* Called by the first call of any door, arguments safe on the stack. */
void spill_door_look(void) __attribute__((visibility("hidden"), used));

#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    extern struct spill_door spill_door_##symbol __attribute__((visibility("hidden")));            \
    extern char spill_export_##symbol[] __asm__(#symbol) __attribute__((visibility("default")));
#include "preload/hooks.def"
#undef SPILL_HOOK

#endif
