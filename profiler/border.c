/* SPDX-License-Identifier: Apache-2.0 */
/* The iteration border without hints. An event's key holds what was done, the addresses it was done
 * to and the live bytes at that moment. Address ranges are handed out by lowest address, so that a
 * program in its steady state repeats its addresses exactly, and repetition is plain equality of
 * keys: a repeated layer touches other weights, or stands at other live bytes, and is not taken for
 * one.
 *
 * Two stretches are compared in constant time by polynomial prefix hashes (Rabin and Karp 1987). */
#include "profiler/recorder.h"

#include <string.h>

#define BASE UINT64_C(0x9ddfea08eb382d69) /* odd, so that powers never vanish modulo 2^64 */

struct spill_lastseen {
    uint64_t key;
    uint32_t record;
    UT_hash_handle hh;
};

void spill_border_reset(struct spill_recorder *rec)
{
    struct spill_lastseen *entry, *next;
    HASH_ITER(hh, rec->last_seen, entry, next)
    {
        HASH_DEL(rec->last_seen, entry);
        spill_heap_free(entry, sizeof(*entry));
    }
    rec->last_seen = NULL;
    rec->last_alloc = 0;
}

enum spill_status spill_border_push(struct spill_recorder *rec)
{
    uint32_t i = rec->record_count - 1;
    if (SPILL_HEAP_GROW(rec->powers, rec->power_cap, (size_t)rec->record_count + 1) != 0)
        return SPILL_ERR_NOMEM;
    rec->powers[0] = 1;
    rec->powers[i + 1] = rec->powers[i] * BASE;
    rec->records[i].prefix = (i == 0 ? 0 : rec->records[i - 1].prefix) * BASE + rec->records[i].key;
    if (rec->records[i].kind != SPILL_LOGREC_OP)
        rec->last_alloc = i + 1;
    return SPILL_OK;
}

/* Hash of the LENGTH records from FIRST on. */
static uint64_t stretch(const struct spill_recorder *rec, uint32_t first, uint32_t length)
{
    uint64_t before = first == 0 ? 0 : rec->records[first - 1].prefix;
    return rec->records[first + length - 1].prefix - before * rec->powers[length];
}

/* Enters the newest record; returns the distance to the last one with the same key, 0 for none. */
static uint32_t distance_to_twin(struct spill_recorder *rec)
{
    uint32_t i = rec->record_count - 1, distance = 0;
    uint64_t key = rec->records[i].key;
    struct spill_lastseen *entry = NULL;
    HASH_FIND(hh, rec->last_seen, &key, sizeof(key), entry);
    if (entry != NULL) {
        distance = i - entry->record;
        entry->record = i;
        return distance;
    }
    entry = spill_heap_alloc(sizeof(*entry));
    if (entry != NULL) {
        entry->key = key;
        entry->record = i;
        HASH_ADD(hh, rec->last_seen, key, sizeof(entry->key), entry);
    }
    return 0;
}

uint32_t spill_border_period(struct spill_recorder *rec)
{
    uint32_t n = rec->record_count, period = distance_to_twin(rec);
    if (period < rec->min_period || period < 2 || n < 2 * period)
        return 0;
    if (stretch(rec, n - period, period) != stretch(rec, n - 2 * period, period))
        return 0;
    /* A loop inside an iteration that allocates (an optimizer walking its parameters, a solver's
     * inner steps) repeats too; while allocations are recent, an iteration holds some. */
    bool has_alloc = rec->last_alloc > n - period;
    if (!has_alloc && rec->last_alloc != 0 && n - rec->last_alloc < 8 * period + 64)
        return 0;
    return period;
}
