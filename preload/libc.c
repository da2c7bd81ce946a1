/* SPDX-License-Identifier: Apache-2.0 */
/* libc's own dlsym and dlvsym have to be found without dlsym, which is ours: in the symbol table of
 * libc itself (of libdl before glibc 2.34), as the dynamic linker would.
 *
 * No other function of libc is called here, and the list of what is loaded is read as a debugger
 * reads it: a sanitizer's runtime has its own strcmp and dl_iterate_phdr, which call dlsym before
 * they work. */
#include "preload/libc.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spill_libc spill_libc;

struct symbols {
    const ElfW(Sym) * table;
    const char *names;
    const uint32_t *hash;          /* DT_GNU_HASH */
    const ElfW(Versym) * versions; /* its hidden bit marks forms kept for old programs */
};

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

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
            same(s->names + s->table[i].st_name, name))
            return &s->table[i];
        if ((chain[i - first] & 1) != 0)
            break;
    }
    return NULL;
}

static bool is_libc(const char *path)
{
    const char *name = path;
    for (const char *p = path; *p != '\0'; p++)
        if (*p == '/')
            name = p + 1;
    return same(name, "libc.so.6") || same(name, "libdl.so.2");
}

/* glibc leaves the addresses in DT_ entries relocated; a few builds of it do not. */
static const void *at(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? map->l_addr + value : value);
}

static bool look(const struct link_map *map, struct spill_libc *libc)
{
    struct symbols s = {0};
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_SYMTAB)
            s.table = at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_STRTAB)
            s.names = at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            s.hash = at(map, d->d_un.d_ptr);
        else if (d->d_tag == DT_VERSYM)
            s.versions = at(map, d->d_un.d_ptr);
    }
    if (s.table == NULL || s.names == NULL || s.hash == NULL)
        return false;
    const ElfW(Sym) *by_name = find(&s, "dlsym"), *by_version = find(&s, "dlvsym");
    if (by_name == NULL || by_version == NULL)
        return false;
    libc->dlsym = (void *(*)(void *, const char *))(map->l_addr + by_name->st_value);
    libc->dlvsym =
        (void *(*)(void *, const char *, const char *))(map->l_addr + by_version->st_value);
    return true;
}

void spill_libc_load(void)
{
    struct spill_libc libc = {0};
    if (__atomic_load_n(&spill_libc.dlsym, __ATOMIC_ACQUIRE) != NULL)
        return;
    const struct link_map *map = _r_debug.r_map;
    while (map != NULL && !(is_libc(map->l_name) && look(map, &libc)))
        map = map->l_next;
    if (map == NULL)
        return;
    /* The next in line: another preload's if there is one, or it would be passed by. */
    spill_libc.next_dlsym = (void *(*)(void *, const char *))libc.dlsym(RTLD_NEXT, "dlsym");
    spill_libc.next_dlvsym =
        (void *(*)(void *, const char *, const char *))libc.dlsym(RTLD_NEXT, "dlvsym");
    spill_libc.next_dlopen = (void *(*)(const char *, int))libc.dlsym(RTLD_NEXT, "dlopen");
    spill_libc.next_dlmopen =
        (void *(*)(Lmid_t, const char *, int))libc.dlsym(RTLD_NEXT, "dlmopen");
    spill_libc.dlvsym = libc.dlvsym;
    __atomic_store_n(&spill_libc.dlsym, libc.dlsym, __ATOMIC_RELEASE);
}
