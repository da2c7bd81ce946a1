#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every setting of config.def is in README's table, and README names no setting that is not there.
sed -n 's/^SPILL_CONFIG([^,]*, "\([A-Z_]*\)".*/\1/p' "$SRC/preload/base/config.def" | sort -u >real
grep -o 'SPILLWAY_[A-Z_]*[A-Z]' "$SRC/README.md" | sort -u >told
test -s real && diff real told
