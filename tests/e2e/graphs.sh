#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs with CUDA graphs: what a step does is found, a graph's launch as one operation that may touch everything
# and what is captured not at all; and in less memory than they need they end with CUDA's own error, not a fault.
. "$SRC/tests/helpers.sh"
GRAPHS=$BUILD/tests/victims/graph_steps
for how in once each; do
    "$GRAPHS" $how >ample.out || fail "$how fails alone"
    SIMGPU_RACES=fatal "$SPILLWAY" profile -f -o trace -- "$GRAPHS" $how >out 2>err || fail "$how: exit status $?: $(cat err)"
    same "$how: output unchanged" out
    "$SPILLWAY" report --format json trace >json || fail "$how: no report"
    kinds=$(report json '[.ops[] | .kind + (if .kind == "all" then (.accesses | length | tostring) else "" end)] | join(" ")')
    # From the first launch on, at whatever rotation: memset, kernel, graph on 6 buffers, kernel, copy.
    case "$kinds $kinds" in
    *"set kernel all6 kernel copy"*) [ "$(report json '.ops | length')" -eq 5 ] && report json '.iterations >= 3' >/dev/null &&
        echo "ok $how: iteration" || fail "$how: $kinds" ;;
    *) fail "$how: $kinds" ;;
    esac
    "$SPILLWAY" run -q "$GRAPHS" $how >out || fail "$how, run: exit status $?"
    same "$how, run: output unchanged" out
    # 24 MiB are needed at once, and slabs: everything stays, so the allocation that does not fit is refused.
    for mode in run "profile -f -o trace"; do
        SIMGPU_MEM=24MiB "$SPILLWAY" $mode "$GRAPHS" $how >out 2>err
        status=$?
        [ $status -eq 1 ] && grep -q '^CUDA error: out of memory' err && head -c "$(wc -c <out)" ample.out | cmp -s - out &&
            echo "ok $how, $mode: too little memory" || fail "$how, $mode in 24 MiB: status $status: $(tail -n 2 err)"
    done
done
exit $failed
