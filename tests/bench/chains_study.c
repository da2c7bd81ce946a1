/* SPDX-License-Identifier: Apache-2.0 */
/* Every method on published networks as chains, from the smallest memory to all of it:
 *     chains_study CSV SVG            prints the tables; writes all figures and the picture
 *     chains_study NET IMAGE BATCH    prints one network as a chain, for spillway plan */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/check.h"
#include "solver/methods.h"
#include "solver/solve.h"
#include "solver/textform.h"
#include "tests/bench/chains_plot.h"
#include "tests/bench/nets.h"

#define GIB (1024.0 * 1024 * 1024)
enum { SIZES = 3 };

/* Batches and images, the latter in multiples of the usual size. */
static const struct {
    uint32_t batch, scale;
} sizes[SIZES] = {{32, 1}, {128, 1}, {32, 2}};

/* Budgets: the smallest, and so much of the way to all. */
static const double parts[PLOT_BUDGETS] = {0, 0.125, 0.25, 0.5, 0.75, 1};

static const char *names[PLOT_METHODS]; /* ours, the bound, and the methods of others */
static uint32_t name_count;

struct summary {
    double sum[PLOT_METHODS][PLOT_BUDGETS];
    uint32_t plans[PLOT_METHODS][PLOT_BUDGETS], problems;
};

static bool load(uint32_t net, uint32_t image, uint32_t batch, struct spill_textform *form,
                 double *operations)
{
    char *text = NULL, complaint[128] = "out of memory";
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    bool good = memory != NULL && nets_write(net, image, batch, memory, operations);

    if (memory != NULL)
        fclose(memory);
    good =
        good && spill_textform_read(text, length, form, complaint, sizeof(complaint)) == SPILL_OK;
    free(text);
    if (!good) {
        fprintf(stderr, "%s: %s\n", nets_name(net), complaint);
        return false;
    }
    form->problem.page_bytes = 2u << 20;
    form->problem.host_budget = UINT64_MAX;
    return true;
}

/* Step time over the sum of op times; 0: no plan. BOUND may be NULL. A plan that the checker
 * rejects ends the study. */
static double slowdown_of(const struct spill_problem *problem, const char *method, double *bound)
{
    struct spill_solve_options options = {.method = method};
    struct spill_outcome outcome;
    struct spill_plan *plan = NULL;
    char complaint[160];
    double slowdown;

    if (spill_solve(problem, &options, &plan, NULL) != SPILL_OK)
        return 0;
    if (spill_check_plan(problem, plan, &outcome, complaint, sizeof(complaint)) != SPILL_OK) {
        fprintf(stderr, "%s: %s\n", method, complaint);
        exit(1);
    }
    slowdown = (double)outcome.step_ns / (double)plan->compute_ns;
    if (bound != NULL)
        *bound = (double)plan->bound_ns / (double)plan->compute_ns;
    spill_plan_free(plan);
    return slowdown;
}

/* The most bytes of pages at one op. */
static uint64_t peak_of(const struct spill_problem *p)
{
    uint64_t peak = 0;

    for (uint32_t k = 0; k < p->op_count; k++) {
        uint64_t now = 0;

        for (uint32_t b = 0; b < p->buffer_count; b++)
            if (p->buffers[b].birth_op <= k && k <= p->buffers[b].death_op)
                now += (p->buffers[b].bytes + p->page_bytes - 1) / p->page_bytes * p->page_bytes;
        peak = now > peak ? now : peak;
    }
    return peak;
}

static void study(uint32_t net, uint32_t size, struct panel *panel, struct summary *summary,
                  FILE *csv)
{
    uint32_t image = nets_image(net) * sizes[size].scale, batch = sizes[size].batch;
    struct spill_textform form;
    struct spill_solve_obstacle obstacle;
    double operations;
    uint64_t least, peak, compute = 0;

    if (!load(net, image, batch, &form, &operations))
        exit(1);
    spill_solve_smallest_budget(&form.problem, &obstacle);
    least = obstacle.bytes_needed;
    peak = peak_of(&form.problem);
    for (uint32_t k = 0; k < form.problem.op_count; k++)
        compute += form.ops[k].duration_ns;
    *panel = (struct panel){.gib = {0}};
    snprintf(panel->title, sizeof(panel->title), "%s, %u images of %u x %u", nets_name(net), batch,
             image, image);
    printf("| %s | %u x %u | %u | %u | %.2f | %.1f | %.2f | %.2f |\n", nets_name(net), image, image,
           batch, form.problem.op_count / 2, operations / 2e9, (double)compute / 1e6,
           (double)peak / GIB, (double)least / GIB);
    fflush(stdout);
    summary->problems++;
    for (int i = 0; i < PLOT_BUDGETS; i++) {
        uint64_t page = form.problem.page_bytes;

        form.problem.gpu_budget =
            least + (uint64_t)(parts[i] * (double)((peak - least) / page) + 0.5) * page;
        panel->gib[i] = (double)form.problem.gpu_budget / GIB;
        fprintf(csv, "%s,%u,%u,%llu", nets_name(net), image, batch,
                (unsigned long long)form.problem.gpu_budget);
        panel->slowdown[0][i] = slowdown_of(&form.problem, "ours", &panel->slowdown[1][i]);
        for (uint32_t m = 0; m < name_count; m++) {
            if (m > 1)
                panel->slowdown[m][i] = slowdown_of(&form.problem, names[m], NULL);
            summary->sum[m][i] += log(panel->slowdown[m][i] > 0 ? panel->slowdown[m][i] : 1);
            summary->plans[m][i] += panel->slowdown[m][i] > 0;
            if (panel->slowdown[m][i] > 0)
                fprintf(csv, ",%.4f", panel->slowdown[m][i]);
            else
                fprintf(csv, ",");
        }
        fprintf(csv, "\n");
    }
    spill_textform_free(&form);
}

static void print_summary(const struct summary *summary)
{
    printf("\n| method |");
    for (int i = 0; i < PLOT_BUDGETS; i++)
        printf(" %g %% |", 100 * parts[i]);
    printf("\n| --- |");
    for (int i = 0; i < PLOT_BUDGETS; i++)
        printf(" --- |");
    printf("\n");
    for (uint32_t m = 0; m < name_count; m++) {
        printf("| %s |", names[m]);
        for (int i = 0; i < PLOT_BUDGETS; i++) {
            uint32_t plans = summary->plans[m][i];

            if (plans == 0)
                printf(" - |");
            else if (plans == summary->problems)
                printf(" %.3f |", exp(summary->sum[m][i] / plans));
            else
                printf(" %.3f (%u) |", exp(summary->sum[m][i] / plans), plans);
        }
        printf("\n");
    }
}

static int run(const char *csv_path, const char *svg_path)
{
    static struct panel panels[PLOT_PANELS], other;
    static struct summary summary;
    FILE *csv = fopen(csv_path, "w");
    bool written;

    if (csv == NULL)
        return 1;
    names[name_count++] = "ours";
    names[name_count++] = "bound";
    for (uint32_t i = 0; spill_method_at(i) != NULL && name_count < PLOT_METHODS; i++)
        names[name_count++] = spill_method_at(i)->name;
    fprintf(csv, "net,image,batch,gpu_bytes");
    for (uint32_t m = 0; m < name_count; m++)
        fprintf(csv, ",%s", names[m]);
    fprintf(csv, "\n");
    printf("| network | image | batch | stages | G multiply-adds an image | step, ms | all, GiB | "
           "smallest, GiB |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (uint32_t net = 0; nets_name(net) != NULL; net++)
        for (uint32_t size = 0; size < SIZES; size++)
            study(net, size, size == 1 && net < PLOT_PANELS ? &panels[net] : &other, &summary, csv);
    print_summary(&summary);
    written = !ferror(csv);
    return fclose(csv) != 0 || !written ||
           !chains_plot(svg_path, panels, PLOT_PANELS, names, name_count);
}

int main(int argc, char **argv)
{
    double operations;

    if (argc == 3)
        return run(argv[1], argv[2]);
    for (uint32_t net = 0; argc == 4 && nets_name(net) != NULL; net++)
        if (strcmp(nets_name(net), argv[1]) == 0)
            return !nets_write(net, (uint32_t)atol(argv[2]), (uint32_t)atol(argv[3]), stdout,
                               &operations);
    fprintf(stderr, "usage: chains_study CSV SVG | chains_study NET IMAGE BATCH\n");
    return 2;
}
