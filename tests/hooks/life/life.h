/* SPDX-License-Identifier: Apache-2.0 */
/* For the programs of this folder: each is one symptom from the field, run under the library with a
 * recording sink on the driver that does nothing. Exit 0: not here. */
#ifndef LIFE_H
#define LIFE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>

#include "tests/hooks/fakedriver.h"
#include "tests/hooks/recsink.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What the sink counted; NULL when the library is not there. */
static inline struct recsink_counts *life_counts(void)
{
    return dlsym(RTLD_DEFAULT, "recsink_counts");
}

/* Times that the driver's function NAME was really called. DRIVER: a handle of it. */
static inline unsigned life_calls(void *driver, const char *name)
{
    const char *const *names = dlsym(driver, "fake_name");
    const int *functions = dlsym(driver, "fake_functions");
    const unsigned *count = dlsym(driver, "fake_count");
    for (int i = 0; i < *functions; i++)
        if (strcmp(names[i], name) == 0)
            return count[i];
    return 0;
}

/* Is FUNCTION in the file whose name begins with LIBRARY? */
static inline int life_in(const void *function, const char *library)
{
    Dl_info info;
    if (function == NULL || dladdr(function, &info) == 0)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash != NULL ? slash + 1 : info.dli_fname, library, strlen(library)) == 0;
}

static inline void *life_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(driver != NULL);
    return driver;
}

#endif
