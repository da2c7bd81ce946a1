/* SPDX-License-Identifier: Apache-2.0 */
/* What victims share: a failed call ends them, and they read their options alike. */
#ifndef VICTIM_H
#define VICTIM_H

#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the runtime. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            fflush(stdout);                                                                        \
            fprintf(stderr, "CUDA error: %s (%s) at %s:%d\n", cudaGetErrorString(error_),          \
                    cudaGetErrorName(error_), __FILE__, __LINE__);                                 \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Of the runtime or the driver. */
#define CHECK_ANY(call)                                                                            \
    do {                                                                                           \
        int error_ = (int)(call);                                                                  \
        if (error_ != 0) {                                                                         \
            fflush(stdout);                                                                        \
            fprintf(stderr, "CUDA error %d: %s at %s:%d\n", error_, #call, __FILE__, __LINE__);    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

struct victim_option {
    const char *name;
    int *value;
    int flag; /* stands alone, and makes it 1 */
};

/* Ends with status 64 at an option that is none of the COUNT. */
static inline void victim_parse(const struct victim_option *options, unsigned count, int argc,
                                char **argv)
{
    for (int i = 1; i < argc; i++) {
        unsigned o = 0;
        while (o < count && strcmp(argv[i], options[o].name) != 0)
            o++;
        if (o == count || (!options[o].flag && i + 1 == argc)) {
            fprintf(stderr, "%s: unknown option %s\n", argv[0], argv[i]);
            exit(64);
        }
        *options[o].value = options[o].flag ? 1 : atoi(argv[++i]);
    }
}

#endif
