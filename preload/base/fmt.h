/* SPDX-License-Identifier: Apache-2.0 */
/* A formatter that may be called anywhere inside a host process: no malloc, no locale, no floating
 * point, no lock. libc's snprintf promises none of these. */
#ifndef SPILL_FMT_H
#define SPILL_FMT_H

#include <stdarg.h>
#include <stddef.h>

/* Understands %s %c %d %u %x %p %% with the length marks l, ll, z and a minimum width with optional
 * zero fill ("%016llx"). Always terminates OUT (OUT_LEN >= 1); returns the length written. */
size_t spill_fmt(char *out, size_t out_len, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t spill_vfmt(char *out, size_t out_len, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
