#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# Mutation: the simulator ignores the Nth wait for an event of a run. Each wait that the replayer makes in
# one steady step is dropped in turn, and some order of execution must show that it was needed: other
# losses, or a failure. A wait that nothing needs would be a flaw too.
. "$SRC/tests/helpers.sh"
# Without a read-back in each step: where the host waits for the GPU, it orders more than events do.
FEW="--late --steps 10 --batch 8192 --data $SRC/tests/data/digits.csv"
run_ample
half=$(share 50)

waits_of() { # STEPS
    SIMGPU_MEM=$half SIMGPU_REPORT=waits.json "$SPILLWAY" run -q "$MLP" $FEW --steps "$1" >/dev/null ||
        fail "exit status $?"
    report waits.json .stream_waits
}
seven=$(waits_of 7)
eight=$(waits_of 8)
# Steady steps make the same waits, so any COUNT waits in a row are all of one step.
count=$((eight - seven))
first=$((seven + 1))
echo "# $count waits a step; dropped are those from $first on"
[ "$count" -gt 10 ] || fail "only $count waits a step"
n=0 shown=0
while [ $n -lt $count ]; do
    seed=1 seen=
    while [ $seed -le 12 ] && [ -z "$seen" ]; do
        SIMGPU_DROP_WAIT=$((first + n)) SIMGPU_SEED=$seed SIMGPU_MEM=$half timeout 60 \
            "$SPILLWAY" run -q "$MLP" $FEW >out 2>err && cmp -s ample.out out || seen=$seed
        seed=$((seed + 1))
    done
    if [ -n "$seen" ]; then
        shown=$((shown + 1))
    else
        fail "wait $((n + 1)) of $count: no harm seen without it"
    fi
    n=$((n + 1))
done
echo "# $shown of $count dropped waits were noticed"
[ $failed -ne 0 ] || echo "ok each of $count waits is needed"
exit $failed
