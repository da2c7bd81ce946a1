#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# Mutation: the simulator ignores the Nth wait for an event of a run. Each wait that the replayer makes in
# one steady step is dropped in turn, and it must show: in some order of execution by other output, or
# else as a race that the simulator's own check reports. A wait that nothing needs would be a flaw too.
# The victim's kernels write all they touch: where a kernel only reads, which the library cannot know, a
# copy out need not wait for it.
. "$SRC/tests/helpers.sh"
STEPS="$BUILD/tests/victims/steps --layers 5 --steps 8"
MEM=28MiB
$STEPS >ample.out || fail "fails with ample memory"

waits_of() { # STEPS
    SIMGPU_MEM=$MEM SIMGPU_REPORT=waits.json "$SPILLWAY" run -q $STEPS --steps "$1" >/dev/null ||
        fail "exit status $?"
    report waits.json .stream_waits
}
# drop N SEED [RACES]: true if it shows.
drop() {
    SIMGPU_DROP_WAIT=$1 SIMGPU_SEED=$2 SIMGPU_RACES=${3:-off} SIMGPU_MEM=$MEM timeout 120 \
        "$SPILLWAY" run -q $STEPS >out 2>err || return 0
    ! cmp -s ample.out out
}
eight=$(waits_of 8)
count=$((eight - $(waits_of 7)))
# Steady steps make the same waits, so the last COUNT are all of one step.
first=$((eight - count + 1))
echo "# $count waits a step; dropped are those from $first on"
[ "$count" -gt 10 ] || fail "only $count waits a step"
drop 0 1 fatal && fail "it shows without dropping any"
n=0 wrong=0 raced=0
while [ $n -lt $count ]; do
    if drop $((first + n)) 1 || drop $((first + n)) 2 || drop $((first + n)) 3 || drop $((first + n)) 4; then
        wrong=$((wrong + 1))
    elif drop $((first + n)) 1 fatal; then
        raced=$((raced + 1))
    else
        fail "wait $((n + 1)) of $count: nothing shows without it"
    fi
    n=$((n + 1))
done
echo "# $wrong dropped waits gave other output, $raced more a race"
[ "$wrong" -gt 0 ] || fail "no dropped wait gave other output"
[ $failed -ne 0 ] || echo "ok each of $count waits is needed"
exit $failed
