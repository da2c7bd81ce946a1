/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/stays.h"

/* Stable counting sort of COUNT stays by a key below KEYS. */
static bool sort_by(const struct spill_stay *from, struct spill_stay *to, uint32_t count,
                    const uint32_t *frame_of, uint32_t keys, struct spill_arena *arena)
{
    uint32_t *slot = spill_arena_alloc(arena, (size_t)keys + 2, sizeof(uint32_t));

    if (slot == NULL)
        return false;
#define KEY(stay)                                                                                  \
    (frame_of == NULL                           ? (stay)->first_op                                 \
     : frame_of[(stay)->page] == SPILL_NO_FRAME ? keys                                             \
                                                : frame_of[(stay)->page])
    for (uint32_t i = 0; i < count; i++)
        slot[KEY(&from[i]) + 1]++;
    for (uint32_t key = 0; key <= keys; key++)
        slot[key + 1] += slot[key];
    for (uint32_t i = 0; i < count; i++)
        to[slot[KEY(&from[i])]++] = from[i];
#undef KEY
    return true;
}

/* Lists, for each page, the moves that take it, in the buffer's own order (from birth for
 * ITERATION). */
static uint32_t *list_moves_of_pages(const struct spill_prep *prep, const struct spill_plan *plan,
                                     uint32_t *first_of, struct spill_arena *arena)
{
    const struct spill_problem *problem = prep->problem;
    uint32_t *cursor = spill_arena_alloc(arena, (size_t)prep->page_total + 1, sizeof(uint32_t));
    uint32_t total = 0;
    uint32_t *list;

    if (cursor == NULL)
        return NULL;
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        uint32_t page = prep->page_base[move->buffer] + move->page_first;

        for (uint32_t i = 0; i < move->page_count; i++)
            first_of[page + i + 1]++;
        total += move->page_count;
    }
    for (uint32_t page = 0; page < prep->page_total; page++) {
        first_of[page + 1] += first_of[page];
        cursor[page] = first_of[page];
    }
    list = spill_arena_alloc(arena, total, sizeof(uint32_t));
    if (list == NULL)
        return NULL;
    /* Moves are sorted by out_op: [birth, n) first and [0, birth) after it is each buffer's own
     * order. */
    for (int round = 0; round < 2; round++) {
        for (uint32_t m = 0; m < plan->move_count; m++) {
            const struct spill_move *move = &plan->moves[m];
            const struct spill_buffer *buffer = &problem->buffers[move->buffer];
            bool after = buffer->life == SPILL_LIFE_PERSISTENT || move->out_op >= buffer->birth_op;
            uint32_t page = prep->page_base[move->buffer] + move->page_first;

            if (after != (round == 0))
                continue;
            for (uint32_t i = 0; i < move->page_count; i++)
                list[cursor[page + i]++] = m;
        }
    }
    return list;
}

/* Appends the stays of one page whose moves are MOVES[0..COUNT). */
static void add_page(struct spill_stays *stays, const struct spill_prep *prep,
                     const struct spill_plan *plan, uint32_t b, uint32_t page,
                     const uint32_t *moves, uint32_t count)
{
    const struct spill_buffer *buffer = &prep->problem->buffers[b];
    uint32_t n = prep->problem->op_count;

    if (buffer->life == SPILL_LIFE_PERSISTENT || buffer->pinned != 0) {
        if (count == 0)
            stays->list[stays->count++] =
                (struct spill_stay){page, 0, n, SPILL_NO_MOVE, SPILL_NO_MOVE};
        for (uint32_t i = 0; i < count; i++) {
            uint32_t next = moves[i + 1 == count ? 0 : i + 1];
            uint32_t first = spill_cyclic_add(plan->moves[moves[i]].in_op, 1, n);

            stays->list[stays->count++] = (struct spill_stay){
                page, first, spill_cyclic(first, plan->moves[next].out_op, n) + 1, moves[i], next};
        }
        return;
    }
    for (uint32_t i = 0; i <= count; i++) {
        uint32_t first =
            i == 0 ? buffer->birth_op : spill_cyclic_add(plan->moves[moves[i - 1]].in_op, 1, n);
        uint32_t last = i == count ? buffer->death_op : plan->moves[moves[i]].out_op;

        stays->list[stays->count++] = (struct spill_stay){
            page, first, spill_cyclic(first, last, n) + 1, i == 0 ? SPILL_NO_MOVE : moves[i - 1],
            i == count ? SPILL_NO_MOVE : moves[i]};
    }
}

bool spill_stays_build(struct spill_stays *stays, const struct spill_prep *prep,
                       const struct spill_plan *plan, struct spill_arena *arena)
{
    uint32_t *first_of = spill_arena_alloc(arena, (size_t)prep->page_total + 2, sizeof(uint32_t));
    bool *parked = spill_arena_alloc(arena, prep->page_total, sizeof(bool));
    struct spill_stay *scratch;
    uint32_t *moves_of;
    size_t room;

    if (first_of == NULL || parked == NULL)
        return false;
    moves_of = list_moves_of_pages(prep, plan, first_of, arena);
    room = (size_t)prep->page_total + first_of[prep->page_total];
    scratch = spill_arena_alloc(arena, room, sizeof(*scratch));
    stays->list = spill_arena_alloc(arena, room, sizeof(*scratch));
    stays->count = 0;
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < plan->park_count; i++)
        for (uint32_t j = 0; j < plan->parks[i].page_count; j++)
            parked[prep->page_base[plan->parks[i].buffer] + plan->parks[i].page_first + j] = true;
    for (uint32_t b = 0; b < prep->problem->buffer_count; b++)
        for (uint32_t page = prep->page_base[b]; page < prep->page_base[b + 1]; page++)
            if (!parked[page])
                add_page(stays, prep, plan, b, page, moves_of + first_of[page],
                         first_of[page + 1] - first_of[page]);
    return sort_by(stays->list, scratch, stays->count, NULL, prep->problem->op_count, arena) &&
           sort_by(scratch, stays->list, stays->count, plan->frame_of, plan->frame_count, arena);
}
