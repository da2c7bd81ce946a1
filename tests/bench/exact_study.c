/* SPDX-License-Identifier: Apache-2.0 */
/* The optimum of random tiny problems three times, and ours next to it:
 *     exact_study [COUNT [ours]]      "ours": prints the row of ours alone
 * Runs in a folder where it may write: problem.lp, solution.txt and cbc.log are cbc's. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/solver_tiny.h"

enum { OPS = 8, CHOICES = 3000, CBC_SECONDS = 300 };

struct tally {
    uint32_t problems, without_plan;
    uint32_t exact_agrees, cbc_agrees, cbc_silent;
    uint32_t ours_found, ours_optimal, ours_close, ours_below_bound;
    double ratio, worst, bound_ratio;
    uint64_t plans;
    double seconds[4]; /* every plan, exact, cbc, ours */
};

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Adds the seconds since *SINCE, which becomes now. */
static void lap(double *since, double *sum)
{
    double now = seconds_now();

    *sum += now - *since;
    *since = now;
}

static void look_at_ours(const struct brute *s, uint64_t ours, uint64_t bound, struct tally *t)
{
    double ratio;

    if (s->best_ns == UINT64_MAX || ours == UINT64_MAX)
        return;
    ratio = (double)ours / (double)s->best_ns;
    t->ours_found++;
    t->ours_optimal += ours == s->best_ns;
    t->ours_close += ratio <= 1.01;
    t->ours_below_bound += ours < bound || s->best_ns < bound;
    t->ratio += ratio;
    t->worst = ratio > t->worst ? ratio : t->worst;
    t->bound_ratio += (double)bound / (double)s->best_ns;
}

/* One problem, with the outcome of any disagreement on standard error. */
static void look_at(uint64_t seed, bool ours_alone, struct tally *t)
{
    static struct random_problem r;
    static struct brute s;
    uint64_t exact, ours, bound, unused;
    double since = seconds_now(), mip = 0;
    int found;

    if (!tiny_make(&r, &s, seed, OPS, CHOICES, true))
        return;
    if (s.best_ns == UINT64_MAX && t->without_plan * 10 > t->problems)
        return; /* one in ten is enough */
    lap(&since, &t->seconds[0]);
    if (tiny_solve(&r.problem, "exact", &exact, &unused) != SPILL_OK)
        exact = 0;
    lap(&since, &t->seconds[1]);
    found = ours_alone || !mip_write(&s, "problem.lp") ? -1
                                                       : mip_solve("problem.lp", CBC_SECONDS, &mip);
    lap(&since, &t->seconds[2]);
    if (tiny_solve(&r.problem, "ours", &ours, &bound) != SPILL_OK)
        ours = UINT64_MAX;
    lap(&since, &t->seconds[3]);
    t->plans += s.seen;
    t->problems += s.best_ns != UINT64_MAX;
    t->without_plan += s.best_ns == UINT64_MAX;
    t->exact_agrees += exact == s.best_ns;
    t->cbc_agrees += tiny_agrees(s.best_ns, found, mip);
    t->cbc_silent += found < 0;
    if (exact != s.best_ns || (!ours_alone && !tiny_agrees(s.best_ns, found, mip)))
        fprintf(stderr, "problem %llu: every plan %llu, exact %llu, cbc %d %.3f\n",
                (unsigned long long)seed, (unsigned long long)s.best_ns, (unsigned long long)exact,
                found, mip);
    look_at_ours(&s, ours, bound, t);
}

int main(int argc, char **argv)
{
    uint32_t count = argc > 1 ? (uint32_t)atol(argv[1]) : 200, all;
    bool ours_alone = argc > 2;
    struct tally t = {0};

    for (uint64_t seed = 1; t.problems < count; seed++)
        look_at(seed, ours_alone, &t);
    all = t.problems + t.without_plan;
    if (ours_alone) {
        printf(
            "| ours without its exact search: plans, optimal, within 1 %%, mean, worst | %u, %u, "
            "%u, %.4f, %.4f |\n| bound of the relaxation / optimum, mean | %.4f |\n",
            t.ours_found, t.ours_optimal, t.ours_close, t.ratio / t.ours_found, t.worst,
            t.bound_ratio / t.ours_found);
        return 0;
    }
    printf("| | |\n| --- | --- |\n");
    printf("| problems with a plan, and without | %u, %u |\n", t.problems, t.without_plan);
    printf("| plans accepted by the checker | %llu |\n", (unsigned long long)t.plans);
    printf("| exact method agrees with the best of all plans | %u of %u |\n", t.exact_agrees, all);
    printf("| cbc agrees | %u of %u (no answer within %d s: %u) |\n", t.cbc_agrees, all,
           CBC_SECONDS, t.cbc_silent);
    printf("| ours finds a plan | %u of %u |\n", t.ours_found, t.problems);
    printf("| ours / optimum, mean and worst | %.4f, %.4f |\n", t.ratio / t.ours_found, t.worst);
    printf("| ours optimal, within 1 %% | %u, %u |\n", t.ours_optimal, t.ours_close);
    printf("| bound / optimum, mean | %.4f |\n", t.bound_ratio / t.ours_found);
    printf("| ours or the optimum below the bound | %u |\n", t.ours_below_bound);
    printf("| seconds: every plan, exact, cbc, ours | %.0f, %.1f, %.0f, %.1f |\n", t.seconds[0],
           t.seconds[1], t.seconds[2], t.seconds[3]);
    return t.exact_agrees != all || t.cbc_agrees != all || t.ours_below_bound != 0;
}
