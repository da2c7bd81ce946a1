#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program's own marks of its iterations. Every third step is marked, so that an iteration by its marks is three
# steps of 30 operations each, and without them one.
. "$SRC/tests/helpers.sh"
STEPS=$BUILD/tests/victims/steps
"$STEPS" --steps 24 >ample.out || fail "steps fail with ample memory"

# iteration NAME OPS SETTING STEPS-OPTION...: the iteration that is found has so many operations.
iteration() {
    name=$1 ops=$2 setting=$3
    shift 3
    env ${setting:+"SPILLWAY_ITERATION=$setting"} "$SPILLWAY" profile -q -f -o trace -- "$STEPS" --steps 24 "$@" >out 2>err ||
        fail "$name: exit status $?"
    same "$name: output unchanged" out
    "$SPILLWAY" report --format json trace >json || fail "$name: no report"
    found=$(report json '.ops | length') || exit 1
    [ "$found" -eq "$ops" ] && report json '.iterations >= 2' >/dev/null && echo "ok $name" || fail "$name: $found operations an iteration"
}
iteration "no marks" 30 ""
iteration "marks" 90 "" --mark --rarely 3
iteration "profiler" 90 profiler --profiler --rarely 3
iteration "profiler, not asked for" 30 "" --profiler --rarely 3

# With NVIDIA's own NVTX headers, where the toolkit has them.
include=${CUDA_INCLUDE:-/usr/local/cuda/include}
if [ -e "$include/nvtx3/nvToolsExt.h" ]; then
    ${CC:-cc} -std=c99 -O1 -shared -fPIC -isystem "$include" -o libranges.so "$SRC/tests/victims/nvtx_ranges.c" -ldl || fail "cannot build it"
    for how in push wide push_ex registered start start_ex domain_start; do
        RANGES_HOW=$how iteration "NVTX: $how" 90 nvtx:step --nvtx --rarely 3
    done
    # A name that never comes: the trace is of the whole run, and the user is told.
    RANGES_HOW=push SPILLWAY_ITERATION=nvtx:other "$SPILLWAY" profile -f -o trace -- "$STEPS" --steps 24 --nvtx --rarely 3 >out 2>err ||
        fail "NVTX, another name: exit status $?"
    grep -q '^spillway: nothing marked an iteration as SPILLWAY_ITERATION=nvtx:other says' err && echo "ok NVTX: another name" ||
        fail "another name: $(cat err)"
    RANGES_HOW=push iteration "NVTX: not asked for" 30 "" --nvtx --rarely 3
    # Another tool was there first: it stays, and the user is told.
    RANGES_HOW=push NVTX_INJECTION64_PATH=/nonexistent/tool.so SPILLWAY_ITERATION=nvtx:step \
        "$SPILLWAY" run "$STEPS" --steps 24 --nvtx >out 2>err || fail "another tool: exit status $?"
    grep -q '^spillway: NVTX_INJECTION64_PATH is /nonexistent/tool.so' err && echo "ok another tool" || fail "another tool: $(cat err)"
else
    echo "skip no NVTX headers"
fi
SPILLWAY_ITERATION=nvtx "$SPILLWAY" run "$STEPS" --steps 24 >out 2>err || fail "a wrong setting: exit status $?"
same "a wrong setting: output unchanged" out
grep -q '^spillway: SPILLWAY_ITERATION=nvtx is not a valid' err || fail "a wrong setting: $(cat err)"
exit $failed
