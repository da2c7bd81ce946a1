/* SPDX-License-Identifier: Apache-2.0 */
/* Running one kernel launch: freeze the call, then its blocks, one after another; those of a
 * cooperative launch that waits for the whole grid take turns. */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "fault.h"
#include "grid.h"
#include "memory.h"

void simgpu_call_freeze(void);
struct simgpu_frozen *simgpu_frozen_target __attribute__((visibility("hidden")));

static struct simgpu_frozen frozen;
static struct simgpu_block first;

static size_t shared_bytes(const struct simgpu_launch *l)
{
    const struct simgpu_devrt *d = l->function->module->devrt;
    return (size_t)(d->shared_end - d->shared) + l->dynamic_shared;
}

/* Shared memory is garbage when a block starts: what the previous block left would hide a missing
 * initialisation. */
static void poison_shared(const struct simgpu_launch *l)
{
    const struct simgpu_devrt *d = l->function->module->devrt;
    const uint32_t poison = SIMGPU_POISON;
    for (char *p = d->shared; p + sizeof poison <= d->shared_end; p += sizeof poison)
        memcpy(p, &poison, sizeof poison);
    for (char *p = d->dynamic_shared; p < d->dynamic_shared + l->dynamic_shared; p += sizeof poison)
        memcpy(p, &poison, sizeof poison);
}

static void shared_out(const struct simgpu_launch *l, char *to)
{
    const struct simgpu_devrt *d = l->function->module->devrt;
    size_t fixed = (size_t)(d->shared_end - d->shared);
    memcpy(to, d->shared, fixed);
    memcpy(to + fixed, d->dynamic_shared, l->dynamic_shared);
}

static void shared_in(const struct simgpu_launch *l, const char *from)
{
    const struct simgpu_devrt *d = l->function->module->devrt;
    size_t fixed = (size_t)(d->shared_end - d->shared);
    memcpy(d->shared, from, fixed);
    memcpy(d->dynamic_shared, from + fixed, l->dynamic_shared);
}

static void deadlock(const struct simgpu_launch *l)
{
    simgpu_say("kernel %s never ends: threads wait at a barrier that others do not reach",
               l->function->name);
    simgpu_fault_raise(CUDA_ERROR_LAUNCH_TIMEOUT);
}

static void run_plain(void *arg)
{
    const struct simgpu_launch *l = arg;
    bool poison = shared_bytes(l) != 0;
    struct simgpu_dim3 at;
    for (at.z = 0; at.z < l->grid.z; at.z++)
        for (at.y = 0; at.y < l->grid.y; at.y++)
            for (at.x = 0; at.x < l->grid.x; at.x++) {
                if (poison)
                    poison_shared(l);
                if (!simgpu_block_begin(&first, at) || first.live != 0)
                    deadlock(l);
            }
}

struct team {
    const struct simgpu_launch *launch;
    struct simgpu_block **blocks;
    size_t count;
};

/* Every block of the grid exists at once; shared memory changes hands with each turn. */
static void run_team(void *arg)
{
    struct team *t = arg;
    const struct simgpu_launch *l = t->launch;
    size_t waiting = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct simgpu_dim3 at = {(unsigned int)(i % l->grid.x),
                                 (unsigned int)(i / l->grid.x % l->grid.y),
                                 (unsigned int)(i / l->grid.x / l->grid.y)};
        poison_shared(l);
        if (!simgpu_block_begin(t->blocks[i], at))
            deadlock(l);
        shared_out(l, t->blocks[i]->shared);
        waiting += t->blocks[i]->live != 0;
    }
    while (waiting != 0) {
        waiting = 0;
        for (size_t i = 0; i < t->count; i++) {
            if (t->blocks[i]->live == 0)
                continue;
            shared_in(l, t->blocks[i]->shared);
            if (!simgpu_block_resume(t->blocks[i]))
                deadlock(l);
            shared_out(l, t->blocks[i]->shared);
            waiting += t->blocks[i]->live != 0;
        }
    }
}

static CUresult run_cooperative(struct simgpu_launch *l)
{
    struct team t = {.launch = l, .count = (size_t)l->grid.x * l->grid.y * l->grid.z};
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    t.blocks = calloc(t.count, sizeof(struct simgpu_block *));
    size_t made = 0;
    while (t.blocks != NULL && made < t.count) {
        t.blocks[made] = calloc(1, sizeof(struct simgpu_block) + shared_bytes(l));
        if (t.blocks[made] == NULL)
            break;
        t.blocks[made]->shared = (char *)(t.blocks[made] + 1);
        made++;
    }
    if (t.blocks != NULL && made == t.count)
        result = simgpu_fault_guard(run_team, &t);
    for (size_t i = 0; i < made; i++)
        free(t.blocks[i]);
    free(t.blocks);
    return result;
}

static uint64_t counted(const struct simgpu_module *m)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < m->counter_count; i++)
        sum += m->counters[i];
    return sum;
}

static bool freeze(struct simgpu_launch *l, uint64_t *stack, size_t words)
{
    struct simgpu_function *f = l->function;
    ffi_cif cif;
    void *values[SIMGPU_MAX_PARAMS];
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, f->count, &ffi_type_void, f->types) != FFI_OK)
        return false;
    for (unsigned int i = 0; i < f->count; i++)
        values[i] = (char *)l->params + f->offset[i];
    frozen.entry = f->entry;
    frozen.stack = stack;
    frozen.words = words;
    simgpu_frozen_target = &frozen;
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
    /* Six registers hold the first ones; what of the rest goes to the stack is for libffi to know.
     */
    if (in_registers > 6)
        words += in_registers;
    return (words + 7) / 8 * 8;
}

CUresult simgpu_grid_run(struct simgpu_launch *l, uint64_t *work)
{
    static uint64_t small_stack[128];
    struct simgpu_module *m = l->function->module;
    size_t words = stack_words(l->function);
    uint64_t *stack = small_stack;
    if (words > sizeof small_stack / sizeof *small_stack &&
        (stack = malloc(words * sizeof *stack)) == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *m->devrt->block_dim = l->block;
    *m->devrt->grid_dim = l->grid;
    *m->devrt->dynamic_shared_bytes = l->dynamic_shared;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (freeze(l, stack, words)) {
        simgpu_block_launch(m->devrt, &frozen, &l->block);
        result = l->cooperative ? run_cooperative(l) : simgpu_fault_guard(run_plain, l);
        if (result != CUDA_SUCCESS)
            simgpu_block_reset();
    }
    if (stack != small_stack)
        free(stack);
    uint64_t now = counted(m);
    *work = now - m->counted;
    m->counted = now;
    return result;
}
