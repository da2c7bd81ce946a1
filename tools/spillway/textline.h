/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text for a terminal of 80 columns. */
#ifndef SPILL_TEXTLINE_H
#define SPILL_TEXTLINE_H

#include <stddef.h>
#include <stdio.h>

enum { SPILL_TEXTLINE_COLUMNS = 80, SPILL_TEXTLINE_LABEL = 15 };

/* "  LABEL      text". Text that does not fit goes on below itself; lines are broken at spaces, but
 * not behind a number, whose unit follows. */
__attribute__((format(printf, 3, 4))) void spill_textline_print(FILE *out, const char *label,
                                                                const char *format, ...);

/* TEXT in at most COLUMNS columns, 3 to 80, into OUT, which it returns and which holds
 * SPILL_TEXTLINE_BYTES: what is cut ends in "...", and what is no printable UTF-8 is "?". */
enum { SPILL_TEXTLINE_BYTES = 4 * SPILL_TEXTLINE_COLUMNS + 1 };
char *spill_textline_clip(const char *text, size_t columns, char *out);

#endif
