/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel names for people. */
#ifndef SPILL_DEMANGLE_H
#define SPILL_DEMANGLE_H

#include <stddef.h>

/* Writes NAME into OUT as the source has it, without return type and parameters
 * ("_Z6affineILi64EEvPKf" -> "affine<64>"); as it is when it is not mangled or no C++ library is
 * here. */
char *spill_demangle(const char *name, char *out, size_t out_len);

#endif
