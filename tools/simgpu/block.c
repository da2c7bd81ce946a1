/* SPDX-License-Identifier: Apache-2.0 */
/* See block.h. One launch runs at a time, so what runs now is static. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "block.h"
#include "fault.h"
#include "grid.h"

#define FIBER_STACK ((size_t)256 << 10)
#define FIBER_CHUNK 64

void simgpu_fiber_switch(void **save_sp, void *load_sp);
void simgpu_call_thaw(const struct simgpu_frozen *frozen);

struct simgpu_fiber {
    void *sp, *top;
    struct simgpu_fiber *next;
    struct simgpu_fiber *all;
    uint32_t thread;
    bool over;
};

static struct {
    struct simgpu_devrt *devrt;
    const struct simgpu_frozen *frozen;
    struct simgpu_dim3 dim;
    struct simgpu_block *block;
    struct simgpu_fiber *current;
    void *main_sp;
} run;

static struct simgpu_fiber *all_fibers, *spare;

/* Stacks come in chunks and are never given back. Most are untouched address space. */
static struct simgpu_fiber *take_fiber(void)
{
    if (spare == NULL) {
        char *at = mmap(NULL, FIBER_STACK * FIBER_CHUNK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        struct simgpu_fiber *f = calloc(FIBER_CHUNK, sizeof *f);
        if (at == MAP_FAILED || f == NULL) {
            simgpu_say("no memory for the stacks of device threads");
            simgpu_fault_raise(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        }
        for (int i = FIBER_CHUNK - 1; i >= 0; i--) {
            f[i].top = at + FIBER_STACK * (size_t)(i + 1);
            f[i].all = all_fibers;
            all_fibers = &f[i];
            f[i].next = spare;
            spare = &f[i];
        }
    }
    struct simgpu_fiber *f = spare;
    spare = f->next;
    return f;
}

static void give_fiber(struct simgpu_fiber *f)
{
    f->next = spare;
    spare = f;
}

void simgpu_block_reset(void)
{
    spare = NULL;
    for (struct simgpu_fiber *f = all_fibers; f != NULL; f = f->all)
        give_fiber(f);
}

static void append(struct simgpu_fiber *f, struct simgpu_fiber ***end)
{
    f->next = NULL;
    **end = f;
    *end = &f->next;
}

static void all_ready(struct simgpu_block *b, struct simgpu_fiber **list,
                      struct simgpu_fiber ***end)
{
    if (*list != NULL) {
        *b->ready_end = *list;
        b->ready_end = *end;
    }
    *list = NULL;
    *end = list;
}

static void place_thread(uint32_t index)
{
    struct simgpu_dim3 *t = run.devrt->thread;
    t->x = index % run.dim.x;
    t->y = index / run.dim.x % run.dim.y;
    t->z = index / run.dim.x / run.dim.y;
}

static void open_barrier_if_full(struct simgpu_block *b)
{
    if (b->barred_count == 0 || b->barred_count < b->live)
        return;
    b->tally = b->votes;
    b->votes = (struct simgpu_tally){0};
    b->barred_count = 0;
    all_ready(b, &b->barred, &b->barred_end);
}

/* Closes every meeting of a warp whose lanes have all come or gone. */
static void close_full_meetings(struct simgpu_block *b, struct simgpu_warp *w)
{
    for (struct simgpu_meeting **link = &w->open, *m; (m = *link) != NULL;) {
        unsigned int expected = m->mask & w->live;
        if ((m->exchange.participants & expected) != expected) {
            link = &m->next;
            continue;
        }
        *link = m->next;
        for (unsigned int lane = 0; lane < SIMGPU_WARP; lane++) {
            if (!(m->exchange.participants >> lane & 1) || w->held[lane] != m)
                continue;
            if (w->waiting[lane] != NULL)
                append(w->waiting[lane], &b->ready_end);
            w->waiting[lane] = NULL;
        }
    }
}

static void let_go(struct simgpu_warp *w, unsigned int lane)
{
    struct simgpu_meeting *m = w->held[lane];
    w->held[lane] = NULL;
    if (m != NULL && --m->refs == 0) {
        m->next = w->spare;
        w->spare = m;
    }
}

static void thread_over(struct simgpu_block *b, uint32_t thread)
{
    struct simgpu_warp *w = &b->warps[thread / SIMGPU_WARP];
    unsigned int lane = thread % SIMGPU_WARP;
    w->live &= ~(1u << lane);
    b->live--;
    let_go(w, lane);
    if (w->open != NULL)
        close_full_meetings(b, w);
    if (b->barred_count != 0)
        open_barrier_if_full(b);
}

/* A fiber starts the threads that are left, one after another, until one has to wait. */
static void fiber_main(void)
{
    struct simgpu_fiber *self = run.current;
    struct simgpu_block *b = run.block;
    struct simgpu_dim3 *t = run.devrt->thread;
    const struct simgpu_dim3 dim = run.dim;
    struct simgpu_dim3 at = {b->next % dim.x, b->next / dim.x % dim.y, b->next / dim.x / dim.y};
    while (b->next < b->threads) {
        self->thread = b->next++;
        *t = at;
        simgpu_call_thaw(run.frozen);
        thread_over(b, self->thread);
        /* Others ran while this thread waited: those that are ready come first, the rest is theirs.
         */
        if (self->thread + 1 != b->next || b->ready != NULL)
            break;
        if (++at.x == dim.x) {
            at.x = 0;
            if (++at.y == dim.y) {
                at.y = 0;
                at.z++;
            }
        }
    }
    self->over = true;
    simgpu_fiber_switch(&self->sp, run.main_sp);
}

static void enter(struct simgpu_fiber *f)
{
    run.current = f;
    simgpu_fiber_switch(&run.main_sp, f->sp);
    if (f->over)
        give_fiber(f);
}

static void start_fiber(void)
{
    struct simgpu_fiber *f = take_fiber();
    /* As if simgpu_fiber_switch had been called at the start of fiber_main: six saved registers,
     * the return address, and a slot that keeps the stack aligned as at a function's entry. */
    void **sp = f->top;
    *--sp = NULL;
    *--sp = (void *)(uintptr_t)fiber_main;
    for (int i = 0; i < 6; i++)
        *--sp = NULL;
    f->sp = sp;
    f->over = false;
    enter(f);
}

static void park(void)
{
    struct simgpu_fiber *self = run.current;
    simgpu_fiber_switch(&self->sp, run.main_sp);
}

static struct simgpu_tally barrier(int predicate)
{
    struct simgpu_block *b = run.block;
    b->votes.threads++;
    b->votes.count += predicate != 0;
    b->barred_count++;
    append(run.current, &b->barred_end);
    open_barrier_if_full(b);
    park();
    return b->tally;
}

static const struct simgpu_exchange *exchange(unsigned int mask, unsigned long long value)
{
    struct simgpu_block *b = run.block;
    uint32_t thread = run.current->thread;
    struct simgpu_warp *w = &b->warps[thread / SIMGPU_WARP];
    unsigned int lane = thread % SIMGPU_WARP;
    let_go(w, lane);
    struct simgpu_meeting *m = w->open;
    while (m != NULL && (m->mask != mask || (m->exchange.participants >> lane & 1)))
        m = m->next;
    if (m == NULL) {
        m = w->spare;
        if (m != NULL)
            w->spare = m->next;
        else if ((m = malloc(sizeof *m)) == NULL)
            simgpu_fault_raise(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
        m->mask = mask;
        m->refs = 0;
        m->exchange.participants = 0;
        m->next = w->open;
        w->open = m;
    }
    m->refs++;
    m->exchange.participants |= 1u << lane;
    m->exchange.values[lane] = value;
    w->held[lane] = m;
    unsigned int expected = m->mask & w->live;
    if ((m->exchange.participants & expected) == expected) {
        /* The last to come need not wait. */
        close_full_meetings(b, w);
        return &m->exchange;
    }
    w->waiting[lane] = run.current;
    park();
    return &m->exchange;
}

static unsigned int active(void)
{
    return run.block->warps[run.current->thread / SIMGPU_WARP].live;
}

static void grid_barrier(void)
{
    struct simgpu_block *b = run.block;
    b->gridded_count++;
    append(run.current, &b->gridded_end);
    park();
}

static void stop(int error)
{
    simgpu_fault_raise((CUresult)error);
}

static unsigned long long device_clock(void)
{
    static unsigned long long ticks;
    return ticks += 32; /* it only has to advance */
}

void simgpu_block_launch(struct simgpu_devrt *devrt, const struct simgpu_frozen *frozen,
                         const struct simgpu_dim3 *dim)
{
    run.devrt = devrt;
    run.frozen = frozen;
    run.dim = *dim;
    devrt->barrier = barrier;
    devrt->exchange = exchange;
    devrt->active = active;
    devrt->grid_barrier = grid_barrier;
    devrt->stop = stop;
    devrt->clock = device_clock;
}

static bool go_on(struct simgpu_block *b)
{
    for (;;) {
        struct simgpu_fiber *f = b->ready;
        if (f != NULL) {
            b->ready = f->next;
            if (b->ready == NULL)
                b->ready_end = &b->ready;
            place_thread(f->thread);
            enter(f);
        } else if (b->next < b->threads) {
            start_fiber();
        } else {
            /* Whoever is left waits for the grid, or for threads that will never come. */
            return b->live == b->gridded_count;
        }
    }
}

bool simgpu_block_begin(struct simgpu_block *b, struct simgpu_dim3 at)
{
    b->at = at;
    b->threads = b->live = run.dim.x * run.dim.y * run.dim.z;
    b->next = 0;
    b->ready = b->barred = b->gridded = NULL;
    b->ready_end = &b->ready;
    b->barred_end = &b->barred;
    b->gridded_end = &b->gridded;
    b->barred_count = b->gridded_count = 0;
    b->votes = (struct simgpu_tally){0};
    for (uint32_t i = 0; i * SIMGPU_WARP < b->threads; i++) {
        uint32_t left = b->threads - i * SIMGPU_WARP;
        b->warps[i].live = left >= SIMGPU_WARP ? ~0u : (1u << left) - 1;
        b->warps[i].open = NULL;
    }
    run.block = b;
    *run.devrt->block = at;
    return go_on(b);
}

bool simgpu_block_resume(struct simgpu_block *b)
{
    run.block = b;
    *run.devrt->block = b->at;
    b->gridded_count = 0;
    all_ready(b, &b->gridded, &b->gridded_end);
    return go_on(b);
}
