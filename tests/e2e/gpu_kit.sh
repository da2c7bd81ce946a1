#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 240
# The kit for a real GPU (tests/gpu) on the simulated one: its parts, its counting of failures, its table and its
# JSON lines. Its figures mean nothing here. Where nvcc is, the kit's own programs compile with it, too.
kit=$SRC/tests/gpu/run
command -v bash >/dev/null || { echo "skip no bash"; exit 77; }
failed=0
good() { echo "ok $1"; }
fail() { echo "not ok $*"; failed=1; }

unset OUT
# Beside the rest, for it takes as long: do the kit's own programs compile with nvcc?
toolkit=$(dirname "${CUDA_INCLUDE:-/usr/local/cuda/include}")
[ ! -x "$toolkit/bin/nvcc" ] || NVCC=$toolkit/bin/nvcc "$kit" --build-only facts interposition overhead >compiled 2>&1 &

OUT=$PWD/results "$kit" --sim --short >said 2>&1
status=$?
cat said
[ $status -eq 0 ] && good "all parts on the simulated GPU" || fail "exit status $status"
for part in kit facts interposition conformance offload overhead torch; do
    [ -s results/results.jsonl ] && jq -es --arg p $part 'map(select(.part == $p)) | length > 1' results/results.jsonl >/dev/null ||
        fail "no results of $part"
done
jq -es 'all(.simulated and .date != "" and .card == "SimGPU" and .driver != "" and .status != "bad")' results/results.jsonl >/dev/null &&
    good "JSON lines" || fail "JSON lines"
for name in "stale or lost words with event order alone" "cuGetProcAddress answers otherwise"; do
    jq -es --arg n "$name" 'map(select(.name == $n)) | .[0].value == 0 and .[0].status == "ok"' results/results.jsonl >/dev/null &&
        good "$name" || fail "$name"
done
grep -q 'SIMULATED GPU' results/table.txt && good "says that it is simulated" || fail "does not say that it is simulated"

# A part that fails is counted, and the others go on: a library that the program cannot use.
mkdir -p broken
ln -s "$BUILD/simgpu" broken/simgpu
cp "$BUILD/spillway" broken/
echo 'not a library' >broken/libspillway.so
BUILD=$PWD/broken OUT=$PWD/broken/results "$kit" --sim kit overhead >broken/said 2>&1
status=$?
[ $status -eq 1 ] && grep -q '^  kit: .* [1-9][0-9]* bad' broken/said && grep -q '^  overhead: ' broken/said &&
    good "failures are counted, parts go on" || { cat broken/said; fail "broken library: status $status"; }

# The PyTorch scripts on a processor, where PyTorch is: each way to save memory gives the same losses.
python=${PYTHON3:-python3}
"$python" -c 'import torch' 2>/dev/null || python=/usr/bin/python3
if "$python" -c 'import torch' 2>/dev/null; then
    for model in gpt2 resnet50; do
        for memory in plain checkpoint save_on_cpu; do
            "$python" "$SRC/tests/gpu/torch_train.py" $model --device cpu --tiny --steps 2 --batch 4 --memory $memory >$model.$memory 2>$model.err ||
                fail "$model $memory: $(tail -n 1 $model.err)"
        done
        [ "$(grep -c '^step . loss [0-9]' $model.plain)" = 2 ] && cmp -s $model.plain $model.checkpoint && cmp -s $model.plain $model.save_on_cpu &&
            good "torch_train.py $model" || fail "torch_train.py $model"
    done
    "$python" "$SRC/tests/gpu/torch_oom.py" cpu >oom && [ "$(wc -l <oom)" = 12 ] && good "torch_oom.py" || fail "torch_oom.py"
else
    echo "skip torch_train.py and torch_oom.py: no PyTorch"
fi

# Without a GPU: one line, status 77.
if ! ls /dev/nvidia0 /dev/nvidiactl /dev/dxg >/dev/null 2>&1; then
    "$kit" >said 2>&1
    status=$?
    [ $status -eq 77 ] && [ "$(wc -l <said)" -eq 1 ] && good "no GPU" || fail "without a GPU: status $status, $(cat said)"
fi

if wait $! && [ ! -x "$toolkit/bin/nvcc" ]; then echo "skip no nvcc"; fi
! grep '^not ok' compiled || failed=1
grep '^ok' compiled
exit $failed
