/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPILL_JSONCHECK_H
#define SPILL_JSONCHECK_H

#include <stdbool.h>

/* Is TEXT one JSON value (RFC 8259) and nothing else, nested at most 33 deep? */
bool spill_jsoncheck(const char *text);

#endif
