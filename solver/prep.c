/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/prep.h"

#include <string.h>

/* Limits that keep every later sum inside 64 (times) and 32 bits (pages). */
#define PAGES_MOST   (UINT32_MAX / 4)
#define COMPUTE_MOST (UINT64_C(1) << 56)
#define RATE_MOST    (UINT64_C(1) << 50)
#define LATENCY_MOST (UINT64_C(1) << 40)

uint64_t spill_prep_bytes(const struct spill_prep *prep, uint32_t buffer, uint32_t page_first,
                          uint32_t page_count)
{
    uint64_t page_bytes = prep->problem->page_bytes;
    uint64_t first = page_first * page_bytes;
    uint64_t last = first + page_count * page_bytes;
    uint64_t bytes = prep->problem->buffers[buffer].bytes;

    return (last > bytes ? bytes : last) - first;
}

void spill_cyclic_range_add(uint32_t *diff, uint32_t n, uint32_t first, uint32_t count,
                            uint32_t delta)
{
    if (count == 0)
        return;
    diff[first] += delta;
    if (first + count <= n) {
        diff[first + count] -= delta;
    } else {
        diff[n] -= delta;
        diff[0] += delta;
        diff[first + count - n] -= delta;
    }
}

static bool header_valid(const struct spill_problem *p)
{
    uint32_t b;
    uint64_t total = 0, time = 0;

    if (p->op_count == 0 || p->op_count > UINT32_MAX / 4 || p->page_bytes == 0 ||
        p->out.bytes_per_s == 0 || p->in.bytes_per_s == 0 || p->out.bytes_per_s > RATE_MOST ||
        p->in.bytes_per_s > RATE_MOST || p->out.latency_ns > LATENCY_MOST ||
        p->in.latency_ns > LATENCY_MOST || p->duplex_permille == 0 || p->duplex_permille > 1000 ||
        p->buffer_count > UINT32_MAX / 4)
        return false;
    for (b = 0; b < p->buffer_count; b++) {
        const struct spill_buffer *buffer = &p->buffers[b];
        uint64_t pages = buffer->bytes / p->page_bytes + (buffer->bytes % p->page_bytes != 0);

        if (pages > PAGES_MOST || buffer->bytes > UINT64_MAX - p->page_bytes)
            return false;
        total += pages;
        if (buffer->life > SPILL_LIFE_ITERATION)
            return false;
        if (buffer->life == SPILL_LIFE_ITERATION &&
            (buffer->birth_op >= p->op_count || buffer->death_op >= p->op_count))
            return false;
        if (total > PAGES_MOST)
            return false;
    }
    for (uint32_t k = 0; k < p->op_count; k++) {
        if (p->ops[k].duration_ns > COMPUTE_MOST)
            return false;
        time += p->ops[k].duration_ns;
        if (time > COMPUTE_MOST)
            return false;
    }
    return true;
}

/* Place of OP in the buffer's own order: from its birth for ITERATION buffers, from op 0 else. */
static uint32_t own_place(const struct spill_problem *p, uint32_t b, uint32_t op)
{
    const struct spill_buffer *buffer = &p->buffers[b];

    return buffer->life == SPILL_LIFE_ITERATION ? spill_cyclic(buffer->birth_op, op, p->op_count)
                                                : op;
}

/* Fills touch_first and touch; false when an access is malformed. */
static bool collect_touches(struct spill_prep *prep, uint32_t *cursor)
{
    const struct spill_problem *p = prep->problem;
    uint32_t seen = 0;

    for (uint32_t k = 0; k < p->op_count; k++) {
        const struct spill_op *op = &p->ops[k];

        if (op->access_first > p->access_count ||
            op->access_count > p->access_count - op->access_first)
            return false;
        for (uint32_t a = 0; a < op->access_count; a++) {
            const struct spill_access *access = &p->accesses[op->access_first + a];

            if (access->buffer >= p->buffer_count || access->mode == 0 ||
                access->mode > SPILL_ACCESS_UNKNOWN || seen == UINT32_MAX)
                return false;
            prep->touch_first[access->buffer + 1]++;
            seen++;
        }
    }
    if (seen > p->access_count)
        return false; /* two ops share accesses: the table below would be too small */
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        prep->touch_first[b + 1] += prep->touch_first[b];
        cursor[b] = prep->touch_first[b];
    }
    /* Two rounds, so that each buffer's list starts at its birth: [birth, n) and then [0, birth).
     */
    for (int round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < p->op_count; k++) {
            const struct spill_op *op = &p->ops[k];

            for (uint32_t a = 0; a < op->access_count; a++) {
                uint32_t b = p->accesses[op->access_first + a].buffer;
                const struct spill_buffer *buffer = &p->buffers[b];
                bool after = buffer->life == SPILL_LIFE_PERSISTENT || k >= buffer->birth_op;

                if (after != (round == 0))
                    continue;
                if (cursor[b] > prep->touch_first[b] && prep->touch[cursor[b] - 1] == k)
                    return false; /* twice in one op */
                prep->touch[cursor[b]++] = k;
                if (buffer->life == SPILL_LIFE_ITERATION &&
                    own_place(p, b, k) > own_place(p, b, buffer->death_op))
                    return false; /* touched outside its life */
            }
        }
    }
    return true;
}

static void collect_gaps(struct spill_prep *prep)
{
    const struct spill_problem *p = prep->problem;
    uint32_t n = p->op_count, count = 0;

    for (uint32_t b = 0; b < p->buffer_count; b++) {
        uint32_t first = prep->touch_first[b], last = prep->touch_first[b + 1];
        bool wraps = p->buffers[b].life == SPILL_LIFE_PERSISTENT;

        prep->gap_first[b] = count;
        prep->parkable[b] = first == last && wraps && p->buffers[b].pinned == 0;
        if (p->buffers[b].pinned != 0 || prep->pages[b] == 0)
            continue;
        for (uint32_t t = first; t < last; t++) {
            uint32_t out_op = prep->touch[t];
            uint32_t use_op, distance;

            if (t + 1 == last && !wraps)
                break;
            use_op = prep->touch[t + 1 == last ? first : t + 1];
            distance = spill_cyclic(out_op, use_op, n);
            if (distance == 0)
                distance = n; /* touched once: the gap is the rest of the cycle */
            if (distance < 2)
                continue;
            prep->gaps[count++] = (struct spill_gap){b, out_op, use_op, distance - 1};
        }
    }
    prep->gap_first[p->buffer_count] = count;
    prep->gap_count = count;
}

static void count_memory(struct spill_prep *prep)
{
    const struct spill_problem *p = prep->problem;
    uint32_t n = p->op_count;

    for (uint32_t b = 0; b < p->buffer_count; b++) {
        const struct spill_buffer *buffer = &p->buffers[b];
        uint32_t pages = prep->pages[b];
        uint32_t first = 0, count = n;

        if (buffer->life == SPILL_LIFE_ITERATION && buffer->pinned == 0) {
            first = buffer->birth_op;
            count = spill_cyclic(first, buffer->death_op, n) + 1;
        }
        spill_cyclic_range_add(prep->base, n, first, count, pages);
        if (!prep->parkable[b])
            spill_cyclic_range_add(prep->least, n, first, count, pages);
        for (uint32_t g = prep->gap_first[b]; g < prep->gap_first[b + 1]; g++)
            spill_cyclic_range_add(prep->least, n, spill_cyclic_add(prep->gaps[g].out_op, 1, n),
                                   prep->gaps[g].length, 0u - pages);
    }
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0) {
            prep->base[k] += prep->base[k - 1];
            prep->least[k] += prep->least[k - 1];
        }
        prep->peak = prep->base[k] > prep->peak ? prep->base[k] : prep->peak;
        if (prep->least[k] > prep->least[prep->widest_op])
            prep->widest_op = k;
    }
}

enum spill_status spill_prep_build(struct spill_prep *prep, const struct spill_problem *problem,
                                   struct spill_arena *arena)
{
    uint32_t n = problem->op_count, buffers = problem->buffer_count;
    uint32_t *cursor;
    uint64_t frames;

    memset(prep, 0, sizeof(*prep));
    prep->problem = problem;
    if (!header_valid(problem))
        return SPILL_ERR_INVAL;
    prep->pages = spill_arena_alloc(arena, buffers, sizeof(uint32_t));
    prep->page_base = spill_arena_alloc(arena, (size_t)buffers + 1, sizeof(uint32_t));
    prep->touch_first = spill_arena_alloc(arena, (size_t)buffers + 1, sizeof(uint32_t));
    prep->gap_first = spill_arena_alloc(arena, (size_t)buffers + 1, sizeof(uint32_t));
    prep->parkable = spill_arena_alloc(arena, buffers, sizeof(bool));
    prep->touch = spill_arena_alloc(arena, problem->access_count, sizeof(uint32_t));
    prep->gaps = spill_arena_alloc(arena, problem->access_count, sizeof(struct spill_gap));
    prep->base = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));
    prep->least = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint32_t));
    prep->start = spill_arena_alloc(arena, (size_t)n + 1, sizeof(uint64_t));
    cursor = spill_arena_alloc(arena, buffers, sizeof(uint32_t));
    if (arena->failed)
        return SPILL_ERR_NOMEM;
    for (uint32_t b = 0; b < buffers; b++) {
        uint64_t bytes = problem->buffers[b].bytes;

        prep->pages[b] =
            (uint32_t)(bytes / problem->page_bytes + (bytes % problem->page_bytes != 0));
        prep->page_base[b + 1] = prep->page_base[b] + prep->pages[b];
    }
    prep->page_total = prep->page_base[buffers];
    frames = problem->gpu_budget / problem->page_bytes;
    prep->budget_pages = frames > PAGES_MOST ? PAGES_MOST : (uint32_t)frames;
    for (uint32_t k = 0; k < n; k++)
        prep->start[k + 1] = prep->start[k] + problem->ops[k].duration_ns;
    prep->compute_ns = prep->start[n];
    if (!collect_touches(prep, cursor))
        return SPILL_ERR_INVAL;
    collect_gaps(prep);
    count_memory(prep);
    return SPILL_OK;
}
