/* SPDX-License-Identifier: Apache-2.0 */
/* See grid.h. Only one launch runs at a time, so the state of the running one is static. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fault.h"
#include "grid.h"

#define FIBER_STACK   ((size_t)256 << 10)
#define MAX_THREADS   1024
#define FIBER_REGION  (FIBER_STACK * (MAX_THREADS + 1))

void simgpu_fiber_switch(void **save_sp, void *load_sp);
void simgpu_call_freeze(void);
void simgpu_call_thaw(const struct simgpu_frozen *frozen);
struct simgpu_frozen *simgpu_frozen_target __attribute__((visibility("hidden")));

struct fiber {
    void *sp;
    uint32_t thread; /* that it runs now */
    bool over;
};

static struct {
    struct simgpu_launch *launch;
    struct simgpu_devrt *devrt;
    struct simgpu_frozen frozen;
    uint32_t threads, next; /* of the block; next: first one that has not started */
    struct fiber *current;
    void *main_sp;
} run;

static unsigned char *region; /* of fiber stacks */
static struct fiber fibers[MAX_THREADS + 1];

static void place_thread(uint32_t index)
{
    const struct simgpu_dim3 *b = &run.launch->block;
    struct simgpu_dim3 *t = run.devrt->thread;
    t->x = index % b->x;
    t->y = index / b->x % b->y;
    t->z = index / b->x / b->y;
}

/* A fiber starts the threads that are left, one after another, until one parks at a barrier. */
static void fiber_main(void)
{
    struct fiber *self = run.current;
    const struct simgpu_dim3 b = run.launch->block;
    struct simgpu_dim3 *t = run.devrt->thread;
    struct simgpu_dim3 at = {run.next % b.x, run.next / b.x % b.y, run.next / b.x / b.y};
    while (run.next < run.threads) {
        self->thread = run.next++;
        *t = at;
        simgpu_call_thaw(&run.frozen);
        /* Others ran while this thread was parked; go on after the last one that has started. */
        if (self->thread + 1 != run.next)
            break;
        if (++at.x == b.x) {
            at.x = 0;
            if (++at.y == b.y) {
                at.y = 0;
                at.z++;
            }
        }
    }
    self->over = true;
    simgpu_fiber_switch(&self->sp, run.main_sp);
}

static void enter(struct fiber *f)
{
    run.current = f;
    simgpu_fiber_switch(&run.main_sp, f->sp);
}

static void start(struct fiber *f)
{
    /* As if simgpu_fiber_switch had been called from fiber_main's caller: six saved registers, then the
     * return address, then a slot that keeps the stack aligned as at a function's entry. */
    void **sp = (void **)(void *)(region + FIBER_STACK * (size_t)(f - fibers + 1));
    *--sp = NULL;
    *--sp = (void *)(uintptr_t)fiber_main;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    f->sp = sp;
    f->over = false;
    enter(f);
}

/* __syncthreads: park this thread. A thread that has returned no longer counts. */
static void barrier(void)
{
    struct fiber *self = run.current;
    simgpu_fiber_switch(&self->sp, run.main_sp);
}

static void stop(int error)
{
    simgpu_fault_raise((CUresult)error);
}

static void run_block(void)
{
    uint32_t parked = 0;
    run.next = 0;
    while (run.next < run.threads) {
        start(&fibers[parked]);
        if (!fibers[parked].over)
            parked++;
    }
    /* All threads are parked or gone: let each parked one run to the next barrier, in order. */
    for (uint32_t left = parked; left > 0;) {
        left = 0;
        for (uint32_t i = 0; i < parked; i++) {
            if (fibers[i].over)
                continue;
            place_thread(fibers[i].thread);
            enter(&fibers[i]);
            left += !fibers[i].over;
        }
    }
}

static void run_body(void *arg)
{
    const struct simgpu_launch *l = arg;
    struct simgpu_dim3 *b = run.devrt->block;
    for (b->z = 0; b->z < l->grid.z; b->z++)
        for (b->y = 0; b->y < l->grid.y; b->y++)
            for (b->x = 0; b->x < l->grid.x; b->x++)
                run_block();
}

static uint64_t counted(struct simgpu_module *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->counter_count; i++)
        sum += m->counters[i];
    return sum;
}

static bool freeze(struct simgpu_launch *l, uint64_t *stack, size_t stack_words)
{
    struct simgpu_function *f = l->function;
    ffi_cif cif;
    void *values[SIMGPU_MAX_PARAMS];
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, f->count, &ffi_type_void, f->types) != FFI_OK)
        return false;
    for (unsigned int i = 0; i < f->count; i++)
        values[i] = (char *)l->params + f->offset[i];
    run.frozen.entry = f->entry;
    run.frozen.stack = stack;
    run.frozen.words = stack_words;
    simgpu_frozen_target = &run.frozen;
    ffi_call(&cif, simgpu_call_freeze, NULL, values);
    return true;
}

/* Stack that the arguments may take at most: each its own words, at up to 64-byte alignment. */
static size_t stack_words(const struct simgpu_function *f)
{
    size_t words = 0, in_registers = 0;
    for (unsigned int i = 0; i < f->count; i++) {
        if (f->types[i]->type == FFI_TYPE_STRUCT && f->size[i] > 16)
            words += (f->size[i] + 7) / 8 + (f->types[i]->alignment > 8 ? 8 : 0);
        else
            in_registers += (f->size[i] + 7) / 8;
    }
    /* Six registers hold the first ones; what of the rest goes to the stack is for libffi to know. */
    if (in_registers > 6)
        words += in_registers;
    return (words + 7) / 8 * 8;
}

CUresult simgpu_grid_run(struct simgpu_launch *l, uint64_t *work)
{
    static uint64_t small_stack[128];
    struct simgpu_module *m = l->function->module;
    if (region == NULL) {
        void *at = mmap(NULL, FIBER_REGION, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (at == MAP_FAILED)
            return CUDA_ERROR_OUT_OF_MEMORY;
        region = at;
    }
    size_t words = stack_words(l->function);
    uint64_t *stack = small_stack;
    if (words > sizeof small_stack / sizeof *small_stack &&
        (stack = malloc(words * sizeof *stack)) == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    run.launch = l;
    run.devrt = m->devrt;
    run.threads = l->block.x * l->block.y * l->block.z;
    *run.devrt->block_dim = l->block;
    *run.devrt->grid_dim = l->grid;
    *run.devrt->dynamic_shared_bytes = l->dynamic_shared;
    run.devrt->barrier = barrier;
    run.devrt->stop = stop;
    if (freeze(l, stack, words))
        result = simgpu_fault_guard(run_body, l);
    if (stack != small_stack)
        free(stack);
    uint64_t now = counted(m);
    *work = now - m->counted;
    m->counted = now;
    return result;
}
