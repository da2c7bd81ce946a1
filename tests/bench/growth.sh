#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How time and memory of planning grow with the length of a made-up trace (synth.c): prints a table.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/synth" tests/bench/synth.c solver/*.c preload/base/*.c || exit 1
echo "| operations | buffers | pages | CPU s | peak MiB | step | bound | moves |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
for ops in 1000 3000 10000 30000 100000 300000; do
    "$dir/synth" $ops $((ops / 5)) || exit 1
done
