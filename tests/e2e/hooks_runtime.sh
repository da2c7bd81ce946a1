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
# cuBLAS carries a runtime of its own. (cuDNN and NCCL make no look-up before there is a device.)
LD_LIBRARY_PATH=$PWD/fake:$toolkit/lib64 LD_PRELOAD=$PWD/librec.so timeout 60 ./lookups_static libcublas.so.13 cublasCreate_v2
case $? in
0) echo "ok cublas" ;;
77) echo "skip no cublas" ;;
*) echo "not ok cublas"; failed=1 ;;
esac
exit $failed
