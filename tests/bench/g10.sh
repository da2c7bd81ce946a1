#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Solves the G10 traces and prints RESULTS.md. Builds its program into a scratch folder.
cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
# fromtrace.c and base need no CUDA header either.
${CC:-cc} -O2 -std=c11 -D_GNU_SOURCE -I. -o "$dir/g10" tests/bench/g10_suite.c solver/*.c \
    preload/base/*.c -lm || exit 1
cd tests/bench/g10 || exit 1
echo "# Results: the solver on the G10 traces"
echo
echo "Made by \`tests/bench/g10.sh > tests/bench/RESULTS.md\` (2 CPUs, shared). GPU memory 40 GiB, link 15.754 GB/s each way, 45 us a copy,"
echo "pages of 2 MiB, host memory not limited (some instances need more than the published 128 GB; there the published systems use their SSD)."
echo "\`ours\`, \`bound\`: step time divided by the time with unlimited memory; no plan can be below the bound. \`gap\`: ours / bound - 1. \`link\`:"
echo "busy time of the busier link. \`g10\`, \`others\`: published, G10 and the best of three others (only for undivided times). \`moved\`, \`host\`:"
echo "GiB a step each way, GiB pinned. \`extra\`: frames above the plan's peak."
for d in 1 10 30; do
echo; echo "## Kernel times divided by $d"; echo; echo '```'
"$dir/g10" -d $d published.csv *-b*.txt
echo '```'
done
echo; echo "## Other methods, scheduled and given frames by the same code"; echo
echo "Step time divided by the time with unlimited memory; - where the method does not fit."; echo; echo '```'
printf '%-14s' method; for f in BERT_Base-b512 VIT-b1280 Inceptionv3-b1536 ResNet152-b512 SENet154-b512; do printf '%20s' $f; done; echo
for m in ours g10 fluid capuchin autoswap-doa autoswap-aoa autoswap-wdoa autoswap-vote meng tflms vdnn-all vdnn-conv vdnn-dyn superneurons lru belady keep-all; do
printf '%-14s' $m
for f in BERT_Base-b512 VIT-b1280 Inceptionv3-b1536 ResNet152-b512 SENet154-b512; do
 printf '%20s' "$("$dir/g10" -m $m published.csv $f.txt | awk 'NR==2{print ($3=="no")?"-":$3}')"
done; echo
done
echo '```'
