#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A free is a barrier between streams, also while a plan runs and nobody waits in it: memory that is
# given out again, and what was written before, is ordered as cudaFree orders it.
. "$SRC/tests/helpers.sh"
victim=$BUILD/tests/victims/free_orders
"$victim" >ample.out || { echo "not ok the victim fails with ample memory"; exit 1; }
for seed in 1 2 3 4 5 6; do
    SIMGPU_SEED=$seed SIMGPU_MEM=24MiB "$SPILLWAY" run "$victim" >out 2>err || fail "seed $seed: exit status $?"
    same "seed $seed" out
    grep -q ' [1-9][0-9]* iterations replayed' err || fail "seed $seed: nothing was replayed"
done
exit $failed
