/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/utf8text.h"

#include <stdint.h>

size_t spill_utf8_length(const char *text, size_t len)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t bytes = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (bytes <= 1 || bytes > len || s[0] > 0xf4)
        return bytes == 1 ? 1 : 0;
    uint32_t code = s[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (s[i] & 0x3fu);
    }
    /* Overlong forms, surrogates and what lies beyond Unicode are no characters. */
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    return bytes;
}
