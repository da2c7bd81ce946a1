/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it is written, piece by piece: nothing is built in memory. */
#ifndef SPILL_JSONOUT_H
#define SPILL_JSONOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SPILL_JSON_DEPTH = 16 };

struct spill_json {
    FILE *out;
    bool html; /* inside an HTML script element, which must not hold a '<' */
    unsigned depth;
    struct {
        char closing;
        bool tall; /* one item a line */
        bool any;
    } level[SPILL_JSON_DEPTH];
};

/* KEY is NULL inside an array, and for the outermost value. BRACKET is '{' or '['. */
void spill_json_open(struct spill_json *json, const char *key, char bracket, bool tall);
void spill_json_close(struct spill_json *json);

void spill_json_count(struct spill_json *json, const char *key, uint64_t value);
void spill_json_bool(struct spill_json *json, const char *key, bool value);
/* VALUE, or null when it is SPILL_TRACE_NONE. */
void spill_json_index(struct spill_json *json, const char *key, uint32_t value);
void spill_json_number(struct spill_json *json, const char *key, double value);
/* NS as microseconds with three decimals: nothing is rounded. */
void spill_json_micros(struct spill_json *json, const char *key, uint64_t ns);
/* NULL gives null. */
void spill_json_text(struct spill_json *json, const char *key, const char *text);
void spill_json_piece(struct spill_json *json, const char *key, const char *text, size_t len);
void spill_json_address(struct spill_json *json, const char *key, uint64_t address);
/* TEXT is JSON already. */
void spill_json_raw(struct spill_json *json, const char *key, const char *text);

#endif
