/* SPDX-License-Identifier: Apache-2.0 */
/* Called from any thread at its first CUDA call. */
#include "preload/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "preload/base/driver.h"
#include "preload/base/log.h"
#include "preload/guard.h"
#include "preload/libc.h"
#include "preload/lookup.h"

struct spill_real spill_real_table, spill_real_driver;
struct spill_driver spill_driver;
bool spill_real_loaded;

const struct spill_hook_row spill_hook_rows[] = {
#define STREAM_L false
#define STREAM_T true
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    {#symbol,                                                                                      \
     #base,                                                                                        \
     abi,                                                                                          \
     until,                                                                                        \
     STREAM_##stream,                                                                              \
     spill_export_##symbol,                                                                        \
     &spill_door_##symbol,                                                                         \
     (void **)&spill_real_table.p_##symbol,                                                        \
     (void **)&spill_real_driver.p_##symbol},
#include "preload/hooks.def"
#undef SPILL_HOOK
};
const unsigned spill_hook_count = sizeof(spill_hook_rows) / sizeof(spill_hook_rows[0]);

/* Stands in for what the driver lacks. Any arguments: the caller cleans up in this ABI. */
CUresult spill_real_absent(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The library that defines ADDRESS. */
static const void *home_of(const void *address, const char **path)
{
    Dl_info info;
    if (address == NULL || dladdr(address, &info) == 0)
        return NULL;
    if (path != NULL)
        *path = info.dli_fname;
    return info.dli_fbase;
}

/* What the name of ROW would have been bound to without us, where that is not the driver's. */
static void *standing_between(const struct spill_hook_row *row, const void *driver)
{
    void *next = spill_libc.dlsym(RTLD_NEXT, row->symbol);
    return next == driver || (next != NULL && spill_lookup_in_driver(next)) ? NULL : next;
}

/* Another preload of our kind hooks dlsym as well; a library with functions of its own does not. */
static bool is_hook_library(const void *function)
{
    return home_of(function, NULL) == home_of((void *)spill_libc.next_dlsym, NULL);
}

/* Returns whether there is anything behind ROW. */
static bool load_row(const struct spill_hook_row *row, void *driver)
{
    const char *path = "?";
    void *own = driver == NULL ? NULL : spill_libc.dlsym(driver, row->symbol);
    void *between = standing_between(row, own);
    void *real = between != NULL ? between : own;
    *row->driver = own;
    *row->real = real != NULL ? real : (void *)spill_real_absent;
    if (between != NULL && !is_hook_library(between)) {
        (void)home_of(between, &path);
        spill_log_once(SPILL_LOG_WARN, "%s has a function %s of its own: running without spillway",
                       path, row->symbol);
        spill_guard_give_up();
    }
    return real != NULL;
}

static void load(void)
{
    bool any = false;
    /* By soname, so that a driver from any folder that is already loaded is found; programs load it
     * RTLD_LOCAL. It stays: a program that closes its driver keeps our pointers valid. */
    void *driver = spill_libc.next_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL)
        driver = spill_libc.next_dlopen("libcuda.so.1", RTLD_LAZY);
    for (unsigned i = 0; i < spill_hook_count; i++)
        any = load_row(&spill_hook_rows[i], driver) || any;
#define SPILL_DRIVER(symbol, type, needed)                                                         \
    spill_driver.p_##symbol = driver == NULL ? NULL : (type)spill_libc.dlsym(driver, #symbol);
#include "preload/base/driver.def"
#undef SPILL_DRIVER
    for (unsigned i = 0; any && i < spill_hook_count; i++) {
        const struct spill_hook_row *row = &spill_hook_rows[i];
        __atomic_store_n(&row->door->target, spill_guard_active() ? row->door->wrapper : *row->real,
                         __ATOMIC_RELEASE);
    }
    (void)dlerror(); /* the look-ups of what is not there are not the program's */
    if (any)
        spill_guard_driver_found();
    __atomic_store_n(&spill_real_loaded, any, __ATOMIC_RELEASE);
}

/* One thread loads, the others wait. The loading thread itself gets false: a driver may call hooked
 * functions while it starts. A signal handler of the program's that makes a call must not find its
 * own thread in the middle of this. */
bool spill_real_load(void)
{
    static char busy;
    static __thread bool loading __attribute__((tls_model("initial-exec")));
    sigset_t all, before;
    if (__atomic_load_n(&spill_real_loaded, __ATOMIC_ACQUIRE))
        return true;
    spill_libc_load();
    if (spill_libc.dlsym == NULL || loading)
        return false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        sched_yield();
    loading = true;
    if (!__atomic_load_n(&spill_real_loaded, __ATOMIC_ACQUIRE))
        load();
    loading = false;
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return spill_real_loaded;
}

void spill_door_look(void)
{
    (void)spill_real_load();
}

bool spill_driver_complete(void)
{
    if (!spill_real_load())
        return false;
#define SPILL_DRIVER(symbol, type, needed)                                                         \
    if (needed && spill_driver.p_##symbol == NULL) {                                               \
        spill_log_once(SPILL_LOG_WARN,                                                             \
                       "the CUDA driver lacks %s (needs 12.4 or newer); passing through",          \
                       #symbol);                                                                   \
        return false;                                                                              \
    }
#include "preload/base/driver.def"
#undef SPILL_DRIVER
    return true;
}

const char *spill_driver_error(CUresult result)
{
    const char *name = NULL;
    if (spill_driver.p_cuGetErrorName == NULL ||
        spill_driver.p_cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
        return "unknown CUDA error";
    return name;
}
