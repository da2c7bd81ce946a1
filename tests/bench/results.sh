#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes RESULTS.md from all studies of the solver but that of chains (chains.sh). Takes four minutes of CPU.
cd "$(dirname "$0")" || exit 1
new=$(mktemp) && trap 'rm -f "$new"' EXIT
{
cat <<TEXT
# Results: the solver

Made by \`tests/bench/results.sh\` from its parts, each a command of its own. CPU seconds are those of a shared machine with 2 CPUs
($(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)); all other figures are the same everywhere. Nothing here was measured on a GPU. Networks as chains: [CHAINS.md](CHAINS.md).

## The G10 traces (\`g10.sh\`)

Whole iterations of G10 (MICRO'23), kernel times measured on an A100 by its authors. GPU memory 40 GiB, link 15.754 GB/s each way, 45 us a copy,
pages of 2 MiB. Host memory is not limited: some instances need more than the published 128 GB, where the published systems use their SSD.
\`ours\`, \`bound\`: step time divided by the time with unlimited memory; no plan can be below the bound. \`gap\`: ours / bound - 1. \`link\`:
busy time of the busier link. \`g10\`, \`others\`: published slowdowns of G10 and of the best of three others. \`moved\`, \`host\`: GiB a step
each way, GiB pinned. \`extra\`: frames above the plan's peak. \`CPU\`: seconds to plan.

TEXT
./g10.sh || exit 1
cat <<TEXT
## Every method, and noise in the op times (\`noise.sh\`)

Three figures: the step time over the time with unlimited memory; the same when every op takes up to 10 % more or less than in the trace
that was planned for; and up to 25 %. The plan stays as it is; the sum of op times too; means of ten noises, each the same in every
iteration. \`mean loss\`: by how much 10 % and 25 % make the step longer. -: the method does not fit. Methods of others are scheduled, given frames
and simulated by the same code as ours; what each is and what is different here: solver/methods.c. A plan that waits for its links anyway
loses little to noise: a small loss is worth something only next to a short step. What makes ours bear noise is the choice of frames that
are free for a while before they are used again (solver/frames_shelves.c); with it, plans of lru, g10 and superneurons would lose as little as ours.

TEXT
./noise.sh || exit 1
cat <<TEXT

## Optima of tiny problems (\`exact.sh\`)

Random cyclic problems of up to 8 ops and 6 pages at full duplex, with budgets that force moves. The least step time of the steady state is found
three times: by trying every plan there is (what moves in which pieces, when it is called back, the order of the copies, the frames) and
letting the checker judge each; by the exact method (\`--method exact\`), a branch and bound that shares the simulator with the checker; and by \`cbc\`
from a mixed-integer program in which the step time is the least period for which start times exist (tests/unit/solver_mip.h), which plays no
plan and shares nothing with either but the list of gaps. On problems as small as these the default method ends with a search by the exact
one; the last but one row is ours without it.

TEXT
./exact.sh || exit 1
cat <<TEXT

## Growth (\`growth.sh\`)

A made-up iteration with half of the memory it would like; 30 ops and 6 buffers a layer.

TEXT
./growth.sh || exit 1
} >"$new"
[ -s "$new" ] && cat "$new" >RESULTS.md
