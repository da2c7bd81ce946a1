/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind our own dlsym, dlvsym, dlopen and dlmopen: those of the library that comes
 * after us, which is libc or another preload that hooks them too. */
#ifndef SPILL_LIBC_H
#define SPILL_LIBC_H

#include <dlfcn.h>

struct spill_libc {
    void *(*dlsym)(void *, const char *);
    void *(*dlvsym)(void *, const char *, const char *);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(Lmid_t, const char *, int);
};

/* The trampolines of dlsym.S jump through it: the order of its fields is known there. */
extern struct spill_libc spill_libc __attribute__((visibility("hidden")));

/* Fills the above. May be called before main, inside an allocator, from several threads at once:
 * takes no memory, and all write the same. */
void spill_libc_load(void);

#endif
