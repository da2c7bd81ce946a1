/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum degree on an explicit elimination graph (Tinney and Walker, "Direct solutions of sparse
 * network equations", 1967), which also gives the pattern of the factor; then the factor column by
 * column, each taking what the columns to its left owe it. */
#include "solver/cholesky.h"

#include <string.h>

#include "solver/ascending.h"
#include "solver/realmath.h"

#define NONE UINT32_MAX

/* Neighbours of a row that has not been eliminated, ascending. */
struct row {
    uint32_t *list;
    uint32_t count, room;
    uint32_t prev, next; /* rows of the same degree */
};

struct graph {
    struct row *rows;
    uint32_t *bucket; /* first row of each degree */
    uint32_t count, least;
    struct spill_arena *arena;
};

static void unlink_row(struct graph *g, uint32_t r)
{
    struct row *row = &g->rows[r];

    if (row->prev != NONE)
        g->rows[row->prev].next = row->next;
    else
        g->bucket[row->count] = row->next;
    if (row->next != NONE)
        g->rows[row->next].prev = row->prev;
}

static void link_row(struct graph *g, uint32_t r)
{
    struct row *row = &g->rows[r];

    row->prev = NONE;
    row->next = g->bucket[row->count];
    if (row->next != NONE)
        g->rows[row->next].prev = r;
    g->bucket[row->count] = r;
    g->least = row->count < g->least ? row->count : g->least;
}

static bool graph_open(struct graph *g, const uint32_t (*pairs)[2], size_t pair_count)
{
    g->rows = spill_arena_alloc(g->arena, g->count, sizeof(*g->rows));
    g->bucket = spill_arena_alloc(g->arena, g->count, sizeof(uint32_t));
    if (g->arena->failed)
        return false;
    memset(g->bucket, 0xff, g->count * sizeof(uint32_t));
    for (size_t i = 0; i < 2 * pair_count; i++)
        g->rows[pairs[i / 2][i % 2]].room += pairs[i / 2][0] != pairs[i / 2][1];
    for (uint32_t r = 0; r < g->count; r++) {
        g->rows[r].list = spill_arena_alloc(g->arena, g->rows[r].room, sizeof(uint32_t));
        if (g->rows[r].list == NULL)
            return false;
    }
    for (size_t i = 0; i < 2 * pair_count; i++) {
        struct row *row = &g->rows[pairs[i / 2][i % 2]];

        if (pairs[i / 2][0] != pairs[i / 2][1])
            row->list[row->count++] = pairs[i / 2][1 - i % 2];
    }
    for (uint32_t r = 0; r < g->count; r++) {
        struct row *row = &g->rows[r];
        uint32_t kept = 0;

        spill_ascending_sort(row->list, row->count);
        for (uint32_t i = 0; i < row->count; i++)
            if (kept == 0 || row->list[kept - 1] != row->list[i])
                row->list[kept++] = row->list[i];
        row->count = kept;
    }
    g->least = NONE;
    for (uint32_t r = 0; r < g->count; r++)
        link_row(g, r);
    return true;
}

/* R's neighbours become its own and V's, without the two. */
static bool merge(struct graph *g, uint32_t r, uint32_t v, uint32_t *scratch)
{
    struct row *row = &g->rows[r];
    const struct row *gone = &g->rows[v];
    uint32_t count = 0;

    for (uint32_t i = 0, j = 0; i < row->count || j < gone->count;) {
        uint32_t a = i < row->count ? row->list[i] : NONE;
        uint32_t b = j < gone->count ? gone->list[j] : NONE, low = a < b ? a : b;

        i += a == low;
        j += b == low;
        if (low != r && low != v)
            scratch[count++] = low;
    }
    if (count > row->room) {
        row->room = 2 * count;
        row->list = spill_arena_alloc(g->arena, row->room, sizeof(uint32_t));
        if (row->list == NULL)
            return false;
    }
    row->count = count;
    memcpy(row->list, scratch, count * sizeof(uint32_t));
    return true;
}

/* Eliminates all rows; what is left in each one's list is its column of the factor, by row. */
static bool eliminate(struct graph *g, uint32_t *order, uint64_t fill_most)
{
    uint32_t *scratch = spill_arena_alloc(g->arena, g->count, sizeof(uint32_t));
    uint64_t fill = 0;

    if (scratch == NULL)
        return false;
    for (uint32_t place = 0; place < g->count; place++) {
        uint32_t v;

        while (g->bucket[g->least] == NONE)
            g->least++;
        v = g->bucket[g->least];
        unlink_row(g, v);
        order[place] = v;
        fill += g->rows[v].count;
        if (fill > fill_most)
            return false;
        for (uint32_t i = 0; i < g->rows[v].count; i++) {
            uint32_t r = g->rows[v].list[i];

            unlink_row(g, r);
            if (!merge(g, r, v, scratch))
                return false;
            link_row(g, r);
        }
    }
    return true;
}

bool spill_cholesky_open(struct spill_cholesky *c, uint32_t count, const uint32_t (*pairs)[2],
                         size_t pair_count, uint64_t fill_most, struct spill_arena *arena)
{
    struct spill_arena scratch = {0};
    struct graph g = {.count = count, .arena = &scratch};
    bool opened = false;

    c->count = count;
    c->order = spill_arena_alloc(arena, count, sizeof(uint32_t));
    c->place = spill_arena_alloc(arena, count, sizeof(uint32_t));
    c->col_first = spill_arena_alloc(arena, (size_t)count + 1, sizeof(uint64_t));
    c->diagonal = spill_arena_alloc(arena, count, sizeof(double));
    c->head = spill_arena_alloc(arena, count, sizeof(uint32_t));
    c->next = spill_arena_alloc(arena, count, sizeof(uint32_t));
    c->cursor = spill_arena_alloc(arena, count, sizeof(uint64_t));
    c->column = spill_arena_alloc(arena, count, sizeof(double));
    if (arena->failed || !graph_open(&g, pairs, pair_count) || !eliminate(&g, c->order, fill_most))
        goto close_graph;
    for (uint32_t at = 0; at < count; at++) {
        c->place[c->order[at]] = at;
        c->col_first[at + 1] = c->col_first[at] + g.rows[c->order[at]].count;
    }
    c->below = spill_arena_alloc(arena, c->col_first[count], sizeof(uint32_t));
    c->lower = spill_arena_alloc(arena, c->col_first[count], sizeof(double));
    if (arena->failed)
        goto close_graph;
    for (uint32_t at = 0; at < count; at++) {
        const struct row *row = &g.rows[c->order[at]];
        uint32_t *below = c->below + c->col_first[at];

        for (uint32_t i = 0; i < row->count; i++)
            below[i] = c->place[row->list[i]];
        spill_ascending_sort(below, row->count);
    }
    opened = true;
close_graph:
    spill_arena_free(&scratch);
    return opened;
}

double *spill_cholesky_at(const struct spill_cholesky *c, uint32_t a, uint32_t b)
{
    uint32_t i = c->place[a], j = c->place[b], column = i < j ? i : j, row = i < j ? j : i;
    uint64_t low = c->col_first[column], high = c->col_first[column + 1];

    if (i == j)
        return &c->diagonal[i];
    while (low + 1 < high) {
        uint64_t middle = (low + high) / 2;

        if (c->below[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return &c->lower[low];
}

void spill_cholesky_clear(struct spill_cholesky *c)
{
    memset(c->diagonal, 0, c->count * sizeof(double));
    if (c->col_first[c->count] > 0)
        memset(c->lower, 0, c->col_first[c->count] * sizeof(double));
}

/* Takes off column J what column K, which has an entry in row J, owes it. */
static void owe(struct spill_cholesky *c, uint32_t k, uint32_t j)
{
    uint64_t at = c->cursor[k], end = c->col_first[k + 1];
    double factor = c->lower[at];

    c->diagonal[j] -= factor * factor;
    for (at++; at < end; at++)
        c->column[c->below[at]] -= factor * c->lower[at];
}

/* Column K's next debt is to the row under its cursor. */
static void file_column(struct spill_cholesky *c, uint32_t k)
{
    uint32_t row;

    if (c->cursor[k] == c->col_first[k + 1])
        return;
    row = c->below[c->cursor[k]];
    c->next[k] = c->head[row];
    c->head[row] = k;
}

void spill_cholesky_factor(struct spill_cholesky *c)
{
    memset(c->head, 0xff, c->count * sizeof(uint32_t));
    memset(c->column, 0, c->count * sizeof(double));
    for (uint32_t j = 0; j < c->count; j++) {
        uint64_t first = c->col_first[j], end = c->col_first[j + 1];
        double before = c->diagonal[j], root;

        for (uint32_t k = c->head[j], next; k != NONE; k = next) {
            next = c->next[k];
            owe(c, k, j);
            c->cursor[k]++;
            file_column(c, k);
        }
        /* 1e128: the row depends on those before it */
        root =
            c->diagonal[j] > before * 1e-14 && before > 0 ? spill_real_root(c->diagonal[j]) : 1e128;
        c->diagonal[j] = root;
        for (uint64_t at = first; at < end; at++) {
            c->lower[at] = (c->lower[at] + c->column[c->below[at]]) / root;
            c->column[c->below[at]] = 0;
        }
        c->cursor[j] = first;
        file_column(c, j);
    }
}

void spill_cholesky_solve(const struct spill_cholesky *c, double *rhs)
{
    double *x = c->column;

    for (uint32_t at = 0; at < c->count; at++)
        x[at] = rhs[c->order[at]];
    for (uint32_t at = 0; at < c->count; at++) {
        x[at] /= c->diagonal[at];
        for (uint64_t i = c->col_first[at]; i < c->col_first[at + 1]; i++)
            x[c->below[i]] -= c->lower[i] * x[at];
    }
    for (uint32_t at = c->count; at-- > 0;) {
        for (uint64_t i = c->col_first[at]; i < c->col_first[at + 1]; i++)
            x[at] -= c->lower[i] * x[c->below[i]];
        x[at] /= c->diagonal[at];
    }
    for (uint32_t at = 0; at < c->count; at++)
        rhs[c->order[at]] = x[at];
}
