/* SPDX-License-Identifier: Apache-2.0 */
/* Which look-ups get our wrapper. Exact names only: cudnn*, cublas*, cufft* also begin with "cu".
 * May run before main, inside an allocator, on any thread: no malloc, no lock, no log line here. */
#include "preload/lookup.h"

#include <string.h>

#include "preload/base/log.h"
#include "preload/guard.h"
#include "preload/libc.h"
#include "preload/real.h"

bool spill_lookup_in_driver(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return strncmp(slash != NULL ? slash + 1 : info.dli_fname, "libcuda.so", 10) == 0;
}

static const struct spill_hook_row *row_of_symbol(const char *symbol)
{
    for (unsigned i = 0; i < spill_hook_count; i++)
        if (strcmp(spill_hook_rows[i].symbol, symbol) == 0)
            return &spill_hook_rows[i];
    return NULL;
}

static bool driver_is_loaded(void)
{
    void *driver = spill_libc.next_dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL)
        return false;
    (void)dlclose(driver);
    return true;
}

/* Everywhere: our export stands in front of the driver's. Where there is no driver behind it, the
 * program must not be told of its functions. */
static struct spill_lookup_answer search_everywhere(const struct spill_hook_row *row)
{
    if (spill_libc.dlsym(RTLD_DEFAULT, row->symbol) != row->exported)
        return (struct spill_lookup_answer){NULL, 0}; /* the program's own function comes first */
    if (driver_is_loaded() || spill_libc.dlsym(RTLD_NEXT, row->symbol) != NULL)
        return (struct spill_lookup_answer){row->exported, 1};
    return (struct spill_lookup_answer){NULL, 1}; /* and dlerror says why */
}

/* The row of NAME, if it is a driver function that we hook, asked for by anyone but the driver. */
static const struct spill_hook_row *row_asked_for(const char *name, const void *caller)
{
    spill_libc_load(); /* the trampoline needs it */
    if (name == NULL || name[0] != 'c' || name[1] != 'u' || spill_libc.dlsym == NULL)
        return NULL;
    const struct spill_hook_row *row = row_of_symbol(name);
    return row != NULL && spill_guard_active() && !spill_lookup_in_driver(caller) ? row : NULL;
}

static struct spill_lookup_answer wrapper_for(const struct spill_hook_row *row, const void *real)
{
    return (struct spill_lookup_answer){row->exported,
                                        real != NULL && spill_lookup_in_driver(real)};
}

struct spill_lookup_answer spill_lookup_dlsym(void *handle, const char *name, void *caller)
{
    const struct spill_hook_row *row = row_asked_for(name, caller);
    if (row == NULL || handle == RTLD_NEXT) /* which depends on the caller */
        return (struct spill_lookup_answer){NULL, 0};
    if (handle == RTLD_DEFAULT)
        return search_everywhere(row);
    return wrapper_for(row, spill_libc.dlsym(handle, name));
}

struct spill_lookup_answer spill_lookup_dlvsym(void *handle, const char *name, const char *version,
                                               void *caller)
{
    const struct spill_hook_row *row = row_asked_for(name, caller);
    if (row == NULL || handle == RTLD_NEXT || handle == RTLD_DEFAULT || version == NULL)
        return (struct spill_lookup_answer){NULL, 0};
    return wrapper_for(row, spill_libc.dlvsym(handle, name, version));
}

/* RTLD_DEEPBIND puts a library's own dependencies before every preload: its calls of the driver and
 * of dlsym would pass us by, and its buffers would be used while they are out. */
int spill_lookup_dlopen(const char *path, int flags)
{
    spill_libc_load();
    if ((flags & RTLD_DEEPBIND) == 0 || !spill_guard_active())
        return flags;
    spill_log(SPILL_LOG_DEBUG, "%s: opened without RTLD_DEEPBIND, which would hide its CUDA calls",
              path == NULL ? "the program" : path);
    return flags & ~RTLD_DEEPBIND;
}

void spill_lookup_dlmopen(Lmid_t space, const char *path, int flags)
{
    (void)flags;
    spill_libc_load();
    if (space != LM_ID_BASE && spill_guard_active())
        spill_log(SPILL_LOG_DEBUG,
                  "%s: opened in a link namespace of its own, where CUDA calls are not seen",
                  path == NULL ? "the program" : path);
}

/* The row whose ABI the real driver's answer ANSWER to a request (NAME, VERSION, FLAGS) has, or
 * NULL. The exported symbol's own address settles it, whatever it was asked by; a driver that hands
 * out other addresses is judged by version, up to the version whose headers we know. */
static const struct spill_hook_row *row_of_answer(const char *name, const void *answer, int version,
                                                  bool per_thread)
{
    const struct spill_hook_row *by_version = NULL;
    for (unsigned i = 0; i < spill_hook_count; i++) {
        const struct spill_hook_row *row = &spill_hook_rows[i];
        if (*row->driver == answer)
            return row;
        if (strcmp(row->base, name) != 0)
            continue;
        if (version >= row->abi && version <= CUDA_VERSION &&
            (row->until == 0 || version < row->until) && (!row->per_thread || per_thread) &&
            (by_version == NULL || row->per_thread || !by_version->per_thread))
            by_version = row;
    }
    /* An answer that is some other export of the driver is an ABI we do not implement. */
    Dl_info info;
    if (by_version != NULL && dladdr(answer, &info) != 0 && info.dli_saddr == answer &&
        info.dli_sname != NULL && strncmp(info.dli_sname, "cu", 2) == 0)
        return NULL;
    return by_version;
}

static CUresult substitute(CUresult result, const char *name, void **answer, int version,
                           cuuint64_t flags)
{
    if (result == CUDA_SUCCESS && name != NULL && answer != NULL && *answer != NULL &&
        spill_guard_active()) {
        const struct spill_hook_row *row = row_of_answer(
            name, *answer, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
        if (row != NULL)
            *answer = row->exported;
    }
    return result;
}

CUresult cuGetProcAddress(const char *name, void **answer, int version, cuuint64_t flags)
{
    CUresult result = SPILL_REAL(cuGetProcAddress)(name, answer, version, flags);
    return substitute(result, name, answer, version, flags);
}

CUresult cuGetProcAddress_v2(const char *name, void **answer, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    CUresult result = SPILL_REAL(cuGetProcAddress_v2)(name, answer, version, flags, status);
    return substitute(result, name, answer, version, flags);
}
