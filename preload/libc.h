/* SPDX-License-Identifier: Apache-2.0 */
/* The functions behind our own dlsym, dlvsym, dlopen and dlmopen. */
#ifndef SPILL_LIBC_H
#define SPILL_LIBC_H

#include <dlfcn.h>

struct spill_libc {
    /* Of the library that comes after us, which is libc or another preload that hooks them too: a
     * program's calls go on there. The trampolines know the order of these. */
    void *(*next_dlsym)(void *, const char *);
    void *(*next_dlvsym)(void *, const char *, const char *);
    void *(*next_dlopen)(const char *, int);
    void *(*next_dlmopen)(Lmid_t, const char *, int);
    /* libc's own, for our own look-ups. */
    void *(*dlsym)(void *, const char *);
    void *(*dlvsym)(void *, const char *, const char *);
};

extern struct spill_libc spill_libc __attribute__((visibility("hidden")));

/* Fills the above. May be called before main, inside an allocator, from several threads at once:
 * takes no memory, and all write the same. */
void spill_libc_load(void);

#endif
