/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic program on the chain; what is reconstructed and how stands in methods.h. */
#include "solver/cover.h"
#include "solver/methods.h"
#include "solver/realmath.h"

enum { SLOTS_MOST = 50, STAGES_MOST = 64, TRIES = 8, WIDTH = SLOTS_MOST + 1 };
#define STATES      ((size_t)WIDTH * WIDTH * WIDTH)
#define NEVER       1e300
#define AT(a, f, b) (((size_t)(a)*WIDTH + (f)) * WIDTH + (b))

/* A stage and its mirror image, in slots; the last stage is the turning point, where nothing is
 * chosen. */
struct stage {
    uint32_t pages;            /* of the activations that it leaves idle */
    uint32_t first, count;     /* these activations, in the order of their out_op */
    double forward, backward;  /* bytes that the links carry meanwhile */
    int64_t need_out, need_in; /* pages needed besides the activations of earlier stages */
    int size, cap_out, cap_in; /* the same rounded to slots, */
    int fixed_out, fixed_in;   /* sums over the stages true to a slot */
};

struct chain {
    const struct spill_prep *prep;
    uint32_t *gaps; /* activations by out_op */
    uint32_t gap_count, turn;
    struct stage stages[STAGES_MOST + 1];
    uint32_t stage_count;
    double out_ns, in_ns; /* a slot's copies */
    unsigned char *goes;  /* per stage and state: do its activations leave? */
};

/* Activations by the op that leaves them idle. The chain begins at op 0: those that are idle across
 * the border of the iteration have no place in it and stay. */
static bool list_activations(struct chain *c, struct spill_arena *arena)
{
    const struct spill_prep *prep = c->prep;
    double *score = spill_arena_alloc(arena, prep->gap_count, sizeof(double));

    if (score == NULL)
        return false;
    for (uint32_t g = 0; g < prep->gap_count; g++) {
        const struct spill_gap *gap = &prep->gaps[g];
        bool is = spill_cover_is_activation(prep, g, c->turn) && gap->out_op < gap->use_op;

        score[g] = is ? -(double)gap->out_op : SPILL_COVER_NEVER;
        c->gap_count += is;
    }
    c->gaps = spill_cover_rank(prep, score, arena);
    return c->gaps != NULL;
}

/* Of the ops in [FROM, TO): what the link carries meanwhile, and the most memory. */
static void survey(const struct chain *c, uint32_t from, uint32_t to, const struct spill_link *link,
                   double *bytes, int64_t *need)
{
    double time = 0;

    for (uint32_t k = from; k < to; k++) {
        time += (double)c->prep->problem->ops[k].duration_ns;
        *need = *need > c->prep->base[k] ? *need : c->prep->base[k];
    }
    *bytes = time * 1e-9 * (double)link->bytes_per_s;
}

/* Cuts the activations into stages of about equal size. The ops of a stage follow those of the one
 * before; mirrored, they precede the first op that needs an activation of the one before. */
static void make_stages(struct chain *c, uint32_t parked)
{
    const struct spill_prep *prep = c->prep;
    uint32_t begun = 0, until = prep->problem->op_count, i = 0;
    uint64_t total = 0, passed = 0;

    for (uint32_t g = 0; g < c->gap_count; g++)
        total += spill_cover_full(prep, c->gaps[g]);
    do {
        struct stage *s = &c->stages[c->stage_count++];
        uint32_t ends = begun, needed = until;

        *s = (struct stage){.first = i};
        for (; i < c->gap_count; i++) {
            const struct spill_gap *gap = &prep->gaps[c->gaps[i]];

            if (s->count > 0 && gap->out_op >= ends &&
                (passed + s->pages) * (STAGES_MOST - 1) >= total * c->stage_count)
                break;
            ends = gap->out_op + 1;
            needed = gap->use_op < needed ? gap->use_op : needed;
            s->pages += spill_cover_full(prep, c->gaps[i]);
            s->count++;
        }
        if (s->count == 0) { /* the last */
            ends = c->turn + 1;
            needed = c->turn + 1;
        }
        survey(c, begun, ends, &prep->problem->out, &s->forward, &s->need_out);
        survey(c, needed, until, &prep->problem->in, &s->backward, &s->need_in);
        s->need_out -= (int64_t)(parked + passed);
        s->need_in -= (int64_t)(parked + passed);
        passed += s->pages;
        begun = ends;
        until = needed;
    } while (c->stages[c->stage_count - 1].count > 0);
}

static int slots_of(int64_t pages, int64_t unit)
{
    int64_t slots = pages <= 0 ? 0 : (pages + unit / 2) / unit;

    return slots > 10 * SLOTS_MOST ? 10 * SLOTS_MOST : (int)slots;
}

/* Sizes in slots of UNIT pages. Sums are rounded, not each size, so that errors do not add up. */
static void round_stages(struct chain *c, int64_t unit)
{
    const struct spill_problem *p = c->prep->problem;
    double unit_bytes = (double)unit * (double)p->page_bytes, forward = 0, backward = 0;
    int64_t pages = 0;

    c->out_ns = unit_bytes * 1e9 / (double)p->out.bytes_per_s;
    c->in_ns = unit_bytes * 1e9 / (double)p->in.bytes_per_s;
    for (uint32_t i = 0; i < c->stage_count; i++) {
        struct stage *s = &c->stages[i];
        double sent = forward, fetched = backward;

        s->fixed_out = slots_of(s->need_out, unit);
        s->fixed_in = slots_of(s->need_in, unit);
        s->size = (int)((pages + s->pages + unit / 2) / unit - (pages + unit / 2) / unit);
        pages += s->pages;
        forward = spill_real_min(1e9, forward + s->forward / unit_bytes);
        backward = spill_real_min(1e9, backward + s->backward / unit_bytes);
        s->cap_out = (int)forward - (int)sent;
        s->cap_in = (int)backward - (int)fetched;
    }
}

static int over(int value)
{
    return value > 0 ? value : 0;
}

/* Waiting from stage I on with A staying, F on its way out and B under way back; and whether the
 * stage's activations had better leave. NEXT: the same of the stage after it. */
static double wait_from(const struct chain *c, uint32_t i, int slots, int a, int f, int b,
                        const double *next, unsigned char *goes)
{
    const struct stage *s = &c->stages[i];
    int wait_out = over(s->fixed_out + a + f - slots), wait_in = over(s->fixed_in + a + b - slots);
    double here = wait_out * c->out_ns + wait_in * c->in_ns, stay = NEVER, go = NEVER;

    if (wait_out > f || wait_in > b)
        return NEVER; /* what stays alone is too much */
    f = over(f - wait_out - s->cap_out);
    b = over(b - wait_in - s->cap_in);
    if (i + 1 == c->stage_count)
        return here + f * c->out_ns + b * c->in_ns;
    if (a + s->size <= slots)
        stay = next[AT(a + s->size, f, b)];
    if (f + s->size <= slots && b + s->size <= slots)
        go = next[AT(a, f + s->size, b + s->size)];
    *goes = go < stay;
    return here + (go < stay ? go : stay);
}

/* False: nothing fits. */
static bool optimise(struct chain *c, int slots, double *now, double *next)
{
    for (uint32_t i = c->stage_count; i-- > 0;) {
        double *swap = now;

        for (int a = 0; a <= slots; a++)
            for (int f = 0; f <= slots; f++)
                for (int b = 0; b <= slots; b++)
                    now[AT(a, f, b)] =
                        wait_from(c, i, slots, a, f, b, next, &c->goes[i * STATES + AT(a, f, b)]);
        now = next;
        next = swap;
    }
    return next[AT(0, 0, 0)] < NEVER;
}

/* Follows the choices from the first stage on. */
static void collect(const struct chain *c, int slots, uint32_t *amount)
{
    int a = 0, f = 0, b = 0;

    for (uint32_t i = 0; i + 1 < c->stage_count; i++) {
        const struct stage *s = &c->stages[i];
        bool goes = c->goes[i * STATES + AT(a, f, b)] != 0;
        int wait_out = over(s->fixed_out + a + f - slots);
        int wait_in = over(s->fixed_in + a + b - slots);

        f = over(f - wait_out - s->cap_out) + (goes ? s->size : 0);
        b = over(b - wait_in - s->cap_in) + (goes ? s->size : 0);
        a += goes ? 0 : s->size;
        for (uint32_t g = s->first; g < s->first + s->count; g++)
            amount[c->gaps[g]] = goes ? spill_cover_full(c->prep, c->gaps[g]) : 0;
    }
}

enum spill_status spill_choose_dp(const struct spill_prep *prep, uint32_t budget, uint32_t parked,
                                  uint32_t *amount, struct spill_arena *arena)
{
    struct chain *c = spill_arena_alloc(arena, 1, sizeof(*c));
    double *now = spill_arena_alloc(arena, STATES, sizeof(double));
    double *next = spill_arena_alloc(arena, STATES, sizeof(double));
    int64_t unit = budget / SLOTS_MOST + (budget % SLOTS_MOST != 0);

    if (arena->failed)
        return SPILL_ERR_NOMEM;
    c->prep = prep;
    c->turn = spill_cover_turn(prep);
    c->goes = spill_arena_alloc(arena, (STAGES_MOST + 1) * STATES, 1);
    if (c->goes == NULL || !list_activations(c, arena))
        return SPILL_ERR_NOMEM;
    make_stages(c, parked);
    round_stages(c, unit > 0 ? unit : 1);
    /* Rounding may have been too hopeful: then with a slot less. */
    for (int slots = (int)(unit > 0 ? budget / unit : 0), last = slots - TRIES; slots > last;
         slots--) {
        struct spill_cover cover;

        if (slots < 0 || !optimise(c, slots, now, next))
            return SPILL_ERR_INFEASIBLE;
        collect(c, slots, amount);
        if (!spill_cover_open(&cover, prep, budget, parked, amount, arena))
            return SPILL_ERR_NOMEM;
        if (spill_cover_fits(&cover) == SPILL_OK)
            return SPILL_OK;
    }
    return SPILL_ERR_INFEASIBLE;
}
