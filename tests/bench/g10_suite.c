/* SPDX-License-Identifier: Apache-2.0 */
/* Solves the G10 traces under the published setting and prints one row each:
 *     g10 [-d DIVISOR] [-m METHOD] [-e EFFORT] PUBLISHED.csv TRACE...
 * DIVISOR divides the kernel times. TRACE is MODEL-bBATCH.txt. */
#include <time.h>

#include "solver/check.h"
#include "solver/solve.h"
#include "tests/bench/g10_load.h"

/* The published slowdown of G10 for MODEL and BATCH, and the least of the other systems; 0 unknown.
 */
static void find_published(const char *csv, const char *model, long batch, double *g10,
                           double *other)
{
    *g10 = *other = 0;
    for (const char *line = csv; line != NULL; line = strchr(line, '\n')) {
        char name[64];
        char lru[16], flash[16], deep[16];
        long b;
        double value;

        line += *line == '\n';
        if (sscanf(line, "%63[^,],%ld,%15[^,],%15[^,],%15[^,],%lf", name, &b, lru, flash, deep,
                   &value) != 6 ||
            strcmp(name, model) != 0 || b != batch)
            continue;
        *g10 = value;
        *other = atof(deep);
        if (strcmp(flash, "inf") != 0 && atof(flash) < *other)
            *other = atof(flash);
        return;
    }
}

struct tally {
    double gaps[64];                      /* in percent */
    uint32_t count, above_g10, not_below; /* slower than G10; not faster where G10 is above 1.01 */
};

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static void print_tally(struct tally *t, bool published)
{
    if (t->count == 0)
        return;
    qsort(t->gaps, t->count, sizeof(t->gaps[0]), compare_doubles);
    printf("%u solved; gap: median %.2f %%, largest %.2f %%", t->count, t->gaps[t->count / 2],
           t->gaps[t->count - 1]);
    if (published)
        printf("; above the published G10: %u, not below it where it is above 1.01: %u",
               t->above_g10, t->not_below);
    printf("\n");
}

static void print_row(const struct spill_plan *plan, const struct spill_outcome *outcome,
                      double g10, double other, double took)
{
    double ideal = (double)plan->compute_ns;
    uint64_t busier =
        outcome->out_busy_ns > outcome->in_busy_ns ? outcome->out_busy_ns : outcome->in_busy_ns;

    printf(" %8.4f %8.4f %8.4f %7.2f%% |", (double)outcome->step_ns / ideal,
           (double)plan->bound_ns / ideal, (double)busier / ideal,
           100.0 * ((double)outcome->step_ns / (double)plan->bound_ns - 1.0));
    if (g10 > 0)
        printf(" %8.4f %8.4f |", g10, other);
    printf(" %7.1f %7.1f %6u %5u %5.2fs\n", (double)plan->out_bytes / (1u << 30),
           (double)plan->host_bytes / (1u << 30), plan->move_count,
           plan->frame_count - plan->peak_pages, took);
}

/* One trace. CSV holds what was published for undivided times, NULL for others. */
static int row(const char *path, const char *csv, uint64_t divisor,
               const struct spill_solve_options *options, struct tally *tally)
{
    const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    const char *dash = strstr(base, "-b");
    char model[64] = "", complaint[160];
    long batch = dash != NULL ? atol(dash + 2) : 0;
    struct spill_textform trace;
    struct spill_plan *plan = NULL;
    struct spill_solve_obstacle obstacle;
    struct spill_outcome outcome;
    enum spill_status status;
    double g10 = 0, other = 0, ours;
    clock_t begun;
    int bad = 0;

    if (dash != NULL && (size_t)(dash - base) < sizeof(model))
        memcpy(model, base, (size_t)(dash - base));
    if (!g10_load(path, divisor, &trace))
        return 1;
    begun = clock();
    status = spill_solve(&trace.problem, options, &plan, &obstacle);
    begun = clock() - begun;
    if (csv != NULL)
        find_published(csv, model, batch, &g10, &other);
    printf("%-12s %5ld", model, batch);
    if (status != SPILL_OK) {
        printf("  no plan: op %u needs %.1f GiB\n", obstacle.op,
               (double)obstacle.bytes_needed / (1u << 30));
    } else if (spill_check_plan(&trace.problem, plan, &outcome, complaint, sizeof(complaint)) !=
               SPILL_OK) {
        printf("  REJECTED: %s\n", complaint);
        bad = 1;
    } else {
        print_row(plan, &outcome, g10, other, (double)begun / CLOCKS_PER_SEC);
        ours = (double)outcome.step_ns / (double)plan->compute_ns;
        if (tally->count < sizeof(tally->gaps) / sizeof(tally->gaps[0]))
            tally->gaps[tally->count++] =
                100.0 * ((double)outcome.step_ns / (double)plan->bound_ns - 1.0);
        tally->above_g10 += ours > g10 + 5e-5; /* four digits were published */
        tally->not_below += g10 > 1.01 && ours >= g10;
    }
    spill_plan_free(plan);
    spill_textform_free(&trace);
    return bad;
}

int main(int argc, char **argv)
{
    struct spill_solve_options options = {.method = NULL};
    struct tally tally = {.count = 0};
    uint64_t divisor = 1;
    int at = 1, failed = 0;
    char *csv;

    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        if (argv[at][1] == 'd')
            divisor = (uint64_t)atoll(argv[at + 1]);
        else if (argv[at][1] == 'm')
            options.method = argv[at + 1];
        else if (argv[at][1] == 'e')
            options.effort = (uint32_t)atol(argv[at + 1]);
    }
    csv = at < argc ? read_file(argv[at]) : NULL;
    if (csv == NULL || divisor == 0) {
        fprintf(stderr, "usage: g10 [-d DIVISOR] [-m METHOD] [-e EFFORT] PUBLISHED.csv TRACE...\n");
        return 2;
    }
    printf("%-12s %5s %8s %8s %8s %8s |", "model", "batch", "ours", "bound", "link", "gap");
    if (divisor == 1)
        printf(" %8s %8s |", "g10", "others");
    printf(" %7s %7s %6s %5s %6s\n", "moved", "host", "moves", "extra", "CPU");
    for (at++; at < argc; at++)
        failed |= row(argv[at], divisor == 1 ? csv : NULL, divisor, &options, &tally);
    print_tally(&tally, divisor == 1);
    free(csv);
    return failed;
}
