/* SPDX-License-Identifier: Apache-2.0 */
/* The look-up table behind cuGetProcAddress. It stands apart from cuda.h because it declares the
 * exported symbols as bare addresses. */
#ifndef SIMGPU_LOOKUP_H
#define SIMGPU_LOOKUP_H

#include <stdbool.h>

enum simgpu_lookup { SIMGPU_LOOKUP_FOUND, SIMGPU_LOOKUP_UNKNOWN, SIMGPU_LOOKUP_TOO_NEW };

enum simgpu_lookup simgpu_lookup_find(const char *base, int version, int per_thread,
                                      void **address);

#endif
