#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the report page of a long trace costs: time to plan and write it, its size, and how long a browser's
# script takes to draw it. Prints a line a trace.
#     tests/bench/page.sh [OPS...]          (default: 1000 10000 100000)
set -eu
SRC=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$SRC/build}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "page.sh: no chromium here" >&2
    exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I"$SRC" -o "$work/maketrace" "$SRC/tests/bench/maketrace.c" "$BUILD/libspilltest.a"
[ $# -gt 0 ] || set -- 1000 10000 100000
for ops; do
    "$work/maketrace" "$ops" 60 100 "$work/trace"
    begun=$(date +%s%N)
    "$BUILD/spillway" report "$work/trace" -f -o "$work/page.html" --curve 0
    ended=$(date +%s%N)
    # Real time, as no virtual-time budget is given.
    drawn=$("$chromium" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --user-data-dir="$work/profile" \
        --window-size=1280,1000 --dump-dom "file://$work/page.html" 2>/dev/null | sed -n 's/.*data-drawn-ms="\([0-9]*\)".*/\1/p')
    echo "$ops ops: written in $(((ended - begun) / 1000000)) ms, $(wc -c <"$work/page.html") bytes, script draws in ${drawn:-?} ms"
done
