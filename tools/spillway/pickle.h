/* SPDX-License-Identifier: Apache-2.0 */
/* Python's pickle format, protocol 2, as far as numbers, texts, lists and dictionaries go. Only
 * opcodes that the parser in PyTorch's MemoryViz.js knows too. An item is written into its
 * container by a call after it: append into a list; into a dictionary, the key before it and set
 * after it. */
#ifndef SPILL_PICKLE_H
#define SPILL_PICKLE_H

#include <stdint.h>
#include <stdio.h>

void spill_pickle_begin(FILE *out);
void spill_pickle_end(FILE *out);

void spill_pickle_list(FILE *out);
void spill_pickle_append(FILE *out);
void spill_pickle_dict(FILE *out);
void spill_pickle_set(FILE *out);

void spill_pickle_int(FILE *out, uint64_t value);
void spill_pickle_text(FILE *out, const char *text);

/* Keeps what was written last under NUMBER; gets it again, the same object. */
void spill_pickle_keep(FILE *out, uint32_t number);
void spill_pickle_again(FILE *out, uint32_t number);

/* KEY: VALUE in the dictionary. */
void spill_pickle_int_item(FILE *out, const char *key, uint64_t value);
void spill_pickle_text_item(FILE *out, const char *key, const char *value);

#endif
