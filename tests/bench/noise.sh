#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What noise in the op times costs the plan of each method: prints two tables.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/noise_study" tests/bench/noise_study.c solver/*.c preload/base/*.c || exit 1
cd tests/bench/g10 || exit 1
echo "Kernel times undivided:"; echo
"$dir/noise_study" BERT_Base-b512.txt VIT-b1280.txt Inceptionv3-b1536.txt ResNet152-b1280.txt SENet154-b1024.txt || exit 1
echo; echo "Kernel times divided by 10:"; echo
"$dir/noise_study" -d 10 BERT_Base-b256.txt Inceptionv3-b768.txt ResNet152-b512.txt SENet154-b512.txt || exit 1
