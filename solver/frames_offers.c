/* SPDX-License-Identifier: Apache-2.0 */
/* A heap with the worst offer on top: there are hundreds for a run that takes a few. */
#include "solver/frames_offers.h"

static bool worse(const struct spill_offer *a, const struct spill_offer *b)
{
    if (a->wait != b->wait)
        return a->wait > b->wait;
    if (a->tight != b->tight)
        return a->tight > b->tight;
    if (a->slack != b->slack)
        return a->slack > b->slack;
    return a->shelf > b->shelf;
}

/* Puts OFFER where it belongs in the heap of COUNT entries whose top is vacant. */
static void sink_offer(struct spill_offer *heap, uint32_t count, struct spill_offer offer)
{
    uint32_t at = 0, child;

    while ((child = 2 * at + 1) < count) {
        if (child + 1 < count && worse(&heap[child + 1], &heap[child]))
            child++;
        if (!worse(&heap[child], &offer))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = offer;
}

static void raise_offer(struct spill_offer *heap, uint32_t at, struct spill_offer offer)
{
    for (; at > 0 && worse(&offer, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = offer;
}

void spill_offers_begin(struct spill_offers *offers, uint32_t want)
{
    offers->count = 0;
    offers->frames = 0;
    offers->want = want;
}

void spill_offers_add(struct spill_offers *offers, const struct spill_offer *offer)
{
    struct spill_offer *heap = offers->list;

    raise_offer(heap, offers->count++, *offer);
    offers->frames += offer->frames;
    while (offers->frames - heap[0].frames >= offers->want) {
        offers->frames -= heap[0].frames;
        offers->count--;
        sink_offer(heap, offers->count, heap[offers->count]);
    }
}

void spill_offers_sort(struct spill_offers *offers)
{
    struct spill_offer *heap = offers->list;

    for (uint32_t left = offers->count; left > 1;) {
        struct spill_offer last = heap[--left];

        heap[left] = heap[0];
        sink_offer(heap, left, last);
    }
}
