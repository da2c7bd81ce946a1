/* SPDX-License-Identifier: Apache-2.0 */
/* Solves the G10 traces under the published setting and prints one row each:
 *     g10 [-d DIVISOR] [-m METHOD] [-e EFFORT] PUBLISHED.csv TRACE...
 * DIVISOR divides the kernel times. TRACE is MODEL-bBATCH.txt. */
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

static int row(const char *path, const char *csv, uint64_t divisor,
               const struct spill_solve_options *options)
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
    double published, other, begun, took;

    if (dash != NULL && (size_t)(dash - base) < sizeof(model))
        memcpy(model, base, (size_t)(dash - base));
    if (!g10_load(path, divisor, &trace))
        return 1;
    begun = seconds_now();
    status = spill_solve(&trace.problem, options, &plan, &obstacle);
    took = seconds_now() - begun;
    find_published(csv, model, batch, &published, &other);
    if (status != SPILL_OK) {
        printf("%-12s %5ld  no plan: op %u needs %.1f GiB\n", model, batch, obstacle.op,
               (double)obstacle.bytes_needed / (1u << 30));
    } else if (spill_check_plan(&trace.problem, plan, &outcome, complaint, sizeof(complaint)) !=
               SPILL_OK) {
        printf("%-12s %5ld  REJECTED: %s\n", model, batch, complaint);
    } else {
        printf("%-12s %5ld %8.4f %8.4f %8.4f %7.2f%% | %8.4f %8.4f | %7.1f %7.1f %6u %5u %5.2fs\n",
               model, batch, (double)outcome.step_ns / (double)plan->compute_ns,
               (double)plan->bound_ns / (double)plan->compute_ns,
               (double)(outcome.out_busy_ns > outcome.in_busy_ns ? outcome.out_busy_ns
                                                                 : outcome.in_busy_ns) /
                   (double)plan->compute_ns,
               100.0 * ((double)outcome.step_ns / (double)plan->bound_ns - 1.0), published, other,
               (double)plan->out_bytes / (1u << 30), (double)plan->host_bytes / (1u << 30),
               plan->move_count, plan->frame_count - plan->peak_pages, took);
    }
    spill_plan_free(plan);
    spill_textform_free(&trace);
    return 0;
}

int main(int argc, char **argv)
{
    struct spill_solve_options options = {.method = NULL};
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
    printf("%-12s %5s %8s %8s %8s %8s | %8s %8s | %7s %7s %6s %5s\n", "model", "batch", "ours",
           "bound", "link", "gap", "g10", "others", "moved", "host", "moves", "extra");
    for (at++; at < argc; at++)
        failed |= row(argv[at], csv, divisor, &options);
    free(csv);
    return failed;
}
