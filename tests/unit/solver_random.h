/* SPDX-License-Identifier: Apache-2.0 */
/* Random planning problems for the solver's tests: small, cyclic, of every shape the model allows.
 */
#ifndef SPILL_SOLVER_RANDOM_H
#define SPILL_SOLVER_RANDOM_H

#include <stdint.h>
#include <string.h>

#include "solver/problem.h"

#define RANDOM_OPS     24
#define RANDOM_BUFFERS 12

struct random_problem {
    struct spill_problem problem;
    struct spill_op ops[RANDOM_OPS];
    struct spill_access accesses[RANDOM_OPS * RANDOM_BUFFERS];
    struct spill_buffer buffers[RANDOM_BUFFERS];
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(struct random_problem *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t random_below(struct random_problem *r, uint32_t limit)
{
    return (uint32_t)(random_next(r) % limit);
}

/* At most OPS_MOST ops and BUFFERS_MOST buffers of up to PAGES_MOST pages of 1000 bytes; no budget
 * set. */
static inline void random_make(struct random_problem *r, uint64_t seed, uint32_t ops_most,
                               uint32_t buffers_most, uint32_t pages_most)
{
    struct spill_problem *p = &r->problem;
    uint32_t density;

    memset(r, 0, sizeof(*r));
    r->state = seed;
    p->op_count = 1 + random_below(r, ops_most);
    p->buffer_count = random_below(r, buffers_most + 1);
    p->page_bytes = 1000;
    p->out = (struct spill_link){random_below(r, 3) * 10, UINT64_C(1000000000)};
    p->in = (struct spill_link){random_below(r, 3) * 10,
                                UINT64_C(1000000000) / (1 + random_below(r, 2))};
    p->duplex_permille = random_below(r, 3) == 0 ? 500 + random_below(r, 500) : 1000;
    p->host_budget = UINT64_MAX;
    density = 2 + random_below(r, 4);
    for (uint32_t b = 0; b < p->buffer_count; b++) {
        struct spill_buffer *buffer = &r->buffers[b];
        uint32_t pages = random_below(r, 8) == 0 ? 0 : 1 + random_below(r, pages_most);

        buffer->bytes = pages == 0 ? 0 : pages * 1000 - random_below(r, 999);
        buffer->life = random_below(r, 2) ? SPILL_LIFE_ITERATION : SPILL_LIFE_PERSISTENT;
        buffer->birth_op = random_below(r, p->op_count);
        buffer->death_op = random_below(r, p->op_count);
        buffer->pinned = random_below(r, 12) == 0;
    }
    for (uint32_t k = 0; k < p->op_count; k++) {
        struct spill_op *op = &r->ops[k];

        op->duration_ns = random_below(r, 6) == 0 ? 0 : random_below(r, 6000);
        op->access_first = p->access_count;
        for (uint32_t b = 0; b < p->buffer_count; b++) {
            const struct spill_buffer *buffer = &r->buffers[b];
            uint32_t place = (k + p->op_count - buffer->birth_op) % p->op_count;
            uint32_t life = (buffer->death_op + p->op_count - buffer->birth_op) % p->op_count;

            if (buffer->life == SPILL_LIFE_ITERATION && place > life)
                continue;
            if (random_below(r, density) != 0 &&
                (buffer->life == SPILL_LIFE_PERSISTENT || (place != 0 && place != life)))
                continue;
            r->accesses[p->access_count++] = (struct spill_access){b, 1 + random_below(r, 3)};
        }
        op->access_count = p->access_count - op->access_first;
    }
    p->ops = r->ops;
    p->accesses = r->accesses;
    p->buffers = r->buffers;
}

#endif
