/* SPDX-License-Identifier: Apache-2.0 */
/* Where in host memory the pages of each move wait. A place is busy from the move's out_op until
 * the start of its use_op, as the plan's host memory is counted; moves that are never out together
 * may share one. The pages of one move lie side by side, so that it is one copy: dynamic storage
 * allocation (Garey and Johnson 1979, problem SR2), here by first fit, the longest first. */
#include <stdlib.h>
#include <string.h>

#include "replay/script.h"

/* With more than that many, each has a place of its own: looking for one takes quadratic time. */
#define SHARING_MOST 20000

struct item {
    uint32_t number;        /* of the move, or of the park after all moves */
    uint32_t first_op, ops; /* cyclic */
    uint32_t pages;
    uint32_t slot;
};

static int longest_first(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->ops != b->ops)
        return a->ops > b->ops ? -1 : 1;
    if (a->pages != b->pages)
        return a->pages > b->pages ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool meet(const struct item *a, const struct item *b, uint32_t op_count)
{
    uint32_t a_to_b = b->first_op >= a->first_op ? b->first_op - a->first_op
                                                 : b->first_op + op_count - a->first_op;
    uint32_t b_to_a = a_to_b == 0 ? 0 : op_count - a_to_b;
    return a_to_b < a->ops || b_to_a < b->ops;
}

/* PLACED are COUNT items in the order of their slots; returns where ITEM goes among them. */
static uint32_t find_slot(struct item *item, struct item *const *placed, uint32_t count,
                          uint32_t op_count)
{
    uint32_t at = 0;
    item->slot = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!meet(item, placed[i], op_count))
            continue;
        if (placed[i]->slot >= item->slot + item->pages)
            break;
        if (placed[i]->slot + placed[i]->pages > item->slot)
            item->slot = placed[i]->slot + placed[i]->pages;
    }
    while (at < count && placed[at]->slot < item->slot)
        at++;
    return at;
}

static uint32_t pack(struct item *items, uint32_t count, struct item **placed, uint32_t op_count)
{
    uint32_t most = 0;
    qsort(items, count, sizeof(*items), longest_first);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        if (count <= SHARING_MOST)
            at = find_slot(&items[i], placed, i, op_count);
        else
            items[i].slot = most;
        memmove(placed + at + 1, placed + at, (i - at) * sizeof(struct item *));
        placed[at] = &items[i];
        if (items[i].slot + items[i].pages > most)
            most = items[i].slot + items[i].pages;
    }
    return most;
}

enum spill_status spill_hostslots_build(struct spill_script *s)
{
    const struct spill_plan *plan = s->plan;
    uint32_t count = plan->move_count + plan->park_count;
    struct item *items = calloc((size_t)count + 1, sizeof(*items));
    struct item **placed = calloc((size_t)count + 1, sizeof(struct item *));
    if (items == NULL || placed == NULL) {
        free(items);
        free(placed);
        return SPILL_ERR_NOMEM;
    }
    for (uint32_t m = 0; m < plan->move_count; m++) {
        const struct spill_move *move = &plan->moves[m];
        uint32_t ops = move->use_op > move->out_op ? move->use_op - move->out_op
                                                   : move->use_op + s->op_count - move->out_op;
        items[m] = (struct item){m, move->out_op, ops, move->page_count, 0};
    }
    for (uint32_t i = 0; i < plan->park_count; i++)
        items[plan->move_count + i] =
            (struct item){plan->move_count + i, 0, s->op_count, plan->parks[i].page_count, 0};
    s->slab_bytes = pack(items, count, placed, s->op_count) * s->it.trace.page_bytes;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].number < plan->move_count)
            s->moves[items[i].number].host_slot = items[i].slot;
        else
            s->park_slots[items[i].number - plan->move_count] = items[i].slot;
    free(items);
    free(placed);
    return SPILL_OK;
}
