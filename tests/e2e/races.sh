#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The simulator's happens-before check finds no two touches of the same memory that nothing orders.
. "$SRC/tests/helpers.sh"
run_ample
for late in '' --late; do
    SIMGPU_MEM=$(share 50) SIMGPU_RACES=report SIMGPU_REPORT=report.json "$SPILLWAY" run -q "$MLP" $FEW $late >out 2>err ||
        fail "exit status $?"
    same "mlp $late" out
    races=$(report report.json .races)
    [ "$races" = 0 ] || fail "$races races: $(head -n 3 err)"
done
exit $failed
