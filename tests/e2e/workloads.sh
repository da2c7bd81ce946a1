#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The other two workloads, a network with shortcuts and a transformer with Adam, both on two streams:
# in three quarters, half and 35 % of the memory they need the losses are those with ample memory, the
# card was never fuller than it is, and the plan was followed.
. "$SRC/tests/helpers.sh"
try() { # NAME DATA
    program=$BUILD/tests/workloads/$1
    SIMGPU_REPORT=ample.json "$program" --steps 10 --data "$2" >ample.out || { fail "$1 fails with ample memory"; return; }
    grep -q '^step 10 loss [0-9.]*$' ample.out || { fail "$1 printed no losses"; return; }
    NEED=$(report ample.json .peak_physical_bytes) || exit 1
    for percent in 75 50 35; do
        for seed in 1 3; do
            what="$1, $percent %, seed $seed" budget=$(share $percent)
            SIMGPU_SEED=$seed SIMGPU_MEM=$budget SIMGPU_REPORT=report.json SPILLWAY_PLAN_WAIT=60000 \
                "$SPILLWAY" run "$program" --steps 10 --data "$2" >out 2>err || fail "$what: exit status $?"
            same "$what" out
            peak=$(report report.json .peak_physical_bytes) || exit 1
            [ "$peak" -le "$budget" ] || fail "$what: peak $peak above $budget"
            replayed=$(sed -n 's/.* \([0-9]*\) iterations replayed.*/\1/p' err)
            [ "${replayed:-0}" -ge 4 ] || fail "$what: ${replayed:-no} iterations replayed"
        done
    done
}
try cnn "$SRC/tests/data/digits.csv"
try gpt "$SRC/LICENSE"
exit $failed
