#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Each driver call that the library makes fails once, early and late: the program goes on with the same
# output, or gets an honest CUDA error after correct lines. Never a crash, a hang or a wrong line.
. "$SRC/tests/helpers.sh"
STEPS="$BUILD/tests/victims/steps --steps 8 --eval 6"
$STEPS >ample.out || fail "fails with ample memory"

# try SPEC: which call fails, as the simulator reads it.
try() {
    SIMGPU_FAIL=$1 SIMGPU_MEM=44MiB timeout 60 "$SPILLWAY" run -q $STEPS >out 2>err
    status=$?
    if [ $status -eq 0 ] && cmp -s ample.out out; then
        went_on=$((went_on + 1))
    elif [ $status -eq 1 ] && grep -q '^CUDA error' err &&
        head -c "$(wc -c <out)" ample.out | cmp -s - out; then
        gave_up=$((gave_up + 1))
    else
        fail "$1: status $status, $(tail -n 1 err)"
    fi
}

went_on=0 gave_up=0
for function in cuMemCreate cuMemMap cuMemUnmap cuMemSetAccess cuMemAddressReserve cuMemHostRegister_v2 \
    cuMemcpyDtoHAsync_v2 cuMemcpyHtoDAsync_v2 cuStreamCreate cuStreamSynchronize cuStreamWaitEvent \
    cuEventCreate cuEventRecord cuEventElapsedTime cuEventSynchronize cuCtxSynchronize \
    cuFuncGetParamInfo cuFuncGetName cuMemGetAllocationGranularity cuCtxGetDevice cuMemGetInfo_v2 \
    cuDeviceGetAttribute; do
    for nth in 1 2 5 17 80 200; do
        try $function:$nth
    done
done
echo "# $went_on went on, $gave_up got an error"
# A test in which no fault ever showed would test nothing, nor one in which none was survived.
[ $gave_up -gt 20 ] || fail "only $gave_up faults showed"
[ $went_on -gt 30 ] || fail "only $went_on faults were survived"
# What allocations and frees in stream order ask for: without it memory is the driver's, or a free waits.
STEPS="$BUILD/tests/victims/steps --steps 8 --async --streams"
$STEPS >ample.out || fail "fails with ample memory"
went_on=0 gave_up=0
for function in cuStreamIsCapturing cuDeviceGetMemPool cuDeviceGetDefaultMemPool cuEventCreate cuEventRecord cuStreamWaitEvent; do
    for nth in 1 2 40 300; do
        try $function:$nth
    done
done
echo "# $went_on went on, $gave_up got an error"
[ $went_on -ge 17 ] || fail "only $went_on faults of frees in stream order were survived"
# Memory that cannot be pinned, ever: slower, and right.
try 'cuMemHostRegister_v2:*'
grep -q 'cannot pin' err || fail "nothing said about memory that cannot be pinned"
[ $failed -ne 0 ] || echo "ok every fault is survived or reported"
exit $failed
