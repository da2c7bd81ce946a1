/* SPDX-License-Identifier: Apache-2.0 */
/* ELF: how big an embedded image is, loading it, and its symbols. Symbols are read from the file
 * itself rather than asked of dlsym, which under a preloaded hook would be one more detour. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdio.h>

#include "module.h"

size_t simgpu_image_bytes(const void *data)
{
    const Elf64_Ehdr *h = data;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    uint64_t end = h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize;
    const Elf64_Phdr *p = (const void *)((const char *)data + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_offset + p[i].p_filesz > end)
            end = p[i].p_offset + p[i].p_filesz;
    return end;
}

static const Elf64_Shdr *sections(const struct simgpu_module *m)
{
    const Elf64_Ehdr *h = (const void *)m->image;
    return (const void *)(m->image + h->e_shoff);
}

static const Elf64_Shdr *section_of_type(const struct simgpu_module *m, uint32_t type)
{
    const Elf64_Ehdr *h = (const void *)m->image;
    for (int i = 0; i < h->e_shnum; i++)
        if (sections(m)[i].sh_type == type)
            return &sections(m)[i];
    return NULL;
}

bool simgpu_image_symbol(const struct simgpu_module *m, const char *name, bool function,
                         uint64_t *address, uint64_t *bytes)
{
    const Elf64_Shdr *table = section_of_type(m, SHT_DYNSYM);
    if (table == NULL)
        return false;
    const char *strings = (const char *)m->image + sections(m)[table->sh_link].sh_offset;
    const Elf64_Sym *s = (const void *)(m->image + table->sh_offset);
    for (uint64_t i = 0; i < table->sh_size / sizeof *s; i++) {
        if (s[i].st_shndx == SHN_UNDEF || strcmp(strings + s[i].st_name, name) != 0)
            continue;
        if ((ELF64_ST_TYPE(s[i].st_info) == STT_FUNC) != function)
            continue;
        *address = m->base + s[i].st_value;
        *bytes = s[i].st_size;
        return true;
    }
    return false;
}

static bool load(struct simgpu_module *m)
{
    char path[64];
    int fd = memfd_create("simgpu-image", MFD_CLOEXEC);
    if (fd < 0 || write(fd, m->image, m->image_bytes) != (ssize_t)m->image_bytes) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (m->handle == NULL)
        simgpu_say("image does not load: %s", dlerror());
    close(fd);
    return m->handle != NULL;
}

bool simgpu_image_open(struct simgpu_module *m)
{
    struct link_map *map;
    uint64_t address, bytes;
    if (!load(m))
        return false;
    if (dlinfo(m->handle, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    m->base = map->l_addr;
    const Elf64_Ehdr *h = (const void *)m->image;
    const Elf64_Phdr *p = (const void *)(m->image + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_LOAD && m->base + p[i].p_vaddr + p[i].p_memsz > m->end)
            m->end = m->base + p[i].p_vaddr + p[i].p_memsz;
    if (!simgpu_image_symbol(m, SIMGPU_DEVRT_SYMBOL, false, &address, &bytes)) {
        simgpu_say("image was not made by simcc: it has no %s", SIMGPU_DEVRT_SYMBOL);
        return false;
    }
    m->devrt = (struct simgpu_devrt *)address;
    if (m->devrt->version != SIMGPU_DEVRT_VERSION) {
        simgpu_say("image was made by another version of simcc: compile it again");
        return false;
    }
    const char *names = (const char *)m->image + sections(m)[h->e_shstrndx].sh_offset;
    for (int i = 0; i < h->e_shnum; i++) {
        if (strcmp(names + sections(m)[i].sh_name, "__llvm_prf_cnts") != 0)
            continue;
        m->counters = (uint64_t *)(m->base + sections(m)[i].sh_addr);
        m->counter_count = sections(m)[i].sh_size / sizeof *m->counters;
    }
    return true;
}
