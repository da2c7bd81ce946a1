/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of driver functions by name: dlsym and cuGetProcAddress; what else decides whether our
 * functions are found. Called by the trampolines, with the program's arguments. */
#ifndef SPILL_LOOKUP_H
#define SPILL_LOOKUP_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

/* Returned in two registers. */
struct spill_lookup_answer {
    void *address;
    uint64_t final; /* 0: the trampoline jumps to the real function */
};

/* CALLER is the return address: who asks. */
struct spill_lookup_answer spill_lookup_dlsym(void *handle, const char *name, void *caller);
struct spill_lookup_answer spill_lookup_dlvsym(void *handle, const char *name, const char *version,
                                               void *caller);
/* The flags to open with. */
int spill_lookup_dlopen(const char *path, int flags);
void spill_lookup_dlmopen(Lmid_t space, const char *path, int flags);

/* Does ADDRESS lie in a file called libcuda.so*? */
bool spill_lookup_in_driver(const void *address);

#endif
