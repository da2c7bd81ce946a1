#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Host memory that the driver will not pin, or that the user does not grant: a smaller plan or none, said
# once, the same output, and never more than was to be had, not even while a plan comes into force.
. "$SRC/tests/helpers.sh"
STEPS="$BUILD/tests/victims/steps --steps 12"
$STEPS >ample.out || fail "fails with ample memory"

run() { # [OPTION...]: out, err, report.json
    SPILLWAY_PLAN_WAIT=60000 SIMGPU_MEM=36MiB SIMGPU_REPORT=report.json "$SPILLWAY" run -v "$@" $STEPS >out 2>err
}
replayed() { sed -n 's/.* \([0-9]*\) iterations replayed.*/\1/p' err; }
at_most() { # BYTES WHAT
    peak=$(report report.json .peak_pinned_bytes) || exit 1
    [ "$peak" -le "$1" ] || fail "$2: $peak bytes pinned, of $1"
}

run || fail "exit status $?"
same "as much as is wanted" out
wanted=$(sed -n 's/.* waits, \([0-9]*\) bytes of host memory.*/\1/p' err | head -n 1)
[ "${wanted:-0}" -ge $PAGE ] && [ "$(replayed)" -ge 8 ] || fail "no plan to begin with: $(tail -n 1 err)"
for most in 0 $((wanted / 4)) $((wanted / 2)) $((wanted * 3 / 4)) $((wanted - 2 * PAGE)); do
    what="$((most * 100 / wanted)) %"
    SIMGPU_PINNED=$most run || fail "$what: exit status $?"
    same "$what of it can be pinned" out
    at_most $most "$what"
    [ "$(grep -c 'cannot pin more than' err)" -eq 1 ] || fail "$what: not said once: $(cat err)"
    grep -q 'iterations replayed' err || grep -q 'no plan keeps within' err || fail "$what: no word on the plan"
done
# Two pages less is enough for a smaller plan.
n=$(replayed)
[ "${n:-0}" -ge 8 ] || fail "$what: no smaller plan: $(cat err)"
# One page more is for exchanges while the plan comes into force.
run --host-mem $((wanted + PAGE)) || fail "host budget: exit status $?"
same "just enough is granted" out
at_most $((wanted + PAGE)) "just enough"
[ "$(replayed)" -ge 8 ] || fail "just enough: $(replayed) iterations replayed"
# Less: without a plan, or with an honest end when what lives has no place any more.
for percent in 50 75; do
    most=$((wanted * percent / 100 / PAGE * PAGE))
    run --host-mem $most
    status=$?
    at_most $most "$percent % granted"
    if [ $status -eq 0 ]; then
        same "$percent % is granted" out
        grep -q 'iterations replayed' err || grep -q 'no plan keeps within' err || fail "$percent % granted: no word"
    else
        [ $status -eq 1 ] && grep -q '^CUDA error: out of memory' err && grep -q 'SPILLWAY_HOST_MEM' err &&
            head -c "$(wc -c <out)" ample.out | cmp -s - out || fail "$percent % granted: exit status $status: $(tail -n 2 err)"
        echo "ok $percent % is granted: out of memory"
    fi
done
exit $failed
