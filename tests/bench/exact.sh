#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Optima of random tiny problems, three times, and ours next to them: prints a table.
# exact.sh [COUNT]    needs cbc (Debian: coinor-cbc)
cd "$(dirname "$0")/../.." || exit 1
command -v cbc >/dev/null || { echo "exact.sh: no cbc here; on Debian: apt-get install coinor-cbc" >&2; exit 1; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
for unasked in 30000 0; do # timings that the default method's own exact search looks at
    ${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -DSPILL_EXACT_UNASKED=$unasked -I. -o "$dir/exact_$unasked" tests/bench/exact_study.c \
        solver/*.c preload/base/*.c || exit 1
done
cd "$dir" || exit 1
./exact_30000 "${1:-200}" || exit 1
./exact_0 "${1:-200}" ours
