/* SPDX-License-Identifier: Apache-2.0 */
/* Primal-dual predictor-corrector (Mehrotra, "On the implementation of a primal-dual interior point
 * method", 1992) with upper bounds: w = upper - x, and z, v are the prices of x >= 0 and w >= 0. */
#include "solver/interior.h"

#include <stdbool.h>
#include <string.h>

#include "solver/cholesky.h"
#include "solver/realmath.h"

#define FILL_MOST UINT64_C(4000000)

struct point {
    double *x, *w, *z, *v, *y;
};

struct method {
    struct spill_interior *lp;
    struct spill_cholesky factor;
    double **at; /* for each column and pair of its entries: where their product belongs */
    struct point now, step;
    double *weight;                             /* of each column: x / z and w / v together */
    double *short_rows, *short_cost, *short_up; /* what is missing of each equation */
    double *h, *right;
};

enum spill_status spill_interior_open(struct spill_interior *lp, uint32_t rows, uint32_t cols,
                                      uint32_t entries, struct spill_arena *arena)
{
    memset(lp, 0, sizeof(*lp));
    lp->row_count = rows;
    lp->col_first = spill_arena_alloc(arena, (size_t)cols + 1, sizeof(uint32_t));
    lp->row = spill_arena_alloc(arena, entries, sizeof(uint32_t));
    lp->value = spill_arena_alloc(arena, entries, sizeof(double));
    lp->cost = spill_arena_alloc(arena, cols, sizeof(double));
    lp->upper = spill_arena_alloc(arena, cols, sizeof(double));
    lp->x = spill_arena_alloc(arena, cols, sizeof(double));
    lp->rhs = spill_arena_alloc(arena, rows, sizeof(double));
    lp->y = spill_arena_alloc(arena, rows, sizeof(double));
    return arena->failed ? SPILL_ERR_NOMEM : SPILL_OK;
}

uint32_t spill_interior_column(struct spill_interior *lp, double cost, double upper)
{
    uint32_t column = lp->col_count++;

    lp->cost[column] = cost;
    lp->upper[column] = upper;
    lp->col_first[column + 1] = lp->col_first[column];
    return column;
}

void spill_interior_entry(struct spill_interior *lp, uint32_t row, double value)
{
    uint32_t at = lp->col_first[lp->col_count]++;

    lp->row[at] = row;
    lp->value[at] = value;
}

static bool bounded(const struct method *m, uint32_t j)
{
    return m->lp->upper[j] < SPILL_INTERIOR_OPEN;
}

/* Calls for every pair of entries of every column, in a fixed order. */
#define EACH_PAIR(lp, j, a, b)                                                                     \
    for (uint32_t j = 0; j < (lp)->col_count; j++)                                                 \
        for (uint32_t a = (lp)->col_first[j]; a < (lp)->col_first[j + 1]; a++)                     \
            for (uint32_t b = a; b < (lp)->col_first[j + 1]; b++)

static bool method_open(struct method *m, struct spill_arena *arena)
{
    struct spill_interior *lp = m->lp;
    uint32_t rows = lp->row_count, cols = lp->col_count;
    size_t pairs = 0, i = 0;
    uint32_t(*pair)[2];

    EACH_PAIR(lp, j, a, b) pairs++;
    pair = spill_arena_alloc(arena, pairs, sizeof(*pair));
    m->at = spill_arena_alloc(arena, pairs, sizeof(*m->at));
    for (int p = 0; p < 2; p++) {
        struct point *point = p == 0 ? &m->now : &m->step;

        point->x = spill_arena_alloc(arena, cols, sizeof(double));
        point->w = spill_arena_alloc(arena, cols, sizeof(double));
        point->z = spill_arena_alloc(arena, cols, sizeof(double));
        point->v = spill_arena_alloc(arena, cols, sizeof(double));
        point->y = spill_arena_alloc(arena, rows, sizeof(double));
    }
    m->weight = spill_arena_alloc(arena, cols, sizeof(double));
    m->short_cost = spill_arena_alloc(arena, cols, sizeof(double));
    m->short_up = spill_arena_alloc(arena, cols, sizeof(double));
    m->h = spill_arena_alloc(arena, cols, sizeof(double));
    m->short_rows = spill_arena_alloc(arena, rows, sizeof(double));
    m->right = spill_arena_alloc(arena, rows, sizeof(double));
    if (arena->failed)
        return false;
    EACH_PAIR(lp, j, a, b)
    {
        pair[i][0] = lp->row[a];
        pair[i++][1] = lp->row[b];
    }
    if (!spill_cholesky_open(&m->factor, rows, (const uint32_t(*)[2])pair, pairs, FILL_MOST, arena))
        return false;
    i = 0;
    EACH_PAIR(lp, j, a, b)
    m->at[i++] = spill_cholesky_at(&m->factor, lp->row[a], lp->row[b]);
    return true;
}

/* Factors A diag(weight) A'. */
static void factor(struct method *m)
{
    const struct spill_interior *lp = m->lp;
    size_t i = 0;

    spill_cholesky_clear(&m->factor);
    EACH_PAIR(lp, j, a, b)
    *m->at[i++] += m->weight[j] * lp->value[a] * lp->value[b];
    spill_cholesky_factor(&m->factor);
}

/* OUT -= A IN, by row. */
static void subtract_rows(const struct spill_interior *lp, const double *in, double *out)
{
    for (uint32_t j = 0; j < lp->col_count; j++)
        for (uint32_t a = lp->col_first[j]; a < lp->col_first[j + 1]; a++)
            out[lp->row[a]] -= lp->value[a] * in[j];
}

/* A' Y for one column. */
static double priced(const struct spill_interior *lp, uint32_t j, const double *y)
{
    double sum = 0;

    for (uint32_t a = lp->col_first[j]; a < lp->col_first[j + 1]; a++)
        sum += lp->value[a] * y[lp->row[a]];
    return sum;
}

/* The least-squares solution of the rows, moved inside the bounds; prices from the costs. */
static void start(struct method *m)
{
    struct spill_interior *lp = m->lp;
    double mean = 0, dear = 1;

    for (uint32_t j = 0; j < lp->col_count; j++) {
        m->now.x[j] = bounded(m, j) ? lp->upper[j] / 2 : 0;
        m->weight[j] = bounded(m, j) ? spill_real_min(1, lp->upper[j]) : 1;
        dear = spill_real_max(dear, lp->cost[j] < 0 ? 1 - lp->cost[j] : lp->cost[j]);
    }
    factor(m);
    memcpy(m->right, lp->rhs, lp->row_count * sizeof(double));
    subtract_rows(lp, m->now.x, m->right);
    spill_cholesky_solve(&m->factor, m->right);
    for (uint32_t j = 0; j < lp->col_count; j++) {
        m->now.x[j] += m->weight[j] * priced(lp, j, m->right);
        mean += m->now.x[j] > 0 ? m->now.x[j] : -m->now.x[j];
    }
    mean = mean / lp->col_count + 1e-3;
    for (uint32_t j = 0; j < lp->col_count; j++) {
        double low = mean, high = SPILL_INTERIOR_OPEN;

        if (bounded(m, j)) {
            low = spill_real_min(mean, 0.2 * lp->upper[j]);
            high = lp->upper[j] - low;
        }
        m->now.x[j] = spill_real_min(spill_real_max(m->now.x[j], low), high);
        m->now.w[j] = bounded(m, j) ? lp->upper[j] - m->now.x[j] : 1;
        m->now.z[j] = lp->cost[j] + dear;
        m->now.v[j] = bounded(m, j) ? dear : 0;
    }
    memset(m->now.y, 0, lp->row_count * sizeof(double));
}

/* What is missing of each equation, and the mean product of prices and distances to the bounds. */
static double measure(struct method *m)
{
    const struct spill_interior *lp = m->lp;
    double sum = 0;
    uint32_t products = 0;

    memcpy(m->short_rows, lp->rhs, lp->row_count * sizeof(double));
    subtract_rows(lp, m->now.x, m->short_rows);
    for (uint32_t j = 0; j < lp->col_count; j++) {
        m->short_cost[j] = lp->cost[j] - priced(lp, j, m->now.y) - m->now.z[j] + m->now.v[j];
        m->short_up[j] = 0;
        sum += m->now.x[j] * m->now.z[j];
        products++;
        m->weight[j] = m->now.z[j] / m->now.x[j];
        if (bounded(m, j)) {
            m->short_up[j] = lp->upper[j] - m->now.x[j] - m->now.w[j];
            sum += m->now.w[j] * m->now.v[j];
            products++;
            m->weight[j] += m->now.v[j] / m->now.w[j];
        }
        m->weight[j] = 1 / m->weight[j];
    }
    return sum / products;
}

/* The step to where all products are GOAL, less the products of the step before if AGAIN. */
static void find_step(struct method *m, double goal, bool again)
{
    const struct spill_interior *lp = m->lp;
    const struct point *p = &m->now;
    struct point *d = &m->step;

    for (uint32_t j = 0; j < lp->col_count; j++) {
        double xz = goal - p->x[j] * p->z[j] - (again ? d->x[j] * d->z[j] : 0);

        m->h[j] = xz / p->x[j] - m->short_cost[j];
        d->z[j] = xz; /* kept for below */
        if (bounded(m, j)) {
            double wv = goal - p->w[j] * p->v[j] - (again ? d->w[j] * d->v[j] : 0);

            m->h[j] -= (wv - p->v[j] * m->short_up[j]) / p->w[j];
            d->v[j] = wv;
        }
        d->x[j] = m->weight[j] * m->h[j];
    }
    memcpy(d->y, m->short_rows, lp->row_count * sizeof(double));
    subtract_rows(lp, d->x, d->y);
    spill_cholesky_solve(&m->factor, d->y);
    for (uint32_t j = 0; j < lp->col_count; j++) {
        d->x[j] = m->weight[j] * (m->h[j] + priced(lp, j, d->y));
        d->z[j] = (d->z[j] - p->z[j] * d->x[j]) / p->x[j];
        if (bounded(m, j)) {
            d->w[j] = m->short_up[j] - d->x[j];
            d->v[j] = (d->v[j] - p->v[j] * d->w[j]) / p->w[j];
        }
    }
}

/* How far the step may go before a distance or a price becomes 0. */
static void reach(const struct method *m, double *primal, double *dual)
{
    const struct point *p = &m->now, *d = &m->step;

    *primal = *dual = 1;
    for (uint32_t j = 0; j < m->lp->col_count; j++) {
        if (d->x[j] < 0)
            *primal = spill_real_min(*primal, -p->x[j] / d->x[j]);
        if (d->z[j] < 0)
            *dual = spill_real_min(*dual, -p->z[j] / d->z[j]);
        if (!bounded(m, j))
            continue;
        if (d->w[j] < 0)
            *primal = spill_real_min(*primal, -p->w[j] / d->w[j]);
        if (d->v[j] < 0)
            *dual = spill_real_min(*dual, -p->v[j] / d->v[j]);
    }
}

/* The mean product after a step of that length. */
static double mean_after(const struct method *m, double primal, double dual)
{
    const struct point *p = &m->now, *d = &m->step;
    double sum = 0;
    uint32_t products = 0;

    for (uint32_t j = 0; j < m->lp->col_count; j++) {
        sum += (p->x[j] + primal * d->x[j]) * (p->z[j] + dual * d->z[j]);
        products++;
        if (bounded(m, j)) {
            sum += (p->w[j] + primal * d->w[j]) * (p->v[j] + dual * d->v[j]);
            products++;
        }
    }
    return sum / products;
}

static void go(struct method *m, double primal, double dual)
{
    struct point *p = &m->now, *d = &m->step;

    for (uint32_t j = 0; j < m->lp->col_count; j++) {
        p->x[j] += primal * d->x[j];
        p->z[j] += dual * d->z[j];
        if (bounded(m, j)) {
            p->w[j] += primal * d->w[j];
            p->v[j] += dual * d->v[j];
        }
    }
    for (uint32_t r = 0; r < m->lp->row_count; r++)
        p->y[r] += dual * d->y[r];
}

/* Is the gap between the values of x and y below ACCURACY, and are the rows met as well? */
static bool close_enough(const struct method *m, double accuracy)
{
    const struct spill_interior *lp = m->lp;
    double primal = 0, dual = 0, missing = 0, size = 1;

    for (uint32_t j = 0; j < lp->col_count; j++) {
        primal += lp->cost[j] * m->now.x[j];
        dual -= bounded(m, j) ? lp->upper[j] * m->now.v[j] : 0;
    }
    for (uint32_t r = 0; r < lp->row_count; r++) {
        double value = lp->rhs[r] < 0 ? -lp->rhs[r] : lp->rhs[r];

        dual += lp->rhs[r] * m->now.y[r];
        missing += m->short_rows[r] < 0 ? -m->short_rows[r] : m->short_rows[r];
        size += value;
    }
    return primal - dual < accuracy * (primal > 1 ? primal : 1) &&
           dual - primal < accuracy * (primal > 1 ? primal : 1) && missing < accuracy * size;
}

enum spill_status spill_interior_solve(struct spill_interior *lp, double accuracy,
                                       uint32_t rounds_most, struct spill_arena *arena)
{
    struct method m = {.lp = lp};

    if (!method_open(&m, arena))
        return SPILL_ERR_NOMEM;
    start(&m);
    for (lp->rounds = 0; lp->rounds < rounds_most; lp->rounds++) {
        double mean = measure(&m), primal, dual, ratio;

        if (close_enough(&m, accuracy))
            break;
        factor(&m);
        find_step(&m, 0, false);
        reach(&m, &primal, &dual);
        ratio = mean_after(&m, primal, dual) / mean;
        find_step(&m, ratio * ratio * ratio * mean, true);
        reach(&m, &primal, &dual);
        go(&m, spill_real_min(1, 0.9995 * primal), spill_real_min(1, 0.9995 * dual));
    }
    memcpy(lp->x, m.now.x, lp->col_count * sizeof(double));
    memcpy(lp->y, m.now.y, lp->row_count * sizeof(double));
    return SPILL_OK;
}
