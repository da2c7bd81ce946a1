#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The library built with AddressSanitizer and UBSan, in a plain program on the simulated GPU: replay, steps
# that are not as planned, a second stream, every move checked; the same output and not a word from them.
# With SPILL_TEST_LONG=1 all of it under valgrind as well (minutes). hooks_tsan is for ThreadSanitizer.
. "$SRC/tests/helpers.sh"
runtimes="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
echo 'int main(void) { return 0; }' >probe.c
gcc -fsanitize=address,undefined -o probe probe.c 2>/dev/null && ./probe || { echo "skip no AddressSanitizer"; exit 77; }
out=$BUILD/asan flags='-fsanitize=address,undefined'
rm -f "$out/libspillway.so"
asan_make() { make -s -C "$SRC" O="$out" CC=gcc LDFLAGS="$flags" "$@" >make.log 2>&1 || { cat make.log; echo "not ok does not build"; exit 1; }; }
# What runs before the sanitizer's own start, from its look-ups, cannot be watched by it.
asan_make CFLAGS='-O1 -g' "$out/obj/preload/libc.o" "$out/obj/preload/lookup.o"
asan_make CFLAGS="-O1 -g -fno-omit-frame-pointer $flags -fno-sanitize-recover=undefined" "$out/libspillway.so"

# Leaks: the library's tables live as long as the process. The simulator handles the faults of kernels.
ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0
export ASAN_OPTIONS
quiet() { ! grep -qE 'ERROR: AddressSanitizer|runtime error:|^==[0-9]+== [A-Z]' err; }

# check NAME MEM LEAST PROGRAM...: as with ample memory, at least LEAST iterations replayed.
check() {
    name=$1 mem=$2 least=$3
    shift 3
    "$@" >ample.out || fail "$name: fails with ample memory"
    SIMGPU_MEM=$mem SPILLWAY_PLAN_WAIT=60000 LD_PRELOAD="$runtimes $out/libspillway.so" "$@" >ran 2>err
    status=$?
    n=$(sed -n 's/.* \([0-9]*\) iterations replayed.*/\1/p' err)
    if [ $status -eq 0 ] && cmp ample.out ran && quiet && [ "${n:-0}" -ge "$least" ]; then
        echo "ok $name"
    else
        fail "$name: exit status $status, ${n:-no} iterations replayed"
        head -n 40 err
    fi
}

# It finds out what may be read by having the kernel read it.
cat >unwind.supp <<'END'
{
   libunwind-probe
   Memcheck:Param
   write(buf)
   fun:syscall
   obj:*libunwind.so*
}
END
# memcheck NAME MEM PROGRAM...: the library as it is, under valgrind.
memcheck() {
    name="$1 under valgrind" mem=$2
    shift 2
    command -v valgrind >/dev/null || { echo "skip $name: not installed"; return; }
    "$@" >ample.out
    SIMGPU_MEM=$mem SPILLWAY_PLAN_WAIT=60000 LD_PRELOAD=$BUILD/libspillway.so valgrind -q --max-stackframe=100000 \
        --suppressions="$SRC/tests/simgpu/valgrind.supp" --suppressions=unwind.supp "$@" >ran 2>err
    status=$?
    if [ $status -eq 0 ] && cmp ample.out ran && quiet && grep -q ' [1-9][0-9]* iterations replayed' err; then
        echo "ok $name"
    else
        fail "$name: exit status $status"
        head -n 40 err
    fi
}

STEPS=$BUILD/tests/victims/steps
check "steps" 44MiB 6 "$STEPS" --steps 10
check "evaluations, small batches, two streams" 44MiB 4 "$STEPS" --steps 40 --eval 7 --small 11 --streams
check "growth" 36MiB 10 "$STEPS" --steps 24 --grow 12 --threads
check "a hidden table" 44MiB 4 "$STEPS" --steps 14 --build 6
export SPILLWAY_VERIFY=1
check "every move checked" 44MiB 6 "$STEPS" --steps 10
unset SPILLWAY_VERIFY
check "mlp" 40MiB 4 "$BUILD/tests/workloads/mlp" --steps 8 --data "$SRC/tests/data/digits.csv"
memcheck "steps" 44MiB "$STEPS" --steps 9
memcheck "evaluations, two streams" 44MiB "$STEPS" --steps 20 --eval 7 --streams
exit $failed
