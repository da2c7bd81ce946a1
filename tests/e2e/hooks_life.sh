#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Life inside a host program, after the failures of others: each file of tests/hooks/life and
# tests/hooks/company is one of them.
. "$SRC/tests/hooks/build.sh"
failed=0
make_fake_driver "$PWD/fake"
make_recording_library "$PWD/librec.so"
export LD_LIBRARY_PATH="$PWD/fake:$PWD"

# NAME FILE PRELOAD [flags of the compiler]
try() {
    name=$1 file=$2 preload=$3
    shift 3
    # shellcheck disable=SC2086
    if ! $CC -std=c11 $INC -fPIC -O1 -g -Wall -Wextra -Werror -Wno-deprecated-declarations -rdynamic "$file" -o "$name" "$@" -lpthread -ldl; then
        echo "not ok $name: does not build"; failed=1; return
    fi
    LD_PRELOAD=$preload timeout 20 "./$name" 2>err
    status=$?
    cat err
    if [ $status -eq 0 ]; then echo "ok $name"; else echo "not ok $name: status $status"; failed=1; fi
}

for file in "$HOOKS"/life/*.c; do
    flags=
    grep -q '^/\* link: cuda' "$file" && flags="-Lfake -lcuda"
    # shellcheck disable=SC2086
    try "$(basename "$file" .c)" "$file" "$PWD/librec.so" $flags
done

# Programs with other libraries.
lib() { # OUT FILE [flags]
    out=$1 file=$2
    shift 2
    # shellcheck disable=SC2086
    $CC -std=gnu11 $WARN $INC -shared -o "$out" "$file" "$@" -ldl || exit 1
}
lib libdeep.so "$HOOKS/company/deeplib.c" -Lfake -lcuda
lib libown.so "$HOOKS/company/ownlib.c"
lib libother.so "$HOOKS/company/otherhook.c"
try deepbind "$HOOKS/company/deepbind.c" "$PWD/librec.so"
try own_library "$HOOKS/company/own_library.c" "$PWD/librec.so" -L. -lown
grep -q 'has a function cu[A-Za-z0-9_]* of its own' err && echo "ok own_library says so" || { echo "not ok own_library says nothing"; failed=1; }
try preload_before "$HOOKS/company/preload_list.c" "$PWD/librec.so:$PWD/libother.so"
try preload_after "$HOOKS/company/preload_list.c" "$PWD/libother.so:$PWD/librec.so"

mkdir -p old && grep -v -e Async -e Ex -e _v3 -e _v4 "$GEN/symbols.txt" >old.txt
(
    GEN=$PWD/oldgen && mkdir -p oldgen && cp old.txt oldgen/symbols.txt
    awk -F'[(, ]+' 'NR == FNR { has[$1]; next } $3 in has' old.txt "$BUILD/obj/simgpu/gen/lookup_table.inc" >oldgen/lookup_table.inc
    INC="-I$GEN $INC"
    make_fake_driver "$PWD/old"
) || { echo "not ok no old driver"; failed=1; }
LD_LIBRARY_PATH="$PWD/old:$PWD"
try old_driver "$HOOKS/company/old_driver.c" "$PWD/librec.so"
LD_LIBRARY_PATH="$PWD/fake:$PWD"

# Sanitizer-built hosts: with their runtime inside the program, it comes first as it must.
for sanitizer in address undefined; do
    try "host_$sanitizer" "$HOOKS/life/threads_first.c" "$PWD/librec.so" -fsanitize=$sanitizer -static-libasan -static-libubsan
done

# With their runtime as a library, that has to lead the list.
runtime=$($CC -print-file-name=libasan.so)
if [ -f "$runtime" ]; then
    try host_address_list "$HOOKS/life/threads_first.c" "$(readlink -f "$runtime"):$PWD/librec.so" -fsanitize=address
else
    echo "skip no libasan.so"
fi

# A program that never comes near CUDA prints nothing.
LD_PRELOAD=$BUILD/libspillway.so SPILLWAY_VERBOSE=3 SPILLWAY_NOSUCH=1 /bin/true >out 2>&1
[ $? -eq 0 ] && [ ! -s out ] && echo "ok silent" || { echo "not ok /bin/true: $(cat out)"; failed=1; }
exit $failed
