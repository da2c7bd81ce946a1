/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that name this toolkit header: all of it is in cuda_runtime.h. */
#ifndef SIMGPU_DEVICE_LAUNCH_PARAMETERS_H
#define SIMGPU_DEVICE_LAUNCH_PARAMETERS_H

#include "cuda_runtime.h"

#endif
