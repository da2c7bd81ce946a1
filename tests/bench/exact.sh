#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Optima of random tiny problems, three times, and ours next to them: prints a table.
# exact.sh [COUNT]    needs cbc (Debian: coinor-cbc)
cd "$(dirname "$0")/../.." || exit 1
command -v cbc >/dev/null || { echo "exact.sh: no cbc here; on Debian: apt-get install coinor-cbc" >&2; exit 1; }
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/exact_study" tests/bench/exact_study.c solver/*.c preload/base/*.c || exit 1
cd "$dir" && ./exact_study "${1:-200}"
