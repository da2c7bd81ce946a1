/* SPDX-License-Identifier: Apache-2.0 */
/* Byte sizes as people write and read them ("20GiB", "512M", "1.5 GiB"). No locale, no allocation.
 */
#ifndef SPILL_SIZE_H
#define SPILL_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "preload/base/status.h"

/* Parses TEXT into BYTES. Accepts a decimal number with an optional fraction, then an optional
 * unit: B, K/KiB, M/MiB, G/GiB, T/TiB (powers of 1024) or kB, MB, GB, TB (powers of 1000), in
 * either case except that the "i" decides. Returns SPILL_ERR_INVAL for anything else, negative and
 * overflow included; BYTES is then untouched. */
enum spill_status spill_size_parse(const char *text, uint64_t *bytes);

/* Writes BYTES as "23.4 GiB", "512 B", ... into OUT of OUT_LEN chars; returns OUT. */
char *spill_size_format(uint64_t bytes, char *out, size_t out_len);

#endif
