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

#define LAST_SEEN_MIN ((size_t)1 << 12)
#define CHAIN_MAX     64 /* earlier events of one key that are tried as borders */
#define MARKS_TRUSTED 3
#define BASE          UINT64_C(0x9ddfea08eb382d69) /* odd, so that powers never vanish modulo 2^64 */

void spill_border_reset(struct spill_recorder *rec)
{
    if (rec->last_seen != NULL)
        memset(rec->last_seen, 0, rec->last_seen_cap * sizeof(*rec->last_seen));
    rec->distinct = 0;
    rec->last_alloc = 0;
    rec->mark_count = 0;
}

void spill_border_push(struct spill_recorder *rec)
{
    uint32_t i = rec->record_count - 1;
    rec->powers[0] = 1;
    rec->powers[i + 1] = rec->powers[i] * BASE;
    rec->records[i].prefix = (i == 0 ? 0 : rec->records[i - 1].prefix) * BASE + rec->records[i].key;
    rec->records[i].sum += i == 0 ? 0 : rec->records[i - 1].sum;
    if (rec->records[i].kind != SPILL_LOGREC_OP)
        rec->last_alloc = i + 1;
}

/* Hash of the LENGTH records from FIRST on. */
static uint64_t stretch(const struct spill_recorder *rec, uint32_t first, uint32_t length)
{
    uint64_t before = first == 0 ? 0 : rec->records[first - 1].prefix;
    return rec->records[first + length - 1].prefix - before * rec->powers[length];
}

uint64_t spill_border_sum(const struct spill_recorder *rec, uint32_t period)
{
    uint32_t n = rec->record_count;
    return rec->records[n - 1].sum - (n == period ? 0 : rec->records[n - period - 1].sum);
}

/* The place of KEY in the table: of the last record with that key, or empty. Keys are hashes. */
static uint32_t *find(const struct spill_recorder *rec, uint64_t key)
{
    size_t at = key & (rec->last_seen_cap - 1);
    while (rec->last_seen[at] != 0 && rec->records[rec->last_seen[at] - 1].key != key)
        at = (at + 1) & (rec->last_seen_cap - 1);
    return &rec->last_seen[at];
}

static bool widen(struct spill_recorder *rec)
{
    uint32_t *old = rec->last_seen;
    size_t old_cap = rec->last_seen_cap, cap = old_cap == 0 ? LAST_SEEN_MIN : 2 * old_cap;
    uint32_t *wider = spill_heap_alloc(cap * sizeof(*wider));
    if (wider == NULL)
        return false;
    rec->last_seen = wider;
    rec->last_seen_cap = cap;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i] != 0)
            *find(rec, rec->records[old[i] - 1].key) = old[i];
    spill_heap_free(old, old_cap * sizeof(*old));
    return true;
}

/* Enters the newest record and links it to the last one with the same key. */
static void enter(struct spill_recorder *rec)
{
    uint32_t i = rec->record_count - 1;
    if (2 * (size_t)rec->distinct >= rec->last_seen_cap && !widen(rec))
        return; /* it will not be found again: a border is missed, no more */
    uint32_t *last = find(rec, rec->records[i].key);
    rec->records[i].twin = *last;
    rec->distinct += *last == 0;
    *last = i + 1;
}

/* Do the last two stretches of PERIOD records agree, and may they be iterations? */
static bool repeats(const struct spill_recorder *rec, uint32_t period)
{
    uint32_t n = rec->record_count;
    if (stretch(rec, n - period, period) != stretch(rec, n - 2 * period, period))
        return false;
    uint64_t sum = spill_border_sum(rec, period);
    if (rec->known_period != 0 && period % rec->known_period == 0 &&
        sum == period / rec->known_period * rec->known_sum)
        return false; /* nothing but the iteration that is known, at whatever rotation */
    for (uint32_t i = 0; i < rec->seen_count; i++)
        if (rec->seen[i].times > SPILL_SHAPE_TIMES && period % rec->seen[i].period == 0 &&
            sum == period / rec->seen[i].period * rec->seen[i].sum)
            return false; /* a part that was planned again and again */
    /* A loop inside an iteration that allocates (an optimizer walking its parameters, a solver's
     * inner steps) repeats too; while allocations are recent, an iteration holds some. */
    return rec->last_alloc > n - period || rec->last_alloc == 0 ||
           n - rec->last_alloc >= 8 * period + 64;
}

bool spill_border_admit(struct spill_recorder *rec, uint32_t period)
{
    uint64_t sum = spill_border_sum(rec, period);
    uint32_t i = 0;
    while (i < rec->seen_count && (rec->seen[i].sum != sum || rec->seen[i].period != period))
        i++;
    if (i == rec->seen_count) {
        if (rec->seen_count == SPILL_SHAPES)
            return true;
        rec->seen[rec->seen_count++] = (struct spill_shape){.sum = sum, .period = period};
    }
    return ++rec->seen[i].times <= SPILL_SHAPE_TIMES;
}

uint32_t spill_border_period(struct spill_recorder *rec)
{
    uint32_t n = rec->record_count;
    enter(rec);
    if (rec->marks_only)
        return 0; /* the program says where its borders are */
    uint32_t twin = rec->records[n - 1].twin;
    for (int tries = 0; twin != 0 && tries < CHAIN_MAX; tries++) {
        uint32_t period = n - twin;
        if (n < 2 * period)
            return 0;
        if (period >= 2 && repeats(rec, period))
            return period;
        twin = rec->records[twin - 1].twin;
    }
    return 0;
}

uint32_t spill_border_mark(struct spill_recorder *rec)
{
    uint32_t n = rec->record_count, period = n - rec->marks[1], found = 0;
    if (rec->mark_count >= MARKS_TRUSTED - 1 && period >= 1 &&
        rec->marks[1] - rec->marks[0] == period &&
        stretch(rec, n - period, period) == stretch(rec, n - 2 * period, period))
        found = period;
    rec->marks[0] = rec->marks[1];
    rec->marks[1] = n;
    rec->mark_count++;
    rec->marks_only = rec->marks_only || ++rec->mark_total >= MARKS_TRUSTED;
    return found;
}
