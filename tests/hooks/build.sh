# SPDX-License-Identifier: Apache-2.0
# For the tests of the hook layer: the recording driver, and the library with a recording sink instead of
# the engine. To be sourced, in a scratch folder. Needs the objects of $BUILD.
# shellcheck shell=sh disable=SC2034
CC=${CC:-cc}
CXX=${CXX:-c++}
GEN=$BUILD/obj/simgpu/gen
HOOKS=$SRC/tests/hooks
INC="-D_GNU_SOURCE -I$SRC -I$GEN -isystem ${CUDA_INCLUDE:-/usr/local/cuda/include}"
WARN="-O1 -g -fPIC -Wall -Wextra -Werror"

# FOLDER/libcuda.so.1
make_fake_driver() {
    mkdir -p "$1"
    grep -v -x -e cuGetProcAddress -e cuGetProcAddress_v2 "$GEN/symbols.txt" | awk -f "$HOOKS/fakedriver.awk" >fake.S
    # shellcheck disable=SC2086 # lists
    $CC -std=c11 $INC $WARN -shared -o "$1/libcuda.so.1" -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic fake.S "$HOOKS/fakedriver.c" || exit 1
    ln -sf libcuda.so.1 "$1/libcuda.so"
}

# FILE: the library under test
make_recording_library() {
    { awk -f "$SRC/preload/exports.awk" "$SRC/preload/hooks.def" | sed 's/^  local:/    recsink_counts;\n&/'; } >rec.map
    # shellcheck disable=SC2086
    $CC -std=c11 $INC $WARN -c -o recsink.o "$HOOKS/recsink.c" || exit 1
    objects= # of the sources that are, not of those that were
    for source in "$SRC"/preload/*.[cS] "$SRC"/preload/base/*.c; do
        object=${source#"$SRC"/}
        objects="$objects $BUILD/obj/${object%.*}.o"
    done
    # shellcheck disable=SC2086
    $CC -shared -o "$1" recsink.o $objects -Wl,-z,defs -Wl,-z,now -Wl,-Bsymbolic-functions \
        -Wl,--version-script=rec.map -ldl -lpthread || exit 1
}
