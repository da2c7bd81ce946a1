/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/hooks/fakedriver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct fake_call fake_last;
int fake_result;
void (*fake_hook)(const char *name);

#define LOOKUP(base, symbol, version, form) extern char symbol[];
#include "lookup_table.inc"
#undef LOOKUP

static const struct {
    const char *base;
    void *address;
    int version;
    int per_thread;
} rows[] = {
#define LOOKUP(base, symbol, version, form) {#base, symbol, version, form},
#include "lookup_table.inc"
#undef LOOKUP
};

int fake_record(int function, const uint64_t *registers, const uint64_t *stack);
int fake_record(int function, const uint64_t *registers, const uint64_t *stack)
{
    fake_last.function = function;
    memcpy(fake_last.word, registers, 6 * sizeof(uint64_t));
    memcpy(fake_last.word + 6, stack, (FAKE_WORDS - 6) * sizeof(uint64_t));
    __atomic_fetch_add(&fake_count[function], 1, __ATOMIC_RELAXED);
    if (fake_hook != NULL)
        fake_hook(fake_name[function]);
    return fake_result;
}

void *fake_lookup(const char *base, int version, int per_thread)
{
    void *plain = NULL, *twin = NULL;
    int plain_version = 0, twin_version = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].base, base) != 0 || rows[i].version > version)
            continue;
        if (rows[i].per_thread && rows[i].version >= twin_version) {
            twin = rows[i].address;
            twin_version = rows[i].version;
        } else if (!rows[i].per_thread && rows[i].version >= plain_version) {
            plain = rows[i].address;
            plain_version = rows[i].version;
        }
    }
    return per_thread && twin != NULL ? twin : plain;
}

struct fake_request fake_request[FAKE_REQUESTS];
int fake_requests;

static void note(const char *base, int version, uint64_t flags, const void *caller)
{
    int n = __atomic_fetch_add(&fake_requests, 1, __ATOMIC_RELAXED);
    if (n >= FAKE_REQUESTS)
        return;
    strncpy(fake_request[n].base, base, sizeof(fake_request[n].base) - 1);
    fake_request[n].version = version;
    fake_request[n].flags = flags;
    fake_request[n].caller = caller;
}

static int answer(const char *base, void **address, int version, uint64_t flags, int *status)
{
    *address = fake_lookup(base, version, (flags & 2) != 0);
    if (status != NULL)
        *status = *address != NULL ? 0 : fake_lookup(base, 1 << 30, 0) != NULL ? 2 : 1;
    return *address != NULL ? 0 : 500;
}

/* Under other names here, as the table above has these as data. */
int lookup_v1(const char *, void **, int, uint64_t) __asm__("cuGetProcAddress");
int lookup_v2(const char *, void **, int, uint64_t, int *) __asm__("cuGetProcAddress_v2");

int lookup_v1(const char *base, void **address, int version, uint64_t flags)
{
    note(base, version, flags, __builtin_return_address(0));
    return answer(base, address, version, flags, NULL);
}

int lookup_v2(const char *base, void **address, int version, uint64_t flags, int *status)
{
    note(base, version, flags, __builtin_return_address(0));
    return answer(base, address, version, flags, status);
}

/* The driver of WSL2 looks its own functions up by dlsym. */
void *fake_own(const char *name)
{
    return dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}
