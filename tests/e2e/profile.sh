#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spillway profile changes neither output nor status, writes a trace, and says what is in it.
. "$SRC/tests/helpers.sh"
run_ample
"$SPILLWAY" profile "$MLP" $FEW >out 2>err || fail "exit status $?"
cat err
same "output unchanged" out
set -- spillway.mlp.*.trace
[ $# -eq 1 ] && [ -s "$1" ] || fail "traces: $*"
for word in iterations buffers peak 'largest op' 'longest idle'; do
    grep -q "^  $word " err || fail "no '$word' in the summary"
done
lines=$(sed -n '/longest idle/,$p' err | grep -c ' MiB  \(persistent\|iteration\) ')
[ "$lines" -eq 10 ] && echo "ok ten longest idle" || fail "$lines idle buffers instead of 10"
"$SPILLWAY" report "$1" >report || fail "report: exit status $?"
grep -v '^spillway: ' err | diff - report && echo "ok report says the same" || fail "report differs"
# The peak that the trace states is that of the simulator, but for slabs and rounding.
"$SPILLWAY" profile -o x.trace "$MLP" --steps 1 --data /nonexistent >out 2>err
status=$?
[ $status -eq 2 ] && echo "ok status kept" || fail "exit status $status instead of 2"
[ ! -e x.trace ] || fail "a trace of nothing"
grep -q 'left no trace' err || fail "no word about the missing trace"
# A loop at the start of the program that repeats, too, is not taken for the training step.
CNN="$BUILD/tests/workloads/cnn --steps 5 --data $SRC/tests/data/digits.csv"
SIMGPU_REPORT=cnn.json $CNN >ample.out || fail "cnn fails with ample memory"
"$SPILLWAY" profile -f -o cnn.trace -- $CNN >out 2>err || fail "cnn: exit status $?"
same "cnn profiled" out
"$SPILLWAY" report --format json cnn.trace >cnn.report || fail "cnn: no report"
peak=$(report cnn.report '[.. | .peak_bytes? // empty] | max')
[ "$peak" -gt $(($(report cnn.json .peak_physical_bytes) * 8 / 10)) ] || fail "cnn: the trace's peak is $peak"
exit $failed
