/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of device code. The handler runs on its own stack, since device code runs on small ones;
 * it opens pages that wait for their first touch, ends the operation for a real fault in a guarded
 * body, and hands everything else to whoever had the signal before us. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "fault.h"
#include "memory.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
#define SIGNALS (sizeof signals / sizeof *signals)

static struct sigaction previous[SIGNALS];
static bool installed;
static _Thread_local bool guarded, has_stack;
static _Thread_local sigjmp_buf escape;
static _Thread_local uint64_t fault_address;

uint64_t simgpu_fault_address(void)
{
    return fault_address;
}

void simgpu_fault_raise(CUresult error)
{
    guarded = false;
    siglongjmp(escape, (int)error);
}

static void pass_on(int number, siginfo_t *info, void *context)
{
    size_t i = 0;
    while (i + 1 < SIGNALS && signals[i] != number)
        i++;
    const struct sigaction *old = &previous[i];
    static _Thread_local uintptr_t passing;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < passing && passing - here < 65536) {
        /* Called from the handler that we called: it chains to us, and neither wants the signal.
         * (Not a flag, because that handler may have left by a jump.) */
        signal(number, SIG_DFL);
        return;
    }
    passing = here;
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(number, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
    } else {
        /* Back at the instruction the default action ends the process, with the true address. */
        sigaction(number, old, NULL);
    }
    passing = 0;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    uint64_t address = (uintptr_t)info->si_addr;
    if (!guarded) {
        pass_on(number, info, context);
        return;
    }
    const ucontext_t *at = context;
    bool write = at->uc_mcontext.gregs[REG_ERR] & 2; /* x86: bit 1 of the page fault's error code */
    if (number == SIGSEGV && simgpu_space_fault(address, write))
        return;
    fault_address = address;
    simgpu_fault_raise(number == SIGSEGV || number == SIGBUS ? CUDA_ERROR_ILLEGAL_ADDRESS
                                                             : CUDA_ERROR_LAUNCH_FAILED);
}

static void install(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now, mine = {0};
        if (installed && sigaction(signals[i], NULL, &now) == 0 && now.sa_sigaction == on_signal)
            continue;
        mine.sa_sigaction = on_signal;
        /* Not deferred: we leave by siglongjmp without the cost of saving the signal mask. */
        mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(signals[i], &mine, &previous[i]);
    }
    installed = true;
}

static void give_stack(void)
{
    stack_t now;
    has_stack = true;
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE))
        return;
    const size_t bytes = 64 << 10;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED)
        sigaltstack(&(stack_t){.ss_sp = at, .ss_size = bytes}, NULL);
}

CUresult simgpu_fault_guard(void (*body)(void *arg), void *arg)
{
    struct sigaction now;
    /* A program may set a handler of its own at any time; ours must be the first while it runs our
     * work. */
    if (!installed || sigaction(SIGSEGV, NULL, &now) != 0 || now.sa_sigaction != on_signal)
        install();
    if (!has_stack)
        give_stack();
    int error = sigsetjmp(escape, 0);
    if (error != 0)
        return (CUresult)error;
    guarded = true;
    body(arg);
    guarded = false;
    return CUDA_SUCCESS;
}
