#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The vendor's own runtime, static and shared, under the library, on a driver that does nothing: as far
# as it goes there, which is past its look-ups.
. "$SRC/tests/hooks/build.sh"
toolkit=$(dirname "${CUDA_INCLUDE:-/usr/local/cuda/include}")
nvcc=$toolkit/bin/nvcc
[ -x "$nvcc" ] || { echo "skip no nvcc"; exit 77; }
failed=0
make_fake_driver "$PWD/fake"
make_recording_library "$PWD/librec.so"
for kind in static shared; do
    # shellcheck disable=SC2086
    $CC -std=c11 $INC $WARN -c -o lookups.o "$HOOKS/runtime_lookups.c" || exit 1
    "$nvcc" -cudart $kind -o "lookups_$kind" lookups.o -ldl -Xlinker -rpath -Xlinker "$toolkit/lib64" || { echo "not ok $kind does not link"; failed=1; continue; }
    if LD_LIBRARY_PATH=$PWD/fake LD_PRELOAD=$PWD/librec.so timeout 60 "./lookups_$kind"; then
        echo "ok runtime $kind"
    else
        echo "not ok runtime $kind: status $?"
        failed=1
    fi
done
# Each carries a runtime of its own. cuDNN looks for it only where calls succeed.
library() { # NAME FILE FUNCTION RESULT
    found=$(find "$toolkit/lib64/" -name "$2" | head -n 1)
    [ -n "$found" ] || { echo "skip no $2 in $toolkit/lib64"; return; }
    if LD_LIBRARY_PATH=$PWD/fake:$toolkit/lib64 LD_PRELOAD=$PWD/librec.so timeout 60 ./lookups_static "$found" "$3" "$4"; then
        echo "ok $1"
    else
        echo "not ok $1"
        failed=1
    fi
}
library cublas 'libcublas.so.[0-9]*' cublasCreate_v2 801
library cublaslt 'libcublasLt.so.[0-9]*' cublasLtCreate 801
library cudnn 'libcudnn.so.[0-9]*' cudnnCreate 0
library nccl 'libnccl.so.[0-9]*' ncclCommInitAll 801
exit $failed
