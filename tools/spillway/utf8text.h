/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a trace come from other people's programs: no reader of ours may meet bytes that are not
 * UTF-8 where it expects text. */
#ifndef SPILL_UTF8TEXT_H
#define SPILL_UTF8TEXT_H

#include <stddef.h>

/* What stands for a byte that is no text: U+FFFD. */
#define SPILL_UTF8_BAD "\xef\xbf\xbd"

/* Length of the character that TEXT begins with, of at most LEN bytes; 0: not UTF-8. */
size_t spill_utf8_length(const char *text, size_t len);

#endif
