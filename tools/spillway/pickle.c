/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/pickle.h"

#include <string.h>

#include "tools/spillway/utf8text.h"

enum { PROTO = 0x80, LONG1 = 0x8a };

/* The BYTES low bytes of VALUE, lowest first. */
static void little(FILE *out, uint64_t value, unsigned bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        fputc((int)(value & 0xff), out);
}

void spill_pickle_begin(FILE *out)
{
    fputc(PROTO, out);
    fputc(2, out);
}

void spill_pickle_end(FILE *out)
{
    fputc('.', out);
}

void spill_pickle_list(FILE *out)
{
    fputc(']', out);
}

void spill_pickle_append(FILE *out)
{
    fputc('a', out);
}

void spill_pickle_dict(FILE *out)
{
    fputc('}', out);
}

void spill_pickle_set(FILE *out)
{
    fputc('s', out);
}

void spill_pickle_int(FILE *out, uint64_t value)
{
    if (value <= 0xff) {
        fputc('K', out);
        little(out, value, 1);
    } else if (value <= 0xffff) {
        fputc('M', out);
        little(out, value, 2);
    } else if (value <= INT32_MAX) {
        fputc('J', out);
        little(out, value, 4);
    } else {
        /* Two's complement: a set top bit would mean a negative number. */
        unsigned bytes = 5;
        while (bytes < 9 && value >> (8 * bytes - 1) != 0)
            bytes++;
        fputc(LONG1, out);
        fputc((int)bytes, out);
        little(out, value, bytes);
    }
}

void spill_pickle_text(FILE *out, const char *text)
{
    size_t len = strlen(text), bytes = 0, step;
    for (size_t i = 0; i < len; i += step == 0 ? 1 : step) {
        step = spill_utf8_length(text + i, len - i);
        bytes += step == 0 ? strlen(SPILL_UTF8_BAD) : step;
    }
    fputc('X', out);
    little(out, bytes, 4);
    for (size_t i = 0; i < len; i += step == 0 ? 1 : step) {
        step = spill_utf8_length(text + i, len - i);
        if (step == 0)
            fputs(SPILL_UTF8_BAD, out);
        else
            fwrite(text + i, 1, step, out);
    }
}

void spill_pickle_keep(FILE *out, uint32_t number)
{
    fputc('r', out);
    little(out, number, 4);
}

void spill_pickle_again(FILE *out, uint32_t number)
{
    fputc('j', out);
    little(out, number, 4);
}

void spill_pickle_int_item(FILE *out, const char *key, uint64_t value)
{
    spill_pickle_text(out, key);
    spill_pickle_int(out, value);
    spill_pickle_set(out);
}

void spill_pickle_text_item(FILE *out, const char *key, const char *value)
{
    spill_pickle_text(out, key);
    spill_pickle_text(out, value);
    spill_pickle_set(out);
}
