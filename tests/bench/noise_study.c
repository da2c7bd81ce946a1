/* SPDX-License-Identifier: Apache-2.0 */
/* How much slower plans become when op times are not those they were made for:
 *     noise_study [-d DIVISOR] TRACE...
 * Plans are made for the trace as it is. Then every op's time is multiplied by a random factor from
 * [1 - x, 1 + x], all times by one more factor so that their sum stays, and the simulator plays the
 * same plan. Prints, for each method, the step time over the sum of op times, without noise and in
 * the mean of several noises. */
#include "solver/check.h"
#include "solver/methods.h"
#include "solver/solve.h"
#include "tests/bench/g10_load.h"

enum { SEEDS = 10, LEVELS = 2, METHODS_MOST = 40 };
static const double levels[LEVELS] = {0.10, 0.25};

/* splitmix64 (Steele, Lea, Flood 2014), as a number in [0, 1). */
static double random_part(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* OPS with noise into NOISY. */
static void perturb(const struct spill_op *ops, uint32_t count, double level, uint64_t seed,
                    struct spill_op *noisy)
{
    double before = 0, after = 0;

    for (uint32_t k = 0; k < count; k++) {
        noisy[k] = ops[k];
        noisy[k].duration_ns =
            (uint64_t)((double)ops[k].duration_ns * (1 + level * (2 * random_part(&seed) - 1)));
        before += (double)ops[k].duration_ns;
        after += (double)noisy[k].duration_ns;
    }
    for (uint32_t k = 0; k < count && after > 0; k++)
        noisy[k].duration_ns = (uint64_t)((double)noisy[k].duration_ns * before / after);
}

struct result {
    double clean, noisy[LEVELS]; /* times the sum of op times; 0: no plan */
};

static bool study(struct spill_textform *form, const char *method, struct result *result)
{
    struct spill_problem noisy = form->problem;
    struct spill_solve_options options = {.method = method};
    struct spill_op *ops = calloc(form->problem.op_count, sizeof(*ops));
    struct spill_plan *plan = NULL;
    struct spill_outcome outcome;
    bool good = true;

    *result = (struct result){0};
    noisy.ops = ops;
    if (ops == NULL)
        return false;
    if (spill_solve(&form->problem, &options, &plan, NULL) == SPILL_OK) {
        result->clean = (double)plan->step_ns / (double)plan->compute_ns;
        for (int level = 0; level < LEVELS; level++)
            for (uint64_t seed = 1; seed <= SEEDS && good; seed++) {
                perturb(form->ops, form->problem.op_count, levels[level], seed, ops);
                good = spill_check_plan(&noisy, plan, &outcome, NULL, 0) == SPILL_OK;
                result->noisy[level] += (double)outcome.step_ns / (double)plan->compute_ns / SEEDS;
            }
    }
    spill_plan_free(plan);
    free(ops);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t divisor = 1;
    int first = 1;

    if (argc > 2 && strcmp(argv[1], "-d") == 0) {
        divisor = (uint64_t)atoll(argv[2]);
        first = 3;
    }
    if (first >= argc || divisor == 0) {
        fprintf(stderr, "usage: noise_study [-d DIVISOR] TRACE...\n");
        return 2;
    }
    printf("| method |");
    for (int i = first; i < argc; i++)
        printf(" %.*s |", (int)strcspn(argv[i], "."), argv[i]);
    printf(" mean loss |\n| --- |");
    for (int i = first; i <= argc; i++)
        printf(" --- |");
    printf("\n");
    for (uint32_t m = 0; m == 0 || spill_method_at(m - 1) != NULL; m++) {
        const char *method = m == 0 ? "ours" : spill_method_at(m - 1)->name;
        double loss[LEVELS] = {0};
        uint32_t planned = 0;

        printf("| %s |", method);
        for (int i = first; i < argc; i++) {
            struct spill_textform form;
            struct result result;

            if (!g10_load(argv[i], divisor, &form) || !study(&form, method, &result))
                return 1;
            spill_textform_free(&form);
            if (result.clean == 0) {
                printf(" - |");
                continue;
            }
            printf(" %.4f, %.4f, %.4f |", result.clean, result.noisy[0], result.noisy[1]);
            for (int level = 0; level < LEVELS; level++)
                loss[level] += result.noisy[level] / result.clean - 1;
            planned++;
        }
        if (planned == 0)
            printf(" - |\n");
        else
            printf(" %.2f %%, %.2f %% |\n", 100 * loss[0] / planned, 100 * loss[1] / planned);
        fflush(stdout);
    }
    return 0;
}
