/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/tensormaps.h"

#include <string.h>

#include "preload/base/heap.h"
#include "profiler/mix.h"

#define MAPS    4096 /* remembered at most; addresses come again, so a program makes few */
#define BUCKETS 8192
#define WORDS   (SPILL_TENSORMAP_BYTES / sizeof(uint64_t))
#define HEAD    4 /* words that are looked at first */

uint32_t spill_tensormaps_count, spill_tensormaps_unsettled;

static struct spill_tensormap *maps; /* MAPS of them: pointers into it stay */
static uint16_t buckets[BUCKETS];    /* number + 1, by hash_of, open addressing */
static uint64_t heads[64]; /* bits by hash of the first words: almost all data ends here */

static uint64_t hash_of(const void *data, unsigned words)
{
    const unsigned char *at = data;
    uint64_t hash = 0, word;
    for (unsigned w = 0; w < words; w++) {
        memcpy(&word, at + w * sizeof(word), sizeof(word));
        hash = spill_mix(hash, word);
    }
    return hash;
}

static uint64_t *head_word(uint64_t head)
{
    return &heads[head >> 6 & 63];
}

/* The bucket that holds the map of these bytes, or the empty one for it. */
static uint16_t *bucket_of(const void *data)
{
    uint64_t i = hash_of(data, WORDS) % BUCKETS;
    while (buckets[i] != 0 && memcmp(maps[buckets[i] - 1].bytes, data, SPILL_TENSORMAP_BYTES) != 0)
        i = (i + 1) % BUCKETS;
    return &buckets[i];
}

bool spill_tensormaps_note(const void *map, uint64_t addr)
{
    if (maps == NULL && (maps = spill_heap_alloc(MAPS * sizeof(*maps))) == NULL)
        return false;
    uint16_t *bucket = bucket_of(map);
    if (*bucket != 0) {
        maps[*bucket - 1].addr = addr;
        return true;
    }
    if (spill_tensormaps_count == MAPS)
        return false;
    struct spill_tensormap *new = &maps[spill_tensormaps_count++];
    memcpy(new->bytes, map, SPILL_TENSORMAP_BYTES);
    new->addr = addr;
    *bucket = (uint16_t)spill_tensormaps_count;
    uint64_t head = hash_of(map, HEAD);
    *head_word(head) |= UINT64_C(1) << (head & 63);
    spill_tensormaps_unsettled++;
    return true;
}

struct spill_tensormap *spill_tensormaps_find(const void *data)
{
    uint64_t head = hash_of(data, HEAD);
    if ((*head_word(head) >> (head & 63) & 1) == 0)
        return NULL;
    const uint16_t *bucket = bucket_of(data);
    return *bucket == 0 ? NULL : &maps[*bucket - 1];
}

void spill_tensormaps_settle(struct spill_tensormap *map)
{
    spill_tensormaps_unsettled -= !map->settled;
    map->settled = true;
}

void spill_tensormaps_each(void (*unsettled)(void *arg, struct spill_tensormap *map), void *arg)
{
    for (uint32_t i = 0; spill_tensormaps_unsettled > 0 && i < spill_tensormaps_count; i++)
        if (!maps[i].settled)
            unsettled(arg, &maps[i]);
}
