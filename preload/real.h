/* SPDX-License-Identifier: Apache-2.0 */
/* The real driver functions behind the hooks, and the table of hooks by name. */
#ifndef SPILL_REAL_H
#define SPILL_REAL_H

#include <stdbool.h>

#include "preload/base/cuapi.h"
#include "preload/doors.h"

/* Every wrapper, declared from its row's type: a definition of another signature does not compile.
 * What is exported under the driver's name is its door (doors.h); the wrapper has another name for
 * the linker. */
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    extern __attribute__((visibility("hidden"))) __typeof__(*(type)0) symbol __asm__(              \
        "spill_wrap_" #symbol);
#include "preload/hooks.def"
#undef SPILL_HOOK

struct spill_real {
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class) type p_##symbol;
#include "preload/hooks.def"
#undef SPILL_HOOK
};

extern struct spill_real spill_real_table, spill_real_driver;
extern bool spill_real_loaded;

/* Finds the driver that the program loaded (or loads libcuda.so.1) and fills the tables here and in
 * driver.h. A function that the driver lacks answers CUDA_ERROR_NOT_SUPPORTED. Functions of these
 * names that another library defines come first, as they would without us: those of another
 * preload are called in the driver's place; any other library's make us inert. Returns false when
 * there is neither. Idempotent. */
bool spill_real_load(void);

/* A call of the real function behind the hook SYMBOL. */
#define SPILL_REAL(symbol)                                                                         \
    ((__atomic_load_n(&spill_real_loaded, __ATOMIC_ACQUIRE) || spill_real_load())                  \
         ? spill_real_table.p_##symbol                                                             \
         : (__typeof__(spill_real_table.p_##symbol))(void *)spill_real_absent)

CUresult spill_real_absent(void);

struct spill_hook_row {
    const char *symbol;
    const char *base;
    int abi;
    int until;
    bool per_thread;
    void *exported; /* our function of this name */
    struct spill_door *door;
    void **real;   /* what the wrapper calls */
    void **driver; /* the driver's own; differs where another preload stands between */
};

extern const struct spill_hook_row spill_hook_rows[];
extern const unsigned spill_hook_count;

#endif
