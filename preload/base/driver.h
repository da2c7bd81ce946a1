/* SPDX-License-Identifier: Apache-2.0 */
/* The driver functions that the library calls for itself. Never linked: pointers to the real ones,
 * found in the libcuda that the program loaded, so that our own calls never come back to our hooks.
 */
#ifndef SPILL_DRIVER_H
#define SPILL_DRIVER_H

#include <stdbool.h>

#include "preload/base/cuapi.h"
#include "preload/base/status.h"

struct spill_driver {
#define SPILL_DRIVER(symbol, type, needed) type p_##symbol;
#include "preload/base/driver.def"
#undef SPILL_DRIVER
};

/* Valid after preload/real.c loaded it. */
extern struct spill_driver spill_driver;

/* One call of the real driver: SPILL_CU(cuMemMap)(...). */
#define SPILL_CU(symbol) (spill_driver.p_##symbol)

/* False when the driver lacks a needed function; says which, once. */
bool spill_driver_complete(void);

/* The name of RESULT ("CUDA_ERROR_OUT_OF_MEMORY"); never NULL. */
const char *spill_driver_error(CUresult result);

#endif
