/* SPDX-License-Identifier: Apache-2.0 */
/* The planning problem at full duplex as a mixed-integer program for an outside solver. Nothing
 * here plays a plan: the least step time T is the least period for which start times exist.
 *
 * Variables: T; S_k, O_c, I_c, the starts of op k, of the copy out and of the copy in of candidate
 * c, each from the start of the iteration that launches it. A candidate is a run of pages in a gap.
 * X_c = sum over j of Y_c_j: it is moved and called back by the j-th op after the one it leaves
 * after. Z_c_d, U_c_d: c goes before d where both are queued after the same op. F_p_r: page p has
 * frame r; Q_p_q: pages p and q share one. A row "event of the next iteration after event of this
 * one" has a T on its left side. */
#ifndef SPILL_SOLVER_MIP_H
#define SPILL_SOLVER_MIP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem.h"
#include "tests/unit/solver_bruteforce.h"

enum { MIP_CANDIDATES = 24 };

struct mip_candidate {
    const struct brute_gap *gap;
    uint32_t first, count; /* pages of the buffer */
    uint64_t out_ns, in_ns;
};

struct mip {
    const struct brute *brute; /* for pages and gaps */
    const struct spill_problem *problem;
    struct mip_candidate list[MIP_CANDIDATES];
    uint32_t count;
    uint64_t horizon; /* no event starts later */
    FILE *out;
};

static inline uint64_t mip_copy_ns(const struct spill_link *link, uint64_t bytes)
{
    return link->latency_ns +
           (bytes * UINT64_C(1000000000) + link->bytes_per_s - 1) / link->bytes_per_s;
}

static inline bool mip_list(struct mip *m)
{
    const struct spill_problem *p = m->problem;

    m->horizon = 1;
    for (uint32_t k = 0; k < p->op_count; k++)
        m->horizon += p->ops[k].duration_ns;
    for (uint32_t g = 0; g < m->brute->gap_count; g++) {
        const struct brute_gap *gap = &m->brute->gaps[g];
        uint32_t pages = m->brute->pages[gap->buffer];

        for (uint32_t first = 0; first < pages; first++)
            for (uint32_t count = 1; first + count <= pages; count++) {
                uint64_t end = (first + count) * p->page_bytes,
                         bytes = p->buffers[gap->buffer].bytes;
                uint64_t moved = (end < bytes ? end : bytes) - first * p->page_bytes;

                if (m->count == MIP_CANDIDATES)
                    return false;
                m->list[m->count++] = (struct mip_candidate){
                    gap, first, count, mip_copy_ns(&p->out, moved), mip_copy_ns(&p->in, moved)};
                m->horizon +=
                    count > 1 ? 0 : mip_copy_ns(&p->out, moved) + mip_copy_ns(&p->in, moved);
            }
    }
    return true;
}

static inline uint32_t mip_in_op(const struct mip *m, uint32_t c, uint32_t j)
{
    return (m->list[c].gap->out_op + j) % m->problem->op_count;
}

static inline bool mip_has_page(const struct mip *m, uint32_t c, uint32_t page)
{
    const struct mip_candidate *x = &m->list[c];
    uint32_t base = m->brute->page_base[x->gap->buffer] + x->first;

    return page >= base && page < base + x->count;
}

/* A row with "- BIG binary" on its left and so much less on its right holds only if the binary
 * is 1.
 */
static inline double mip_big(const struct mip *m)
{
    return 2.0 * (double)m->horizon;
}

static inline void mip_ops(const struct mip *m)
{
    const struct spill_problem *p = m->problem;
    uint32_t n = p->op_count;

    fprintf(m->out, " S_0 = 0\n");
    for (uint32_t k = 0; k + 1 < n; k++)
        fprintf(m->out, " S_%u - S_%u >= %llu\n", k + 1, k,
                (unsigned long long)p->ops[k].duration_ns);
    fprintf(m->out, " T - S_%u >= %llu\n", n - 1, (unsigned long long)p->ops[n - 1].duration_ns);
}

/* Each page of a gap in one run at most; a copy out after its op; a copy in after the op that calls
 * it, after its copy out, and before its use. */
static inline void mip_moves(const struct mip *m)
{
    const struct spill_problem *p = m->problem;
    double big = mip_big(m);

    for (uint32_t c = 0; c < m->count; c++) {
        const struct mip_candidate *x = &m->list[c];
        const struct brute_gap *gap = x->gap;

        fprintf(m->out, " X_%u", c);
        for (uint32_t j = 1; j <= gap->length; j++)
            fprintf(m->out, " - Y_%u_%u", c, j);
        fprintf(m->out, " = 0\n T - %llu X_%u >= 0\n T - %llu X_%u >= 0\n",
                (unsigned long long)x->out_ns, c, (unsigned long long)x->in_ns, c);
        fprintf(m->out, " O_%u - S_%u >= %llu\n", c, gap->out_op,
                (unsigned long long)p->ops[gap->out_op].duration_ns);
        for (uint32_t j = 1; j <= gap->length; j++) {
            uint32_t in_op = mip_in_op(m, c, j);

            fprintf(m->out, " I_%u - S_%u - %.0f Y_%u_%u >= %.0f\n", c, in_op, big, c, j, -big);
            fprintf(m->out, " I_%u - O_%u %s - %.0f Y_%u_%u >= %.0f\n", c, c,
                    in_op < gap->out_op ? "+ T" : "", big, c, j, (double)x->out_ns - big);
            fprintf(m->out, " S_%u - I_%u %s - %.0f Y_%u_%u >= %.0f\n", gap->use_op, c,
                    gap->use_op < in_op ? "+ T" : "", big, c, j, (double)x->in_ns - big);
        }
    }
    for (uint32_t page = 0; page < m->brute->page_total; page++)
        for (uint32_t g = 0; g < m->brute->gap_count; g++) {
            uint32_t any = 0;

            for (uint32_t c = 0; c < m->count; c++)
                if (m->list[c].gap == &m->brute->gaps[g] && mip_has_page(m, c, page))
                    fprintf(m->out, "%s X_%u", any++ ? " +" : "", c);
            if (any)
                fprintf(m->out, " <= 1\n");
        }
}

/* Copy D of kind NAME (O or I) after copy C, if both are made and, where AFTER is not 0, ORDER says
 * so (+1: it is 1; -1: it is 0). C_LATER: D belongs to the next iteration. */
static inline void mip_queue(const struct mip *m, const char *name, uint32_t c, uint32_t d,
                             uint64_t c_ns, bool d_later, const char *made, const char *order,
                             int after)
{
    double big = mip_big(m), constant = (double)c_ns - 2 * big;

    fprintf(m->out, " %s_%u - %s_%u %s %s", name, d, name, c, d_later ? "+ T" : "", made);
    if (after > 0)
        fprintf(m->out, " - %.0f %s", big, order);
    if (after < 0)
        fprintf(m->out, " + %.0f %s", big, order);
    fprintf(m->out, " >= %.0f\n", after > 0 ? constant - big : constant);
}

/* First in, first out on each link, in the order of the ops that queue the copies. */
static inline void mip_links(const struct mip *m)
{
    char made[96], order[32];
    double big = mip_big(m);

    for (uint32_t c = 0; c < m->count; c++)
        for (uint32_t d = c + 1; d < m->count; d++) {
            const struct mip_candidate *x = &m->list[c], *y = &m->list[d];
            int way = x->gap->out_op < y->gap->out_op   ? 1
                      : x->gap->out_op > y->gap->out_op ? -1
                                                        : 0;

            snprintf(made, sizeof(made), "- %.0f X_%u - %.0f X_%u", big, c, big, d);
            snprintf(order, sizeof(order), "Z_%u_%u", c, d);
            if (way >= 0)
                mip_queue(m, "O", c, d, x->out_ns, false, made, order, way == 0);
            if (way <= 0)
                mip_queue(m, "O", d, c, y->out_ns, false, made, order, -(way == 0));
            mip_queue(m, "O", c, d, x->out_ns, true, made, order, 0);
            mip_queue(m, "O", d, c, y->out_ns, true, made, order, 0);
            snprintf(order, sizeof(order), "U_%u_%u", c, d);
            for (uint32_t i = 1; i <= x->gap->length; i++)
                for (uint32_t j = 1; j <= y->gap->length; j++) {
                    uint32_t first = mip_in_op(m, c, i), second = mip_in_op(m, d, j);

                    way = first < second ? 1 : first > second ? -1 : 0;
                    snprintf(made, sizeof(made), "- %.0f Y_%u_%u - %.0f Y_%u_%u", big, c, i, big, d,
                             j);
                    if (way >= 0)
                        mip_queue(m, "I", c, d, x->in_ns, false, made, order, way == 0);
                    if (way <= 0)
                        mip_queue(m, "I", d, c, y->in_ns, false, made, order, -(way == 0));
                    mip_queue(m, "I", c, d, x->in_ns, true, made, order, 0);
                    mip_queue(m, "I", d, c, y->in_ns, true, made, order, 0);
                }
        }
}

static inline uint32_t mip_buffer_of(const struct mip *m, uint32_t page)
{
    uint32_t b = 0;

    while (m->brute->page_base[b + 1] <= page)
        b++;
    return b;
}

/* How many of pages P and Q are resident at OP, less what is constant, which is returned. */
static inline int mip_resident(const struct mip *m, uint32_t p, uint32_t q, uint32_t op)
{
    uint32_t n = m->problem->op_count;

    for (uint32_t c = 0; c < m->count; c++) {
        uint32_t since = (op + n - m->list[c].gap->out_op) % n;
        int pages = mip_has_page(m, c, p) + mip_has_page(m, c, q);

        for (uint32_t j = since; pages > 0 && since > 0 && j <= m->list[c].gap->length; j++)
            fprintf(m->out, " - %d Y_%u_%u", pages, c, j);
    }
    return brute_alive(m->problem, op, mip_buffer_of(m, p)) +
           brute_alive(m->problem, op, mip_buffer_of(m, q));
}

/* Q sits where page Q's stay begins after page P's ended by candidate C's copy out, or by P's death
 * (C is NULL), on a frame that they share. */
static inline void mip_handover(const struct mip *m, uint32_t p, uint32_t p_buffer, uint32_t q,
                                uint32_t q_buffer, uint32_t c)
{
    const struct spill_buffer *dead = &m->problem->buffers[p_buffer];
    const struct spill_buffer *born = &m->problem->buffers[q_buffer];
    bool death = c == m->count;
    uint32_t last = death ? dead->death_op : m->list[c].gap->out_op;
    uint64_t ns = death ? m->problem->ops[last].duration_ns : m->list[c].out_ns;
    double big = mip_big(m);
    char end[48], share[32];

    snprintf(share, sizeof(share), "Q_%u_%u", p < q ? p : q, p < q ? q : p);
    if (death)
        snprintf(end, sizeof(end), "- S_%u", last);
    else
        snprintf(end, sizeof(end), "- O_%u - %.0f X_%u", c, big, c);
    if (!death && born->life == SPILL_LIFE_ITERATION)
        fprintf(m->out, " S_%u %s %s - %.0f %s >= %.0f\n", born->birth_op, end,
                born->birth_op > last ? "" : "+ T", big, share, (double)ns - 2 * big);
    for (uint32_t d = 0; d < m->count; d++)
        for (uint32_t j = 1; mip_has_page(m, d, q) && j <= m->list[d].gap->length; j++)
            fprintf(m->out, " I_%u %s %s - %.0f Y_%u_%u - %.0f %s >= %.0f\n", d, end,
                    mip_in_op(m, d, j) >= last ? "" : "+ T", big, d, j, big, share,
                    (double)ns - (death ? 2 : 3) * big);
}

/* A frame for each page; two pages share one only if they are never there at the same op, and the
 * one that comes waits for the one that goes. */
static inline void mip_frames(const struct mip *m)
{
    uint32_t pages = m->brute->page_total, n = m->problem->op_count;

    for (uint32_t p = 0; p < pages; p++) {
        for (uint32_t r = 0; r < m->brute->budget && r <= p; r++)
            fprintf(m->out, "%s F_%u_%u", r > 0 ? " +" : "", p, r);
        fprintf(m->out, " = 1\n");
    }
    for (uint32_t p = 0; p < pages; p++)
        for (uint32_t q = p + 1; q < pages; q++) {
            uint32_t a = mip_buffer_of(m, p), b = mip_buffer_of(m, q);

            for (uint32_t r = 0; r < m->brute->budget && r <= p; r++)
                fprintf(m->out, " Q_%u_%u - F_%u_%u - F_%u_%u >= -1\n", p, q, p, r, q, r);
            for (uint32_t k = 0; k < n; k++) {
                fprintf(m->out, " Q_%u_%u", p, q);
                fprintf(m->out, " <= %d\n", 2 - mip_resident(m, p, q, k));
            }
            for (uint32_t c = 0; c <= m->count; c++) {
                bool death = c == m->count;

                if (death ? m->problem->buffers[a].life == SPILL_LIFE_ITERATION
                          : mip_has_page(m, c, p))
                    mip_handover(m, p, a, q, b, c);
                if (death ? m->problem->buffers[b].life == SPILL_LIFE_ITERATION
                          : mip_has_page(m, c, q))
                    mip_handover(m, q, b, p, a, c);
            }
        }
}

/* Pages on the host: from the op they leave after until their use. */
static inline void mip_host(const struct mip *m)
{
    uint32_t n = m->problem->op_count;

    if (m->problem->host_budget == UINT64_MAX)
        return;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t any = 0;

        for (uint32_t c = 0; c < m->count; c++)
            if ((k + n - m->list[c].gap->out_op) % n <= m->list[c].gap->length)
                fprintf(m->out, "%s %u X_%u", any++ ? " +" : "", m->list[c].count, c);
        if (any)
            fprintf(m->out, " <= %llu\n",
                    (unsigned long long)(m->problem->host_budget / m->problem->page_bytes));
    }
}

static inline void mip_bounds(const struct mip *m)
{
    fprintf(m->out, "Bounds\n T <= %llu\n", (unsigned long long)m->horizon);
    for (uint32_t k = 0; k < m->problem->op_count; k++)
        fprintf(m->out, " S_%u <= %llu\n", k, (unsigned long long)m->horizon);
    for (uint32_t c = 0; c < m->count; c++)
        fprintf(m->out, " O_%u <= %llu\n I_%u <= %llu\n", c, (unsigned long long)m->horizon, c,
                (unsigned long long)m->horizon);
    fprintf(m->out, "Binaries\n");
    for (uint32_t c = 0; c < m->count; c++) {
        fprintf(m->out, " X_%u", c);
        for (uint32_t j = 1; j <= m->list[c].gap->length; j++)
            fprintf(m->out, " Y_%u_%u", c, j);
        for (uint32_t d = c + 1; d < m->count; d++)
            fprintf(m->out, " Z_%u_%u U_%u_%u", c, d, c, d);
        fprintf(m->out, "\n");
    }
    for (uint32_t p = 0; p < m->brute->page_total; p++) {
        for (uint32_t r = 0; r < m->brute->budget && r <= p; r++)
            fprintf(m->out, " F_%u_%u", p, r);
        for (uint32_t q = p + 1; q < m->brute->page_total; q++)
            fprintf(m->out, " Q_%u_%u", p, q);
        fprintf(m->out, "\n");
    }
    fprintf(m->out, "End\n");
}

/* Writes the program of the problem that BRUTE was opened for, in the LP format, to PATH. False:
 * too large, or it cannot be written. */
static inline bool mip_write(const struct brute *brute, const char *path)
{
    struct mip m = {.brute = brute, .problem = brute->problem};
    bool written;

    if (!mip_list(&m) || (m.out = fopen(path, "w")) == NULL)
        return false;
    fprintf(m.out, "Minimize\n step: T\nSubject To\n");
    mip_ops(&m);
    mip_moves(&m);
    mip_links(&m);
    mip_frames(&m);
    mip_host(&m);
    mip_bounds(&m);
    written = !ferror(m.out);
    return fclose(m.out) == 0 && written;
}

/* Solves PATH by cbc. 1: optimal, OBJECTIVE is filled; 0: there is no solution; -1: neither was
 * shown within SECONDS, or cbc failed. */
static inline int mip_solve(const char *path, unsigned seconds, double *objective)
{
    char command[256], line[256];
    FILE *solution;
    int found = -1;

    snprintf(command, sizeof(command),
             "rm -f solution.txt; cbc %s ratio 0 allow 0 sec %u solve solution solution.txt "
             ">cbc.log 2>&1",
             path, seconds);
    if (system(command) != 0 || (solution = fopen("solution.txt", "r")) == NULL)
        return -1;
    if (fgets(line, sizeof(line), solution) != NULL) {
        if (sscanf(line, "Optimal - objective value %lf", objective) == 1)
            found = 1;
        else if (strncmp(line, "Infeasible", 10) == 0 ||
                 strncmp(line, "Integer infeasible", 18) == 0)
            found = 0;
    }
    fclose(solution);
    return found;
}

#endif
