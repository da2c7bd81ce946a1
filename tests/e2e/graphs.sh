#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs with CUDA graphs: what a step does is found, a graph's launch as one operation that touches what its nodes
# touch and what is captured not at all; memory that no node touches may be out meanwhile; and if a graph does not
# fit, they end with CUDA's own error, not a fault. Trained networks: graph_train.sh.
. "$SRC/tests/helpers.sh"
GRAPHS=$BUILD/tests/victims/graph_steps
for how in once each; do
    "$GRAPHS" $how >ample.out || fail "$how fails alone"
    SIMGPU_RACES=fatal "$SPILLWAY" profile -f -o trace -- "$GRAPHS" $how >out 2>err || fail "$how: exit status $?: $(cat err)"
    same "$how: output unchanged" out
    "$SPILLWAY" report --format json trace >json || fail "$how: no report"
    kinds=$(report json '[.ops[] | .kind + (if .kind == "graph" then (.accesses | length | tostring) else "" end)] | join(" ")')
    # At whatever rotation: memset, kernel, graph on 5 of the 6 buffers, kernel, copy.
    case "$kinds $kinds" in
    *"set kernel graph5 kernel copy"*) [ "$(report json '.ops | length')" -eq 5 ] && report json '.iterations >= 3' >/dev/null &&
        echo "ok $how: iteration" || fail "$how: $kinds" ;;
    *) fail "$how: $kinds" ;;
    esac
    report json '.ops[] | select(.kind == "graph") | .name == "graph, 4 nodes" and .duration_ns > 0' >/dev/null || fail "$how: the graph's name or time"
    # Of 26 MiB all but 20 and the slab's 2 may be out while the graph runs.
    for mode in run "profile -f -o trace"; do
        SIMGPU_RACES=fatal SIMGPU_MEM=24MiB "$SPILLWAY" $mode "$GRAPHS" $how >out 2>err || fail "$how, $mode in 24 MiB: $(tail -n 2 err)"
        same "$how, $mode in 24 MiB" out
        SIMGPU_MEM=20MiB "$SPILLWAY" $mode "$GRAPHS" $how >out 2>err
        status=$?
        [ $status -eq 1 ] && grep -q '^CUDA error: out of memory' err && grep -q 'one op needs 20.0 MiB' err &&
            head -c "$(wc -c <out)" ample.out | cmp -s - out &&
            echo "ok $how, $mode: too little memory" || fail "$how, $mode in 20 MiB: status $status: $(tail -n 2 err)"
    done
done
exit $failed
