#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Allocations show the functions that make them, with libunwind and without it, if the program keeps its frame
# pointers; and a profile is there when the program is killed.
. "$SRC/tests/helpers.sh"
${CC:-cc} -std=gnu99 -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic -isystem "${CUDA_INCLUDE:-/usr/local/cuda/include}" -o plain_steps \
    "$SRC/tests/victims/plain_steps.c" -L"$SIMLIB" -l:libcuda.so.1 || fail "cannot build it"
mkdir nowhere
echo 'not a library' >nowhere/libunwind.so.8
for how in "with libunwind" "by frame pointers"; do
    [ "$how" = "with libunwind" ] || LD_LIBRARY_PATH=$PWD/nowhere:$LD_LIBRARY_PATH
    "$SPILLWAY" profile -f -o trace -- ./plain_steps 10 >out 2>err || fail "$how: exit status $?"
    "$SPILLWAY" report --format json trace >json || fail "$how: no report"
    sites=$(report json '[.buffers[] | .life + ": " + (.site | map(sub("[+].*"; "")) | join(" "))] | unique | join("\n")')
    case $sites in
    *"iteration: make_layer train_step main"*"persistent: make_weight main"*) echo "ok $how" ;;
    *) fail "$how: $sites" ;;
    esac
done
# Killed in the middle: the trace of the iteration that was found by then is whole.
"$SPILLWAY" profile -q -o killed.%p.trace -- ./plain_steps 0 >out 2>err &
waits=0
while ! ls killed.*.trace >/dev/null 2>&1 && [ $waits -lt 600 ]; do
    sleep 0.05
    waits=$((waits + 1))
done
trace=$(ls killed.*.trace)
pid=${trace#killed.}
kill -9 "${pid%.trace}"
wait $!
status=$?
[ $status -eq 137 ] || fail "killed: exit status $status"
"$SPILLWAY" report --format json "$trace" >json && report json '.iterations == 2 and (.ops | length) == 3' >/dev/null && echo "ok killed" ||
    fail "killed: $(cat json)"
exit $failed
