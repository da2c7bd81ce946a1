/* SPDX-License-Identifier: Apache-2.0 */
/* Can anything be preloaded into a program? Seen from its file. */
#ifndef SPILL_ELFCHECK_H
#define SPILL_ELFCHECK_H

#include <stddef.h>

enum spill_elf {
    SPILL_ELF_FINE,        /* an ordinary program of this machine */
    SPILL_ELF_NONE,        /* not a program of the loader's: a script, or damaged */
    SPILL_ELF_STATIC,      /* without a loader nothing is preloaded */
    SPILL_ELF_OTHER_CLASS, /* 32 bits */
    SPILL_ELF_RAISED       /* setuid and the like: the loader ignores LD_PRELOAD */
};

/* LOADER (LOADER_LEN bytes; may be NULL) becomes the loader that the file names, "" if none. */
enum spill_elf spill_elfcheck(const char *path, char *loader, size_t loader_len);

/* Why the program in PATH runs without the library, as half a sentence; NULL for the kinds that do
 * not prevent it. */
const char *spill_elfcheck_text(enum spill_elf kind);

/* Says so in one line, if it does. */
void spill_elfcheck_warn(const char *path);

#endif
