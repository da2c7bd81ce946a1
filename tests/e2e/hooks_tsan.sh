#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# ThreadSanitizer: the library built with it, under four threads with four streams, in every mode.
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
mkdir -p null
# shellcheck disable=SC2086
$CC -std=c11 $INC $WARN -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o null/libcuda.so.1 "$SRC/tests/bench/nulldriver.c" || exit 1
# libunwind takes locks when a thread ends, after the sanitizer has forgotten the thread: not here.
$CC -shared -o null/libunwind.so.8 -x c /dev/null || exit 1
# shellcheck disable=SC2086
$CC -std=c11 $INC -O1 -g -fsanitize=thread -o four_threads "$HOOKS/four_threads.c" -Lnull -l:libcuda.so.1 || exit 1
for setting in SPILLWAY_MODE=offload SPILLWAY_GPU_MEM=160MiB SPILLWAY_MODE=profile; do
    LD_LIBRARY_PATH=$PWD/null timeout 90 env "$setting" SPILLWAY_OUTPUT="$PWD/t.trace" LD_PRELOAD="$out/libspillway.so" ./four_threads >ran 2>err
    if [ $? -eq 0 ] && grep -q ran ran && ! grep -q ThreadSanitizer err; then
        echo "ok $setting"
    else
        echo "not ok $setting"; head -n 40 err; failed=1
    fi
done
exit $failed
