#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# The accesses of a trace against the truth: what the simulated GPU saw each operation of the profiled iteration
# read and write. Nothing touched may be missing; what is named and not touched is counted. Where addresses hide
# in the memory of the device, the buffers behind them are pinned, and the report says why.
. "$SRC/tests/helpers.sh"
command -v python3 >/dev/null || { echo "skip no python3"; exit 77; }

truth() { # NAME EXPECTED PROGRAM...
    name=$1 expected=$2
    shift 2
    "$@" >ample.out || { fail "$name fails alone"; return; }
    SIMGPU_TOUCHED=touched "$SPILLWAY" profile -q -f -o trace -- "$@" >out || { fail "$name: exit status $?"; return; }
    same "$name: output unchanged" out
    "$SPILLWAY" report --format json trace >trace.json || { fail "$name: no report"; return; }
    python3 "$SRC/tests/e2e/accesses.py" "$name" trace.json touched $expected || failed=1
}
hidden() { # HOW EXPECTED
    truth "hidden: $1" "$2" "$BUILD/tests/victims/hidden" "$1"
    "$SPILLWAY" report trace >text
    [ "$2" = named ] || grep -q 'pinned: stored address' text || fail "$1: no reason in the report: $(cat text)"
    # And nothing is lost when memory is short: two hidden buffers and two layers is what an operation needs.
    SIMGPU_MEM=28MiB "$SPILLWAY" run -q "$BUILD/tests/victims/hidden" "$1" >out || fail "$1 in 28 MiB: exit status $?"
    same "hidden: $1 in 28 MiB" out
}
data=$SRC/tests/data/digits.csv
truth mlp "" "$MLP" --steps 3 --data "$data"
# The comparison itself: an access taken out of the trace is missed, one put in is counted.
jq '(.ops[] | select(.accesses | length > 2) | .accesses) |= .[1:]' trace.json >less.json
! python3 "$SRC/tests/e2e/accesses.py" less less.json touched >said || fail "missing accesses are not found"
grep -q 'touched buffer .*, and the trace does not say so' said || fail "missing accesses are not named"
jq '.ops[0].accesses = [range(.buffers | length) | {buffer: ., mode: "unknown"}]' trace.json >more.json
python3 "$SRC/tests/e2e/accesses.py" more more.json touched >said || fail "more accesses than touches: $(cat said)"
grep -q '#   0 of' said && fail "accesses that do not happen are not counted"
truth cnn "" "$BUILD/tests/workloads/cnn" --steps 3 --data "$data"
truth gpt "" "$BUILD/tests/workloads/gpt" --steps 3 --data "$SRC/LICENSE"
hidden struct named
hidden array named
for how in table wide global list; do
    hidden $how pinned
done
exit $failed
