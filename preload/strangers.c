/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/strangers.h"

#include "preload/base/uthash_heap.h"
#include "preload/guard.h"

struct stranger {
    uint64_t key;
    uint64_t bytes;
    uint64_t references;
    CUdevice device;
    UT_hash_handle hh;
};

static struct stranger *strangers;

static struct stranger *find(uint64_t key)
{
    struct stranger *found = NULL;
    HASH_FIND(hh, strangers, &key, sizeof(key), found);
    return found;
}

void spill_strangers_reserve(uint64_t bytes, CUdevice device)
{
    spill_guard_sink->unmanaged(device, (int64_t)bytes);
}

void spill_strangers_settle(uint64_t bytes, CUdevice device)
{
    spill_guard_sink->unmanaged(device, -(int64_t)bytes);
}

void spill_strangers_keep(uint64_t key, uint64_t bytes, CUdevice device)
{
    /* A key that comes again was freed in a way we did not see (with its context, its graph). */
    while (find(key) != NULL)
        spill_strangers_drop(key);
    struct stranger *s = spill_heap_alloc(sizeof(*s));
    if (s == NULL) {
        /* It could not be taken back: the driver will say when memory is out. */
        spill_strangers_settle(bytes, device);
        return;
    }
    s->key = key;
    s->bytes = bytes;
    s->references = 1;
    s->device = device;
    HASH_ADD(hh, strangers, key, sizeof(key), s);
}

void spill_strangers_retain(uint64_t key)
{
    struct stranger *s = find(key);
    if (s != NULL)
        s->references++;
}

void spill_strangers_drop(uint64_t key)
{
    struct stranger *s = find(key);
    if (s == NULL || --s->references > 0)
        return;
    spill_guard_sink->unmanaged(s->device, -(int64_t)s->bytes);
    HASH_DEL(strangers, s);
    spill_heap_free(s, sizeof(*s));
}

void spill_strangers_forget(CUdevice device)
{
    struct stranger *s, *next;
    HASH_ITER(hh, strangers, s, next)
    {
        if (s->device != device)
            continue;
        HASH_DEL(strangers, s);
        spill_heap_free(s, sizeof(*s));
    }
}
