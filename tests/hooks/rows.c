/* SPDX-License-Identifier: Apache-2.0 */
/* The rows against the headers: each symbol is answered from exactly its version on, until exactly
 * the version at which the headers name another symbol for the same request. */
#include <stdio.h>
#include <string.h>

static const struct {
    const char *base, *symbol;
    int version, per_thread;
} truth[] = {
#define LOOKUP(base, symbol, version, form) {#base, #symbol, version, form},
#include "lookup_table.inc"
#undef LOOKUP
};

#define TRUTH (sizeof(truth) / sizeof(truth[0]))

static const struct {
    const char *symbol, *base;
    int abi, until;
    char stream;
    const char *type;
} rows[] = {
#define SPILL_HOOK(symbol, base, abi, until, stream, type, class)                                  \
    {#symbol, #base, abi, until, #stream[0], #type},
#include "preload/hooks.def"
#undef SPILL_HOOK
};

static int next_version(const char *base, int version, int per_thread)
{
    int next = 0;
    for (size_t i = 0; i < TRUTH; i++)
        if (strcmp(truth[i].base, base) == 0 && truth[i].per_thread == per_thread &&
            truth[i].version > version && (next == 0 || truth[i].version < next))
            next = truth[i].version;
    return next;
}

/* PFN_base_vABI, with the symbol's suffix for the per-thread stream. */
static int type_fits(size_t r)
{
    char want[128];
    const char *twin = strstr(rows[r].symbol, "_pt");
    snprintf(want, sizeof(want), "PFN_%s_v%d%s", rows[r].base, rows[r].abi,
             twin == NULL ? "" : twin);
    return strcmp(want, rows[r].type) == 0;
}

int main(void)
{
    int bad = 0;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        size_t i = 0;
        while (i < TRUTH && strcmp(truth[i].symbol, rows[r].symbol) != 0)
            i++;
        if (i == TRUTH || strcmp(truth[i].base, rows[r].base) != 0 ||
            truth[i].version != rows[r].abi || truth[i].per_thread != (rows[r].stream == 'T') ||
            next_version(rows[r].base, rows[r].abi, truth[i].per_thread) != rows[r].until ||
            !type_fits(r)) {
            printf("%s: base, abi, until, stream or type is wrong\n", rows[r].symbol);
            bad = 1;
        }
    }
    return bad;
}
