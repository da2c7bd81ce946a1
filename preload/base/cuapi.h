/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA headers with every function under the name that libcuda exports: without this macro
 * cuda.h renames cuMemAlloc to cuMemAlloc_v2 and so on, and hides the older forms. */
#ifndef SPILL_CUAPI_H
#define SPILL_CUAPI_H

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#endif
