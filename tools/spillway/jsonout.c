/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/spillway/jsonout.h"

#include <inttypes.h>
#include <string.h>

#include "preload/base/trace.h"
#include "tools/spillway/utf8text.h"

static bool is_plain(unsigned char c, bool html)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && !(html && c == '<');
}

static void quote(const struct spill_json *json, const char *text, size_t len)
{
    FILE *out = json->out;
    fputc('"', out);
    for (size_t i = 0; i < len;) {
        size_t plain = 0;
        while (i + plain < len && is_plain((unsigned char)text[i + plain], json->html))
            plain++;
        if (plain > 0) {
            fwrite(text + i, 1, plain, out);
            i += plain;
            continue;
        }
        unsigned char c = (unsigned char)text[i];
        size_t bytes = spill_utf8_length(text + i, len - i);
        if (bytes == 0)
            fputs(SPILL_UTF8_BAD, out);
        else if (c < 0x20 || c == 0x7f || c == '<')
            fprintf(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else
            fwrite(text + i, 1, bytes, out);
        i += bytes == 0 ? 1 : bytes;
    }
    fputc('"', out);
}

/* What precedes a value: a comma, a new line, the key. */
static void lead(struct spill_json *json, const char *key)
{
    if (json->depth > 0) {
        unsigned level = json->depth - 1;
        if (json->level[level].any)
            fputc(',', json->out);
        if (json->level[level].tall)
            fprintf(json->out, "\n%*s", (int)json->depth, "");
        else if (json->level[level].any)
            fputc(' ', json->out);
        json->level[level].any = true;
    }
    if (key != NULL) {
        quote(json, key, strlen(key));
        fputs(": ", json->out);
    }
}

void spill_json_open(struct spill_json *json, const char *key, char bracket, bool tall)
{
    lead(json, key);
    fputc(bracket, json->out);
    json->level[json->depth].closing = bracket == '{' ? '}' : ']';
    json->level[json->depth].tall = tall;
    json->level[json->depth].any = false;
    json->depth++;
}

void spill_json_close(struct spill_json *json)
{
    json->depth--;
    if (json->level[json->depth].tall && json->level[json->depth].any)
        fprintf(json->out, "\n%*s", (int)json->depth, "");
    fputc(json->level[json->depth].closing, json->out);
    if (json->depth == 0)
        fputc('\n', json->out);
}

void spill_json_count(struct spill_json *json, const char *key, uint64_t value)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void spill_json_bool(struct spill_json *json, const char *key, bool value)
{
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void spill_json_index(struct spill_json *json, const char *key, uint32_t value)
{
    if (value == SPILL_TRACE_NONE)
        spill_json_text(json, key, NULL);
    else
        spill_json_count(json, key, value);
}

void spill_json_number(struct spill_json *json, const char *key, double value)
{
    lead(json, key);
    fprintf(json->out, "%.6f", value);
}

void spill_json_micros(struct spill_json *json, const char *key, uint64_t ns)
{
    lead(json, key);
    fprintf(json->out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

void spill_json_piece(struct spill_json *json, const char *key, const char *text, size_t len)
{
    lead(json, key);
    quote(json, text, len);
}

void spill_json_text(struct spill_json *json, const char *key, const char *text)
{
    if (text != NULL) {
        spill_json_piece(json, key, text, strlen(text));
        return;
    }
    lead(json, key);
    fputs("null", json->out);
}

void spill_json_address(struct spill_json *json, const char *key, uint64_t address)
{
    lead(json, key);
    /* As text: numbers beyond 2^53 do not survive most readers of JSON. */
    fprintf(json->out, "\"0x%" PRIx64 "\"", address);
}

void spill_json_raw(struct spill_json *json, const char *key, const char *text)
{
    lead(json, key);
    for (; *text != '\0'; text++) /* JSON has a '<' in strings only, where it may be escaped */
        if (*text == '<' && json->html)
            fputs("\\u003c", json->out);
        else
            fputc(*text, json->out);
}
