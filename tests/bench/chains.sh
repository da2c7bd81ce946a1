#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every method on published networks as chains: writes CHAINS.md, chains.csv and chains.svg next to this
# script. chains.sh NET IMAGE BATCH prints one of them as a chain for spillway plan.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/chains_study" tests/bench/chains_study.c tests/bench/chains_plot.c \
    tests/bench/nets.c tests/bench/layers.c solver/*.c preload/base/*.c -lm || exit 1
if [ $# -eq 3 ]; then
    "$dir/chains_study" "$@"
    exit
fi
cat >"$dir/CHAINS.md" <<'TEXT'
# Results: published networks as chains

Made by `tests/bench/chains.sh`. Sizes and operations come from the architectures, times from a model of a device: both are in
[nets.h](nets.h). Nothing here was measured on a GPU. Parameters are not part of a chain. Single precision, pages of 2 MiB, 12 GB/s each
way at once, 10 us a copy, host memory not limited. `spillway plan` reads what `tests/bench/chains.sh ResNet-50 224 32` prints.

"All" is the memory that a step needs with nothing moved, "smallest" the least for which ours finds a plan. The second table is the step time
over that without a limit, as a geometric mean of the networks and sizes of the first, for the smallest memory (0 %), for all of it (100 %) and
between; `bound`: no plan can be below. In brackets: in how many of the cases the method fits, if not in all; its mean is then of those.
Every figure: [chains.csv](chains.csv).

![Step time over memory, a panel a network and a line a method](chains.svg)

TEXT
"$dir/chains_study" "$dir/chains.csv" "$dir/chains.svg" >>"$dir/CHAINS.md" || exit 1
mv "$dir/CHAINS.md" "$dir/chains.csv" "$dir/chains.svg" tests/bench/
