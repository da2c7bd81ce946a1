/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: by base name, version and flags, the address of the very symbol that is
 * exported. */
#include <stdlib.h>
#include <string.h>

#include "lookup.h"

/* The table only needs addresses; declaring the symbols as they are would need every prototype. */
#define LOOKUP(base, symbol, version, form) extern char symbol[];
#include "lookup_table.inc"
#undef LOOKUP

struct row {
    const char *base;
    void *address;
    int version;
    int per_thread;
};

static struct row rows[] = {
#define LOOKUP(base, symbol, version, form) {#base, symbol, version, form},
#include "lookup_table.inc"
#undef LOOKUP
};

static int by_name(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = strcmp(x->base, y->base);
    if (order != 0)
        return order;
    return x->version < y->version ? -1 : x->version > y->version;
}

enum simgpu_lookup simgpu_lookup_find(const char *base, int version, int per_thread, void **address)
{
    static int sorted;
    const size_t n = sizeof rows / sizeof *rows;
    if (!sorted) {
        qsort(rows, n, sizeof *rows, by_name);
        sorted = 1;
    }
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(rows[mid].base, base) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    bool known = false;
    const struct row *plain = NULL, *twin = NULL;
    for (; low < n && strcmp(rows[low].base, base) == 0; low++) {
        known = true;
        /* Per-thread twins date from CUDA 7, long after the functions they stand for. */
        if (rows[low].version > version)
            continue;
        if (rows[low].per_thread)
            twin = &rows[low];
        else
            plain = &rows[low];
    }
    const struct row *found = per_thread && twin != NULL ? twin : plain;
    *address = found != NULL ? found->address : NULL;
    if (found != NULL)
        return SIMGPU_LOOKUP_FOUND;
    return known ? SIMGPU_LOOKUP_TOO_NEW : SIMGPU_LOOKUP_UNKNOWN;
}
