/* SPDX-License-Identifier: Apache-2.0 */
/* How planning grows: a made-up training iteration of layers (weights, gradients, two optimizer
 * states, activations, temporaries), solved at half of the memory it would like. Prints a
 * row: ops, buffers, pages, CPU seconds of the solver, the process's peak of memory in MiB, step
 * time and bound over the sum of op times, moves. synth OPS [BUFFERS [PAGES_PER_BUFFER [METHOD]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "solver/check.h"
#include "solver/solve.h"

struct table {
    struct spill_op *ops;
    struct spill_access *accesses;
    struct spill_buffer *buffers;
    struct spill_problem problem;
};

static void touch(struct table *t, uint32_t buffer, uint32_t mode)
{
    struct spill_problem *p = &t->problem;
    struct spill_buffer *b = &t->buffers[buffer];

    t->accesses[p->access_count++] = (struct spill_access){buffer, mode};
    t->ops[p->op_count].access_count++;
    if (b->birth_op == UINT32_MAX)
        b->birth_op = p->op_count;
    b->death_op = p->op_count;
}

/* Ends the op, and repeats it until there are EACH that share NS. */
static void end_op(struct table *t, uint64_t ns, uint32_t each)
{
    struct spill_problem *p = &t->problem;
    const struct spill_op *first = &t->ops[p->op_count];

    for (uint32_t i = 0;; i++) {
        t->ops[p->op_count++].duration_ns = ns / each;
        t->ops[p->op_count].access_first = p->access_count;
        if (i + 1 == each)
            return;
        for (uint32_t a = 0; a < first->access_count; a++)
            touch(t, t->accesses[first->access_first + a].buffer,
                  t->accesses[first->access_first + a].mode);
    }
}

int main(int argc, char **argv)
{
    uint32_t ops = argc > 1 ? (uint32_t)atol(argv[1]) : 5000;
    uint32_t layers = argc > 2 ? (uint32_t)atol(argv[2]) / 6 : ops / 5;
    uint64_t pages = argc > 3 ? (uint64_t)atol(argv[3]) : 4;
    uint32_t each = layers == 0 || ops / layers < 5 ? 1 : ops / layers / 5;
    struct rusage usage;
    struct table t = {0};
    struct spill_problem *p = &t.problem;
    struct spill_solve_options options = {0};
    struct spill_solve_obstacle obstacle;
    struct spill_outcome outcome;
    struct spill_plan *plan = NULL;
    char complaint[160] = "";
    uint64_t total = 0;
    clock_t begun;
    double took;
    enum spill_status status;

    t.ops = calloc(5 * (size_t)layers * each + 1, sizeof(*t.ops));
    t.accesses = calloc(16 * (size_t)layers * each + 16, sizeof(*t.accesses));
    t.buffers = calloc(6 * (size_t)layers + 6, sizeof(*t.buffers));
    if (t.ops == NULL || t.accesses == NULL || t.buffers == NULL || layers == 0)
        return 1;
    p->page_bytes = 2u << 20;
    for (uint32_t l = 0; l < layers; l++)
        for (uint32_t kind = 0; kind < 6;
             kind++) { /* weight, two states, gradient, activation, temporary */
            uint64_t bytes = pages * p->page_bytes * (kind == 4 ? 2 : 1) - (l % 7) * 1000;

            t.buffers[p->buffer_count++] = (struct spill_buffer){
                .bytes = bytes,
                .life = kind < 3 ? SPILL_LIFE_PERSISTENT : SPILL_LIFE_ITERATION,
                .birth_op = UINT32_MAX};
            total += bytes;
        }
    for (uint32_t l = 0; l < layers; l++) {
        touch(&t, 6 * l, SPILL_ACCESS_READ);
        if (l > 0)
            touch(&t, 6 * (l - 1) + 4, SPILL_ACCESS_READ);
        touch(&t, 6 * l + 5, SPILL_ACCESS_WRITE);
        end_op(&t, 300000 + (l % 5) * 50000, each);
        touch(&t, 6 * l + 5, SPILL_ACCESS_READ);
        touch(&t, 6 * l + 4, SPILL_ACCESS_WRITE);
        end_op(&t, 200000, each);
    }
    for (uint32_t l = layers; l-- > 0;) {
        touch(&t, 6 * l, SPILL_ACCESS_READ);
        touch(&t, 6 * l + 4, SPILL_ACCESS_READ);
        touch(&t, 6 * l + 3, SPILL_ACCESS_WRITE);
        end_op(&t, 900000, each);
    }
    for (uint32_t l = 0; l < layers; l++) {
        touch(&t, 6 * l + 3, SPILL_ACCESS_READ);
        touch(&t, 6 * l + 1, SPILL_ACCESS_UNKNOWN);
        end_op(&t, 50000, each);
        touch(&t, 6 * l, SPILL_ACCESS_UNKNOWN);
        touch(&t, 6 * l + 2, SPILL_ACCESS_UNKNOWN);
        end_op(&t, 50000, each);
    }
    p->ops = t.ops;
    p->accesses = t.accesses;
    p->buffers = t.buffers;
    p->out = p->in = (struct spill_link){10000, UINT64_C(25000000000)};
    p->duplex_permille = 1000;
    p->gpu_budget = total / 2;
    p->host_budget = UINT64_MAX;
    begun = clock();
    options.method = argc > 4 ? argv[4] : NULL;
    status = spill_solve(p, &options, &plan, &obstacle);
    took = (double)(clock() - begun) / CLOCKS_PER_SEC;
    getrusage(RUSAGE_SELF, &usage);
    printf("| %u | %u | %llu | %.2f | %ld | ", p->op_count, p->buffer_count,
           (unsigned long long)(total / p->page_bytes), took, usage.ru_maxrss / 1024);
    if (status != SPILL_OK) {
        printf("no plan (%d) |\n", (int)status);
        return 1;
    }
    status = spill_check_plan(p, plan, &outcome, complaint, sizeof(complaint));
    printf("%.4f | %.4f | %u |%s\n", (double)plan->step_ns / (double)plan->compute_ns,
           (double)plan->bound_ns / (double)plan->compute_ns, plan->move_count, complaint);
    spill_plan_free(plan);
    free(t.ops);
    free(t.accesses);
    free(t.buffers);
    return status != SPILL_OK;
}
