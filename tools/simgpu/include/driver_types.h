/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that name this toolkit header: all of it is in cuda_runtime.h. */
#ifndef SIMGPU_DRIVER_TYPES_H
#define SIMGPU_DRIVER_TYPES_H

#include "cuda_runtime.h"

#endif
