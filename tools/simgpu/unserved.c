/* SPDX-License-Identifier: Apache-2.0 */
/* What a function that is not served does. Its stub is generated (unserved.awk). */
#include "core.h"

int simgpu_unserved(char *said, const char *name);

int simgpu_unserved(char *said, const char *name)
{
    if (!__atomic_test_and_set(said, __ATOMIC_RELAXED))
        simgpu_say("%s is not served by the simulated GPU", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}
