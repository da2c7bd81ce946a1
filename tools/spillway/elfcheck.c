/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/elfcheck.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "preload/base/log.h"

static enum spill_elf kind_of(int fd, char *loader, size_t loader_len)
{
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return SPILL_ELF_NONE;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return SPILL_ELF_OTHER_CLASS;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr program;
        off_t at = (off_t)(head.e_phoff + (Elf64_Off)i * head.e_phentsize);
        if (pread(fd, &program, sizeof(program), at) != (ssize_t)sizeof(program))
            return SPILL_ELF_NONE;
        if (program.p_type != PT_INTERP)
            continue;
        size_t len = program.p_filesz < loader_len ? program.p_filesz : loader_len - 1;
        ssize_t n = pread(fd, loader, len, (off_t)program.p_offset);
        loader[n > 0 ? n : 0] = '\0';
        return SPILL_ELF_FINE;
    }
    return SPILL_ELF_STATIC;
}

/* The loader drops LD_PRELOAD when the kernel raised the process's rights. */
static bool raises_rights(const char *path, const struct stat *st)
{
    return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
           ((st->st_mode & S_ISGID) && st->st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

enum spill_elf spill_elfcheck(const char *path, char *loader, size_t loader_len)
{
    char own[2];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (loader == NULL) {
        loader = own;
        loader_len = sizeof(own);
    }
    loader[0] = '\0';
    if (fd < 0)
        return SPILL_ELF_NONE;
    enum spill_elf kind = kind_of(fd, loader, loader_len);
    if (kind == SPILL_ELF_FINE && fstat(fd, &st) == 0 && raises_rights(path, &st))
        kind = SPILL_ELF_RAISED;
    close(fd);
    return kind;
}

const char *spill_elfcheck_text(enum spill_elf kind)
{
    switch (kind) {
    case SPILL_ELF_STATIC:
        return "is statically linked: nothing can be preloaded into it";
    case SPILL_ELF_OTHER_CLASS:
        return "is not a 64-bit program";
    case SPILL_ELF_RAISED:
        return "runs with raised rights, and the loader then ignores LD_PRELOAD";
    case SPILL_ELF_FINE:
    case SPILL_ELF_NONE:
        break;
    }
    return NULL;
}

void spill_elfcheck_warn(const char *path)
{
    const char *why = spill_elfcheck_text(spill_elfcheck(path, NULL, 0));
    if (why != NULL)
        spill_log(SPILL_LOG_WARN, "%s %s; it runs as it is", path, why);
}
