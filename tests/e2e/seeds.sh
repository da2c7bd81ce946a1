#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# In half the memory the losses are those with ample memory, in whatever order the GPU runs what streams
# and events leave open; and the card was never fuller than it is.
. "$SRC/tests/helpers.sh"
run_ample
half=$(share 50)
seed=1
while [ $seed -le 20 ]; do
    SIMGPU_SEED=$seed SIMGPU_MEM=$half SIMGPU_REPORT=report.json "$SPILLWAY" run -q "$MLP" $FEW >out ||
        fail "seed $seed: exit status $?"
    same "seed $seed" out
    peak=$(report report.json .peak_physical_bytes) || exit 1
    [ "$peak" -le "$half" ] || fail "seed $seed: peak $peak above $half"
    seed=$((seed + 1))
done
exit $failed
