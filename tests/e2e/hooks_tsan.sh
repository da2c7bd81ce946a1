#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# ThreadSanitizer on four threads with four streams on the simulated GPU: in the library built with it,
# in every mode and in replay, and in a program built with it around the library as it is. The simulator
# itself is not instrumented: its locks are seen, its fibers are none of the sanitizer's.
. "$SRC/tests/hooks/build.sh"
echo 'int main(void) { return 0; }' >probe.c
$CC -fsanitize=thread -o probe probe.c 2>/dev/null && ./probe || { echo "skip no ThreadSanitizer"; exit 77; }
failed=0
out=$BUILD/tsan
tsan_make() { make -s -C "$SRC" O="$out" CC="$CC" LDFLAGS=-fsanitize=thread "$@" >make.log 2>&1 || { cat make.log; echo "not ok does not build"; exit 1; }; }
# What runs before the sanitizer's own start, from its look-ups, cannot be watched by it.
rm -f "$out/libspillway.so"
tsan_make CFLAGS='-O1 -g' "$out/obj/preload/libc.o" "$out/obj/preload/lookup.o"
tsan_make CFLAGS='-O1 -g -fsanitize=thread' "$out/libspillway.so"
"$BUILD/simgpu/simcc" -O2 -c -o kernel.o "$HOOKS/sim/four_kernel.cu" || exit 1
# shellcheck disable=SC2086
$CC -std=c11 -I"$BUILD/simgpu/include" $INC -O1 -g -fsanitize=thread -o four_streams "$HOOKS/sim/four_streams.c" kernel.o -L"$BUILD/simgpu" -lcudart || exit 1
export LD_LIBRARY_PATH="$BUILD/simgpu" SPILLWAY_OUTPUT="$PWD/t.trace"
./four_streams >bare || { echo "not ok alone"; exit 1; }
./four_streams race >/dev/null 2>err && echo "not ok a race is not reported" && failed=1
grep -q 'ThreadSanitizer: data race' err && echo "ok a race in the program is reported"

run() { # NAME LIBRARY HOW SETTING...
    name=$1 library=$2 how=$3
    shift 3
    timeout 90 env "$@" LD_PRELOAD="$library" ./four_streams "$how" >ran 2>err
    status=$?
    if [ $status -eq 0 ] && cmp bare ran && ! grep -q ThreadSanitizer err; then
        echo "ok $name"
    else
        echo "not ok $name: status $status"; head -n 40 err; failed=1
    fi
}
replayed() { grep -q ' [1-9][0-9]* iterations replayed' err && echo "ok $1 did replay" || { echo "not ok $1 did not replay"; cat err; failed=1; }; }
run "profile" "$out/libspillway.so" free SPILLWAY_MODE=profile
run "paging" "$out/libspillway.so" free SPILLWAY_GPU_MEM=40MiB
run "replay" "$out/libspillway.so" turns SPILLWAY_GPU_MEM=48MiB SPILLWAY_PLAN_WAIT=20000
replayed replay
run "planned meanwhile" "$out/libspillway.so" turns SPILLWAY_GPU_MEM=48MiB SPILLWAY_PLAN_WAIT=0
run "checked" "$out/libspillway.so" turns SPILLWAY_GPU_MEM=48MiB SPILLWAY_PLAN_WAIT=20000 SPILLWAY_VERIFY=1
run "the program alone is built with it" "$BUILD/libspillway.so" turns SPILLWAY_GPU_MEM=48MiB SPILLWAY_PLAN_WAIT=20000
exit $failed
