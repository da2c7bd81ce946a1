#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Solves the G10 traces under the published setting, and with all kernel times divided by 10 and by 30.
# Prints three tables: a part of RESULTS.md, which results.sh makes.
# g10.sh [OPTION...]: options of g10_suite.c
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/g10" tests/bench/g10_suite.c solver/*.c preload/base/*.c || exit 1
cd tests/bench/g10 || exit 1
for d in 1 10 30; do
    echo "### Kernel times divided by $d"; echo; echo '```'
    "$dir/g10" -d $d "$@" published.csv ./*-b*.txt || exit 1
    echo '```'; echo
done
