/* SPDX-License-Identifier: Apache-2.0 */
/* A host program built with ThreadSanitizer sees the memory that its memcpy and memmove touch for
 * us, but not the atomic operations by which we take turns: it is told of them. */
#ifndef SPILL_TSANHOST_H
#define SPILL_TSANHOST_H

#include <stdbool.h>
#include <stddef.h>

extern __attribute__((weak)) void __tsan_acquire(void *addr);
extern __attribute__((weak)) void __tsan_release(void *addr);

static inline bool spill_tsanhost(void)
{
    return __tsan_acquire != NULL;
}

static inline void spill_tsanhost_acquire(void *addr)
{
    if (__builtin_expect(spill_tsanhost(), 0))
        __tsan_acquire(addr);
}

static inline void spill_tsanhost_release(void *addr)
{
    if (__builtin_expect(spill_tsanhost(), 0))
        __tsan_release(addr);
}

#endif
