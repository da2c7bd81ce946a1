/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/base/size.h"

#include <stdbool.h>

#include "preload/base/fmt.h"

static char lower(char c)
{
    return (c >= 'A' && c <= 'Z') ? (char)(c - 'A' + 'a') : c;
}

/* The unit's factor, or 0 when TEXT is no unit. */
static uint64_t unit_factor(const char *text)
{
    static const char prefixes[] = "kmgt";
    if (text[0] == '\0' || (lower(text[0]) == 'b' && text[1] == '\0'))
        return 1;
    for (unsigned i = 0; i < sizeof(prefixes) - 1; i++) {
        if (lower(text[0]) != prefixes[i])
            continue;
        bool decimal = lower(text[1]) == 'b' && text[2] == '\0';
        bool binary =
            text[1] == '\0' || (lower(text[1]) == 'i' &&
                                (text[2] == '\0' || (lower(text[2]) == 'b' && text[3] == '\0')));
        uint64_t factor = 1;
        for (unsigned n = 0; n <= i; n++)
            factor *= decimal ? 1000 : 1024;
        return decimal || binary ? factor : 0;
    }
    return 0;
}

enum spill_status spill_size_parse(const char *text, uint64_t *bytes)
{
    uint64_t whole = 0, fraction = 0, scale = 1;
    const char *p = text;
    if (p == NULL || ((*p < '0' || *p > '9') && *p != '.'))
        return SPILL_ERR_INVAL;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*p - '0'), &whole))
            return SPILL_ERR_INVAL;
    if (*p == '.') {
        p++;
        if (*p < '0' || *p > '9')
            return SPILL_ERR_INVAL;
        for (; *p >= '0' && *p <= '9'; p++) {
            if (scale >= 1000000) /* finer than a byte of a TiB matters to nobody */
                continue;
            fraction = fraction * 10 + (uint64_t)(*p - '0');
            scale *= 10;
        }
    }
    while (*p == ' ')
        p++;
    uint64_t factor = unit_factor(p), total;
    if (factor == 0 || __builtin_mul_overflow(whole, factor, &total) ||
        __builtin_add_overflow(total, (uint64_t)((__uint128_t)fraction * factor / scale), &total))
        return SPILL_ERR_INVAL;
    *bytes = total;
    return SPILL_OK;
}

char *spill_size_format(uint64_t bytes, char *out, size_t out_len)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned unit = bytes > UINT64_MAX / 10 ? 1 : 0; /* tenths of it would not fit */
    uint64_t tenths = (unit == 0 ? bytes : bytes / 1024) * 10;
    while (tenths >= 10240 && unit < 6) {
        /* Rounded half up at each division: the errors together stay under a tenth. */
        tenths = tenths / 1024 + (tenths % 1024 >= 512);
        unit++;
    }
    if (unit == 0)
        spill_fmt(out, out_len, "%llu B", (unsigned long long)bytes);
    else
        spill_fmt(out, out_len, "%llu.%llu %s", (unsigned long long)(tenths / 10),
                  (unsigned long long)(tenths % 10), units[unit]);
    return out;
}
