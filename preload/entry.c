/* SPDX-License-Identifier: Apache-2.0 */
/* The library's life in its host: nothing at load but a fork handler; settings at the first look-up
 * or CUDA call; one line at exit; a forked child passes through. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "preload/base/config.h"
#include "preload/base/driver.h"
#include "preload/base/glob.h"
#include "preload/base/log.h"
#include "preload/base/tsanhost.h"
#include "preload/guard.h"
#include "preload/libc.h"
#include "preload/base/pinrules.h"
#include "preload/onsignal.h"
#include "preload/real.h"

const struct spill_sink *spill_guard_sink;
uint64_t spill_guard_calls;
bool spill_guard_budget_view;
uint64_t spill_guard_gpu_mem;
const char *spill_guard_iteration = "";

static struct spill_config config;
static char started; /* 0 not yet, 1 in progress, 2 done */
static char turnstile;
static bool given_up;
static __thread char inside __attribute__((tls_model("initial-exec")));

/* By the executable's own name: a script is its interpreter. */
static bool program_wanted(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n < 0)
        n = 0;
    path[n] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return (config.only[0] == '\0' || spill_glob_list(config.only, name)) &&
           !spill_glob_list(config.skip, name);
}

/* A handler of the program's that makes a call must not find its own thread in the middle of this.
 */
static void start(void)
{
    char expected = 0;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!__atomic_compare_exchange_n(&started, &expected, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) == 1)
            sched_yield();
        return;
    }
    (void)spill_config_read(&config);
    spill_log_set_level((enum spill_log_level)config.verbose);
    if (config.mode != SPILL_MODE_OFF && program_wanted() && spill_pinrules_set(config.pin)) {
        spill_guard_budget_view = config.mode == SPILL_MODE_OFFLOAD && config.mem_info;
        spill_guard_gpu_mem = config.gpu_mem;
        spill_guard_iteration = config.iteration;
        spill_guard_sink = spill_engine_sink(&config, &spill_guard_calls);
    }
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool spill_guard_active(void)
{
    if (__builtin_expect(__atomic_load_n(&started, __ATOMIC_ACQUIRE) != 2, 0))
        start();
    return spill_guard_sink != NULL && !__atomic_load_n(&given_up, __ATOMIC_RELAXED);
}

void spill_guard_driver_found(void)
{
    if (spill_guard_active() && config.signal)
        spill_onsignal_install();
}

void spill_guard_give_up(void)
{
    __atomic_store_n(&given_up, true, __ATOMIC_RELAXED);
}

bool spill_guard_enter(void)
{
    if (inside || !spill_guard_active())
        return false;
    /* The first load may find that we are to do nothing. */
    if (__builtin_expect(!__atomic_load_n(&spill_real_loaded, __ATOMIC_ACQUIRE), 0) &&
        (!spill_real_load() || !spill_guard_active()))
        return false;
    inside = 1;
    while (__atomic_test_and_set(&turnstile, __ATOMIC_ACQUIRE))
        sched_yield();
    spill_tsanhost_acquire(&turnstile);
    spill_guard_calls++;
    if (__builtin_expect(spill_onsignal_asked, 0)) {
        spill_onsignal_asked = 0;
        spill_guard_sink->report();
    }
    return true;
}

void spill_guard_drain(CUstream stream)
{
    /* An error of this wait is the next call's, too, and is told there. A capture would be spoilt.
     */
    if (!inside && spill_guard_active() && spill_real_load() &&
        SPILL_CU(cuStreamSynchronize) != NULL && !spill_guard_sink->capturing())
        (void)SPILL_CU(cuStreamSynchronize)(stream);
}

void spill_guard_leave(void)
{
    spill_tsanhost_release(&turnstile);
    __atomic_clear(&turnstile, __ATOMIC_RELEASE);
    inside = 0;
}

static void in_child(void)
{
    if (spill_guard_sink != NULL)
        spill_guard_sink->child();
    spill_guard_sink = NULL;
    __atomic_store_n(&started, 2, __ATOMIC_RELEASE);
    turnstile = 0;
}

static int find_driver(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (strncmp(slash != NULL ? slash + 1 : info->dlpi_name, "libcuda.so", 10) != 0)
        return 0;
    *(const char **)path = info->dlpi_name;
    return 1;
}

/* Did this process use CUDA? Asked at exit, when only a harmless call is allowed. The driver is not
 * opened by its name, for which every folder would be searched in every program that has none. */
static bool cuda_was_used(void)
{
    const char *path = NULL;
    spill_libc_load();
    if (spill_libc.next_dlopen == NULL || dl_iterate_phdr(find_driver, &path) == 0)
        return false;
    void *driver = spill_libc.next_dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL)
        return false;
    PFN_cuDeviceGetCount_v2000 count =
        (PFN_cuDeviceGetCount_v2000)spill_libc.dlsym(driver, "cuDeviceGetCount");
    int devices = 0;
    return count != NULL && count(&devices) != CUDA_ERROR_NOT_INITIALIZED;
}

__attribute__((constructor)) static void on_load(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* Other threads may still be at work, one of them inside and perhaps never to come out: the last
 * line is not worth waiting for. */
static bool enter_at_exit(void)
{
    if (inside)
        return false;
    for (int i = 0; i < 200; i++) {
        if (!__atomic_test_and_set(&turnstile, __ATOMIC_ACQUIRE)) {
            spill_tsanhost_acquire(&turnstile);
            inside = 1;
            return true;
        }
        (void)usleep(1000);
    }
    return false;
}

__attribute__((destructor)) static void on_exit_(void)
{
    /* A process that never came near CUDA says nothing and reads no settings. */
    bool used = cuda_was_used();
    if ((!used && __atomic_load_n(&started, __ATOMIC_ACQUIRE) != 2) || !spill_guard_active())
        return;
    if (!enter_at_exit())
        return;
    spill_guard_sink->finish(used);
    spill_guard_leave();
}
