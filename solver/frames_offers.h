/* SPDX-License-Identifier: Apache-2.0 */
/* Shelves of frames that offer a run a place. Only the best that together are enough are kept. */
#ifndef SPILL_FRAMES_OFFERS_H
#define SPILL_FRAMES_OFFERS_H

#include <stdbool.h>
#include <stdint.h>

/* Better is: less WAIT, then less TIGHT, then less SLACK, then the first shelf. */
struct spill_offer {
    uint64_t wait;  /* ns that stays would wait for memory that is still being copied out */
    uint64_t tight; /* ns by which hand-overs fall short of the margin that noise asks for */
    uint64_t slack; /* ops between stays: how loosely the run fits */
    uint32_t shelf;
    uint32_t frames;
};

struct spill_offers {
    struct spill_offer *list; /* room for as many as there are shelves, and one more */
    uint32_t count;
    uint64_t frames; /* of all in the list */
    uint64_t want;
};

/* Worth adding, after all of earlier shelves? Most are not. */
static inline bool spill_offers_welcome(const struct spill_offers *offers,
                                        const struct spill_offer *offer)
{
    const struct spill_offer *worst = &offers->list[0];

    if (offers->frames < offers->want || offer->wait != worst->wait)
        return offers->frames < offers->want || offer->wait < worst->wait;
    return offer->tight < worst->tight ||
           (offer->tight == worst->tight && offer->slack < worst->slack);
}

void spill_offers_begin(struct spill_offers *offers, uint32_t want);
/* OFFER is welcome. */
void spill_offers_add(struct spill_offers *offers, const struct spill_offer *offer);
/* Best first. */
void spill_offers_sort(struct spill_offers *offers);

#endif
