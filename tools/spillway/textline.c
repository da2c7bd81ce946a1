/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/textline.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "tools/spillway/utf8text.h"

enum { TEXT = 1024 };

/* Columns of the LEN bytes at TEXT: characters, taken to be one wide each. */
static size_t width(const char *text, size_t len)
{
    size_t columns = 0;
    for (size_t i = 0; i < len; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Bytes from TEXT to the next place where a line may end. */
static size_t piece(const char *text)
{
    size_t len = strcspn(text, " ");
    while (len > 0 && text[len] == ' ' && isdigit((unsigned char)text[len - 1]))
        len += 1 + strcspn(text + len + 1, " ");
    return len;
}

void spill_textline_print(FILE *out, const char *label, const char *format, ...)
{
    char text[TEXT];
    size_t column = SPILL_TEXTLINE_LABEL;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(out, "  %-*s", SPILL_TEXTLINE_LABEL - 2, label);
    for (const char *at = text; *at != '\0';) {
        size_t len = piece(at), columns = width(at, len);
        if (column > SPILL_TEXTLINE_LABEL && column + 1 + columns > SPILL_TEXTLINE_COLUMNS) {
            fprintf(out, "\n%*s", SPILL_TEXTLINE_LABEL, "");
            column = SPILL_TEXTLINE_LABEL;
        } else if (column > SPILL_TEXTLINE_LABEL) {
            fputc(' ', out);
            column++;
        }
        fwrite(at, 1, len, out);
        column += columns;
        at += len + strspn(at + len, " ");
    }
    fputc('\n', out);
}

/* Is the character of BYTES at TEXT one that moves the cursor, or none at all? */
static bool unprintable(const char *text, size_t bytes)
{
    unsigned char c = (unsigned char)text[0];
    return bytes == 0 || c < ' ' || c == 0x7f ||
           (c == 0xc2 && (unsigned char)text[1] < 0xa0); /* U+0080 to U+009F */
}

char *spill_textline_clip(const char *text, size_t columns, char *out)
{
    size_t used = 0, cut = 0;
    for (size_t column = 0; *text != '\0' && column < columns; column++) {
        size_t bytes = spill_utf8_length(text, strnlen(text, 4));
        if (column + 3 == columns)
            cut = used;
        if (unprintable(text, bytes)) {
            out[used++] = '?';
        } else {
            memcpy(out + used, text, bytes);
            used += bytes;
        }
        text += bytes == 0 ? 1 : bytes;
    }
    out[used] = '\0';
    if (*text != '\0')
        strcpy(out + cut, "...");
    return out;
}
