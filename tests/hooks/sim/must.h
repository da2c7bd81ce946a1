/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the driver that must succeed, or nothing after it means anything. */
#ifndef MUST_H
#define MUST_H

#include <cudaTypedefs.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", what, (int)result);
    exit(1);
}
#define MUST(call) must(call, #call)

#endif
