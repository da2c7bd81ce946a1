/* SPDX-License-Identifier: Apache-2.0 */
/* Called from any thread at its first CUDA call; loading twice at once writes the same values
 * twice. */
#include "preload/real.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "preload/base/driver.h"
#include "preload/base/log.h"
#include "preload/lookup.h"

struct spill_real spill_real_table;
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
     (void *)symbol,                                                                               \
     (void **)&spill_real_table.p_##symbol},
#include "preload/hooks.def"
#undef SPILL_HOOK
};
const unsigned spill_hook_count = sizeof(spill_hook_rows) / sizeof(spill_hook_rows[0]);

/* Stands in for what the driver lacks. Any arguments: the caller cleans up in this ABI. */
CUresult spill_real_absent(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

bool spill_real_load(void)
{
    if (spill_real_loaded)
        return true;
    /* By soname, so that a driver from any folder that is already loaded is found; never RTLD_NEXT:
     * programs load the driver RTLD_LOCAL. */
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == NULL)
        driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (driver == NULL)
        return false;
    for (unsigned i = 0; i < spill_hook_count; i++) {
        void *real = spill_lookup_real_dlsym(driver, spill_hook_rows[i].symbol);
        *spill_hook_rows[i].real = real != NULL ? real : (void *)spill_real_absent;
    }
#define SPILL_DRIVER(symbol, type, needed)                                                         \
    spill_driver.p_##symbol = (type)spill_lookup_real_dlsym(driver, #symbol);
#include "preload/base/driver.def"
#undef SPILL_DRIVER
    __atomic_store_n(&spill_real_loaded, true, __ATOMIC_RELEASE);
    return true;
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
