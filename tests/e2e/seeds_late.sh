#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# As e2e/seeds, but no step waits for the GPU: moves of one step overlap the next one's launches.
. "$SRC/tests/helpers.sh"
FEW="--late $FEW"
run_ample
half=$(share 50)
seed=1
while [ $seed -le 8 ]; do
    SIMGPU_SEED=$seed SIMGPU_MEM=$half "$SPILLWAY" run -q "$MLP" $FEW >out || fail "seed $seed: exit status $?"
    same "seed $seed" out
    seed=$((seed + 1))
done
exit $failed
