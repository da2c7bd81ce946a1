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

enum elf_kind { NOT_ELF64, STATIC, DYNAMIC, OTHER_CLASS };

static enum elf_kind kind_of(int fd)
{
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return NOT_ELF64;
    if (head.e_ident[EI_CLASS] != ELFCLASS64)
        return OTHER_CLASS;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr program;
        off_t at = (off_t)(head.e_phoff + (Elf64_Off)i * head.e_phentsize);
        if (pread(fd, &program, sizeof(program), at) != (ssize_t)sizeof(program))
            return NOT_ELF64;
        if (program.p_type == PT_INTERP)
            return DYNAMIC;
    }
    return STATIC;
}

/* The loader drops LD_PRELOAD when the kernel raised the process's rights. */
static bool raises_rights(const char *path, const struct stat *st)
{
    return ((st->st_mode & S_ISUID) && st->st_uid != geteuid()) ||
           ((st->st_mode & S_ISGID) && st->st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

void spill_elfcheck_warn(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    enum elf_kind kind = kind_of(fd);
    if (kind == STATIC)
        spill_log(SPILL_LOG_WARN,
                  "%s is statically linked: nothing can be preloaded into it, it runs as it is",
                  path);
    else if (kind == OTHER_CLASS)
        spill_log(SPILL_LOG_WARN, "%s is not a 64-bit program: it runs as it is", path);
    else if (fstat(fd, &st) == 0 && raises_rights(path, &st))
        spill_log(SPILL_LOG_WARN,
                  "%s runs with raised rights, and the loader then ignores LD_PRELOAD: it runs as "
                  "it is",
                  path);
    close(fd);
}
