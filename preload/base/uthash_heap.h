/* SPDX-License-Identifier: Apache-2.0 */
/* uthash on our heap. Include this, never uthash.h itself: a hook must not call the host's malloc.
 */
#ifndef SPILL_UTHASH_HEAP_H
#define SPILL_UTHASH_HEAP_H

#include "preload/base/heap.h"

#define HASH_NONFATAL_OOM     1
#define uthash_malloc(bytes)  spill_heap_alloc(bytes)
#define uthash_free(p, bytes) spill_heap_free((p), (bytes))

#include <uthash.h>

#endif
