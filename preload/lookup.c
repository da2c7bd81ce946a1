/* SPDX-License-Identifier: Apache-2.0 */
/* Which look-ups get our wrapper. Exact names only: cudnn*, cublas*, cufft* also begin with "cu".
 * May run before main, inside an allocator, on any thread: no malloc, no lock, no log line here. */
#include "preload/lookup.h"

#include <dlfcn.h>
#include <string.h>

#include "preload/guard.h"
#include "preload/real.h"

typedef void *(*dlsym_fn)(void *, const char *);
dlsym_fn spill_lookup_libc_dlsym
    __attribute__((visibility("hidden"))); /* the trampoline jumps here */

static dlsym_fn libc_dlsym(void)
{
    if (spill_lookup_libc_dlsym == NULL) {
        /* glibc moved dlsym into libc in 2.34 and kept the old version for old programs. */
        void *found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (found == NULL)
            found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        spill_lookup_libc_dlsym = (dlsym_fn)found;
    }
    return spill_lookup_libc_dlsym;
}

void *spill_lookup_real_dlsym(void *handle, const char *name)
{
    return libc_dlsym()(handle, name);
}

/* Does ADDRESS lie in a file called libcuda.so*? */
static bool in_driver(const void *address)
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

void *spill_lookup_dlsym(void *handle, const char *name, void *caller)
{
    (void)libc_dlsym(); /* the trampoline needs it */
    if (name == NULL || name[0] != 'c' || name[1] != 'u' || !spill_guard_active())
        return NULL;
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return NULL; /* the first finds our exports by itself, the second depends on the caller */
    const struct spill_hook_row *row = row_of_symbol(name);
    if (row == NULL || in_driver(caller))
        return NULL;
    void *real = spill_lookup_real_dlsym(handle, name);
    return real != NULL && in_driver(real) ? row->wrapper : NULL;
}

/* The row whose ABI the real driver's answer ANSWER to a request (NAME, VERSION, FLAGS) has, or
 * NULL. The exported symbol's own address settles it; a driver that hands out other addresses is
 * judged by version, up to the version whose headers we know. */
static const struct spill_hook_row *row_of_answer(const char *name, const void *answer, int version,
                                                  bool per_thread)
{
    const struct spill_hook_row *by_version = NULL;
    for (unsigned i = 0; i < spill_hook_count; i++) {
        const struct spill_hook_row *row = &spill_hook_rows[i];
        if (strcmp(row->base, name) != 0)
            continue;
        if (*row->real == answer)
            return row;
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
            *answer = row->wrapper;
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
