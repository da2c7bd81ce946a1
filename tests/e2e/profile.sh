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
lines=$(sed -n '/longest idle/,$p' err | grep -c ' ms .* MiB  \(persistent\|iteration\)$')
[ "$lines" -eq 6 ] && echo "ok six longest idle" || fail "$lines idle buffers instead of 6"
"$SPILLWAY" report "$1" >mlp.text || fail "report: exit status $?"
grep -v '^spillway: ' err | diff - mlp.text && echo "ok report says the same" || fail "report differs"
# told NAME: the text of NAME.trace fits a terminal, and its numbers are those of the JSON.
told() {
    "$SPILLWAY" report "$1.trace" >"$1.text" && "$SPILLWAY" report --format json "$1.trace" >"$1.report" || fail "$1: no report"
    fits "$1.text"
    sed -n -e 's/^  iterations *\([0-9]*\) of \([0-9]*\) watched alike (\([0-9]*\)\.\([0-9]\) %), each \([0-9]*\) ops.*/\1 \2 \3\4 \5/p' \
        -e 's/^  hooks *\([0-9]*\) .*/\1/p' -e 's/^  buffers *\([0-9]*\): .*/\1/p' \
        -e 's/^ *and \([0-9]*\) more, .*/\1/p' "$1.text" | tr '\n' ' ' >"$1.said"
    report "$1.report" '"\(.iterations) \(.iterations + .others) \(.match_score * 1000 | round) \(.ops | length) \(.hooked_calls) " +
        "\(.buffers | length) \([.buffers[] | select(.longest_idle.ns > 0)] | length - 6) "' | tr -d '\n' | diff - "$1.said" && [ -s "$1.said" ] &&
        echo "ok the text of $1 says what the JSON does" || fail "$1: $(cat "$1.said")"
}
mv "$1" mlp.trace
told mlp
report mlp.report '.differences | length > 0 and all(.[]; [.found, .expected][] | startswith("_Z") | not)' >/dev/null &&
    echo "ok names as the source has them" || fail "mlp: $(report mlp.report .differences)"
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
told cnn
peak=$(report cnn.report '[.. | .peak_bytes? // empty] | max')
[ "$peak" -gt $(($(report cnn.json .peak_physical_bytes) * 8 / 10)) ] || fail "cnn: the trace's peak is $peak"
"$SPILLWAY" profile -q -f -o gpt.trace -- "$BUILD/tests/workloads/gpt" --steps 4 --data "$SRC/tests/data/digits.csv" >out 2>err || fail "gpt: exit status $?"
told gpt
# Iterations that are alike are counted, and where others leave them is told: an evaluation every fifth step.
STEPS=$BUILD/tests/victims/steps
"$STEPS" --eval 5 --steps 30 >ample.out || fail "steps fail with ample memory"
"$SPILLWAY" profile -f -o steps.trace -- "$STEPS" --eval 5 --steps 30 >out 2>err || fail "steps: exit status $?"
same "steps profiled" out
grep -q '^  iterations   24 of 30 watched alike (80.0 %)' err && grep -q '^ *iteration 4, op [0-9]*: free instead of' err || fail "steps: $(sed -n 2,4p err)"
"$SPILLWAY" report --format json steps.trace >steps.report || fail "steps: no report"
[ "$(report steps.report '[.iterations, .others, (.differences | length), .differences[0].iteration, .differences[0].found] | join(" ")')" = \
    "24 6 6 4 free" ] && echo "ok where iterations differ" || fail "steps: $(report steps.report '.differences')"
# Border to border is more than the ops take, and less than twice that; it is busy and gaps, to the nanosecond.
report steps.report '.step_ns == .busy_ns + .host_gap_ns and .step_ns > .busy_ns and .step_ns < 2 * .busy_ns' >/dev/null &&
    echo "ok the host's gaps apart" || fail "times: $(report steps.report '{step_ns, busy_ns, host_gap_ns}')"
# The backward pass from another thread, or updates on a second stream, are the same iteration.
for option in --threads --streams; do
    "$STEPS" $option --steps 12 >ample.out || fail "$option fails with ample memory"
    "$SPILLWAY" profile -q -f -o other.trace -- "$STEPS" $option --steps 12 >out || fail "$option: exit status $?"
    same "steps $option profiled" out
    "$SPILLWAY" report --format json other.trace >other.report || fail "$option: no report"
    report other.report '(.ops | length) == 30 and .iterations >= 10 and .others <= 1' >/dev/null && echo "ok steps $option" ||
        fail "$option: $(report other.report '{iterations, others, ops: (.ops | length)}')"
done
"$STEPS" --eval 5 --steps 30 >ample.out
# A step that does not fit is profiled all the same: its ops take as long, but for the latency of a launch that
# no work before it hides, and the pager's time is told apart.
SIMGPU_MEM=64MiB "$SPILLWAY" profile -f -o paged.trace -- "$STEPS" --eval 5 --steps 30 >out 2>err || fail "paged: exit status $?"
same "steps profiled in less memory" out
"$SPILLWAY" report --format json paged.trace >paged.report || fail "paged: no report"
grep -q ', the pager [0-9.]* ms' err && grep -q '^  paged  ' err || fail "paged: not told: $(cat err)"
report paged.report '.page_gap_ns > .busy_ns and .paged_bytes > 0 and .iterations == 24' >/dev/null &&
    [ "$(report paged.report .busy_ns)" -lt $(($(report steps.report .busy_ns) * 5 / 4)) ] && echo "ok the pager's time apart" ||
    fail "paged: $(report paged.report '{step_ns, busy_ns, host_gap_ns, page_gap_ns, paged_bytes}')"
# At the bound the record ends, the program goes on, and the trace holds what was seen.
SPILLWAY_PROFILE_MEM=64KiB "$SPILLWAY" profile -f -o bound.trace -- "$STEPS" --eval 5 --steps 30 >out 2>err || fail "bound: exit status $?"
same "steps profiled in little memory" out
grep -q "the profiler's memory is full" err || fail "bound: not told: $(cat err)"
"$SPILLWAY" report --format json bound.trace >bound.report || fail "bound: no report"
report bound.report '.log_bytes <= 65536 and .log_max_bytes == 65536 and (.ops | length) > 10' >/dev/null &&
    echo "ok bounded memory" || fail "bound: $(report bound.report '{log_bytes, log_max_bytes, iterations}')"
# Wherever the record ends, its peak is of what lived by then, not of what lives at the program's end.
SIMGPU_REPORT=steps.json "$STEPS" --eval 5 --steps 30 >out
for size in 24 32 40 48 56 72; do
    SPILLWAY_PROFILE_MEM=${size}KiB "$SPILLWAY" profile -q -f -o bound.trace -- "$STEPS" --eval 5 --steps 30 >out 2>err
    "$SPILLWAY" report --format json bound.trace >bound.report || fail "bound of $size KiB: no report"
    report bound.report ".peak_bytes > 0 and .peak_bytes <= $(report steps.json .peak_physical_bytes)" >/dev/null && echo "ok a peak within $size KiB" ||
        fail "bound of $size KiB: $(report bound.report .peak_bytes)"
done
# As does a program that is to be planned for: it is paged without a plan.
SPILLWAY_PROFILE_MEM=16KiB SIMGPU_MEM=64MiB "$SPILLWAY" run "$STEPS" --eval 5 --steps 30 >out 2>err || fail "bound, run: exit status $?"
same "steps run in little memory for the profiler" out
grep -q "the profiler's memory is full" err || fail "bound, run: not told: $(cat err)"
exit $failed
