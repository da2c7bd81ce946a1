#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From the fifth step on: no memory-management call at the driver, and data moved both ways in every step.
. "$SRC/tests/helpers.sh"
run_ample
half=$(share 50)
SIMGPU_MEM=$half SIMGPU_REPORT=report.json SIMGPU_MARK=cuMemcpyDtoH_v2 "$SPILLWAY" run "$MLP" $FEW >out ||
    fail "exit status $?"
same losses out
marks=$(report report.json '.marks | length')
# A mark a step, and the last one of the accuracy, which is no step.
[ "$marks" -eq 11 ] || fail "$marks marks instead of 11"
report report.json '[.marks, .marks[1:]] | transpose | .[:-1][] |
    "\(.[1].memory_management_calls - .[0].memory_management_calls) \(.[1].bytes_htod - .[0].bytes_htod) \(
       .[1].bytes_dtoh - .[0].bytes_dtoh) \(.[1].virtual_ns - .[0].virtual_ns)"' >steps
# Line n is step n + 1.
awk '{ printf "step %d: %s calls, %s in, %s out, %s ns\n", NR + 1, $1, $2, $3, $4 }' steps
[ "$(wc -l <steps)" -eq 9 ] || fail "$(wc -l <steps) steps"
awk 'NR >= 4 && $1 != 0 { exit 1 }' steps && echo "ok no memory management" || fail "memory management"
awk -v page=$PAGE 'NR >= 4 && ($2 < page || $3 < page) { exit 1 }' steps && echo "ok moves in every step" ||
    fail "a step moved nothing"
awk 'NR == 4 { t = $2 } NR > 4 && $2 != t { exit 1 }' steps && echo "ok the same moves in every step" ||
    fail "steps differ"
exit $failed
