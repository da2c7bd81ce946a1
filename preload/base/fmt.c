/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/fmt.h"

#include <stdbool.h>
#include <stdint.h>

struct sink {
    char *out;
    size_t len, cap;
};

static void put(struct sink *sink, char c)
{
    if (sink->len + 1 < sink->cap)
        sink->out[sink->len++] = c;
}

static void put_number(struct sink *sink, uint64_t value, unsigned base, bool negative,
                       unsigned width, char fill)
{
    char digits[24];
    unsigned n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    if (negative && fill == '0')
        put(sink, '-');
    for (unsigned used = n + (negative ? 1 : 0); used < width; used++)
        put(sink, fill);
    if (negative && fill != '0')
        put(sink, '-');
    while (n > 0)
        put(sink, digits[--n]);
}

size_t spill_vfmt(char *out, size_t out_len, const char *format, va_list args)
{
    struct sink sink = {.out = out, .len = 0, .cap = out_len};
    for (const char *p = format; *p != '\0'; p++) {
        if (*p != '%') {
            put(&sink, *p);
            continue;
        }
        p++;
        char fill = ' ';
        unsigned width = 0, longs = 0;
        if (*p == '0')
            fill = *p++;
        for (; *p >= '0' && *p <= '9'; p++)
            width = width * 10 + (unsigned)(*p - '0');
        for (; *p == 'l' || *p == 'z'; p++)
            longs++;
        switch (*p) {
        case 's': {
            const char *s = va_arg(args, const char *);
            for (s = s == NULL ? "(null)" : s; *s != '\0'; s++)
                put(&sink, *s);
            break;
        }
        case 'c':
            put(&sink, (char)va_arg(args, int));
            break;
        case 'd': {
            int64_t v = longs > 0 ? va_arg(args, long) : va_arg(args, int);
            put_number(&sink, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, v < 0, width, fill);
            break;
        }
        case 'u':
        case 'x': {
            uint64_t v = longs > 0 ? va_arg(args, unsigned long) : va_arg(args, unsigned);
            put_number(&sink, v, *p == 'x' ? 16 : 10, false, width, fill);
            break;
        }
        case 'p':
            put(&sink, '0');
            put(&sink, 'x');
            put_number(&sink, (uintptr_t)va_arg(args, void *), 16, false, width, fill);
            break;
        case '\0':
            p--;
            break;
        default:
            put(&sink, *p);
        }
    }
    out[sink.len] = '\0';
    return sink.len;
}

size_t spill_fmt(char *out, size_t out_len, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t n = spill_vfmt(out, out_len, format, args);
    va_end(args);
    return n;
}
