/* SPDX-License-Identifier: Apache-2.0 */
/* One function of libc has to be found without dlsym, which is ours: dlvsym. It is looked for in
 * the symbol table of libc itself (of libdl before glibc 2.34), as the dynamic linker would. */
#include "preload/libc.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

struct spill_libc spill_libc;

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    const uint32_t *hash;          /* DT_GNU_HASH */
    const ElfW(Versym) * versions; /* its hidden bit marks forms kept for old programs */
};

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++)
        h = h * 33 + *p;
    return h;
}

static const ElfW(Sym) * find(const struct symbols *s, const char *name)
{
    uint32_t buckets = s->hash[0], first = s->hash[1], bloom_words = s->hash[2];
    const uint32_t *bucket = &s->hash[4] + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t h = gnu_hash(name);
    for (uint32_t i = bucket[h % buckets]; i >= first; i++) {
        bool hidden = s->versions != NULL && (s->versions[i] & 0x8000) != 0;
        if (!hidden && (chain[i - first] | 1) == (h | 1) && s->table[i].st_shndx != SHN_UNDEF &&
            strcmp(s->names + s->table[i].st_name, name) == 0)
            return &s->table[i];
        if ((chain[i - first] & 1) != 0)
            break;
    }
    return NULL;
}

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return strcmp(name, "libc.so.6") == 0 || strcmp(name, "libdl.so.2") == 0;
}

/* glibc leaves the addresses in DT_ entries relocated; a few builds of it do not. */
static const void *at(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static int look(struct dl_phdr_info *info, size_t size, void *found)
{
    struct symbols s = {0};
    (void)size;
    if (info->dlpi_name == NULL || !is_libc(info->dlpi_name))
        return 0;
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        for (; d->d_tag != DT_NULL; d++) {
            if (d->d_tag == DT_SYMTAB)
                s.table = at(info, d->d_un.d_ptr);
            else if (d->d_tag == DT_STRTAB)
                s.names = at(info, d->d_un.d_ptr);
            else if (d->d_tag == DT_GNU_HASH)
                s.hash = at(info, d->d_un.d_ptr);
            else if (d->d_tag == DT_VERSYM)
                s.versions = at(info, d->d_un.d_ptr);
        }
    }
    if (s.table == NULL || s.names == NULL || s.hash == NULL)
        return 0;
    const ElfW(Sym) *symbol = find(&s, "dlvsym");
    if (symbol == NULL)
        return 0;
    *(void **)found = (void *)(info->dlpi_addr + symbol->st_value);
    return 1;
}

typedef void *(*dlvsym_fn)(void *, const char *, const char *);

/* glibc moved these into libc in 2.34 and kept the old versions for old programs. */
static void *next(dlvsym_fn dlvsym_of_libc, const char *name, const char *old)
{
    void *found = dlvsym_of_libc(RTLD_NEXT, name, "GLIBC_2.34");
    return found != NULL ? found : dlvsym_of_libc(RTLD_NEXT, name, old);
}

void spill_libc_load(void)
{
    dlvsym_fn of_libc = NULL;
    if (__atomic_load_n(&spill_libc.dlsym, __ATOMIC_ACQUIRE) != NULL)
        return;
    (void)dl_iterate_phdr(look, &of_libc);
    if (of_libc == NULL)
        return;
    spill_libc.dlvsym = (dlvsym_fn)next(of_libc, "dlvsym", "GLIBC_2.2.5");
    spill_libc.dlopen = (void *(*)(const char *, int))next(of_libc, "dlopen", "GLIBC_2.2.5");
    spill_libc.dlmopen =
        (void *(*)(Lmid_t, const char *, int))next(of_libc, "dlmopen", "GLIBC_2.3.4");
    __atomic_store_n(&spill_libc.dlsym,
                     (void *(*)(void *, const char *))next(of_libc, "dlsym", "GLIBC_2.2.5"),
                     __ATOMIC_RELEASE);
}
