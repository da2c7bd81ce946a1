#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A training run that does not fit, made to fit. Every statement printed is checked first; the first one
# that does not hold ends the demo with a non-zero status.
set -u
SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-$SRC/build}
SPILLWAY=$BUILD/spillway
DATA=tests/data/digits.csv
PAGE=2097152
cd "$SRC" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

stop() {
    echo "demo: $*" >&2
    exit 1
}
mib() { echo "$1" | awk '{ printf "%.1f MiB", $1 / 1048576 }'; }
field() { jq -er "$2" "$1" || stop "cannot read $2 from $1"; }
# The first and last losses, and the accuracy.
excerpt() { awk 'NR <= 2 { print } NR == 3 { print "  ..." } { last[NR] = $0 } END { print last[NR - 1]; print last[NR] }' "$1" | sed 's/^/  /'; }
good_enough() {
    awk '/^accuracy/ { found = $2 >= 0.9 } END { exit !found }' "$1" || stop "accuracy below 90 %: $(tail -n 1 "$1")"
}

on_simulated_gpu() {
    mlp=$BUILD/tests/workloads/mlp
    export LD_LIBRARY_PATH="$BUILD/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export SIMGPU_MARK=cuMemcpyDtoH_v2
    command='mlp --steps 40'
    SIMGPU_REPORT=$work/ample.json "$mlp" --data $DATA >"$work/ample.out" || stop "the workload fails with ample memory"
    need=$(field "$work/ample.json" .peak_physical_bytes) || exit 1
    half=$((need / 2 / PAGE * PAGE))

    echo "All figures below are of a *simulated* GPU: this is not a measurement of a GPU."
    echo
    echo "== 1. $command alone, on a GPU of $(mib $half), half of the $(mib "$need") it needs (simulated)"
    SIMGPU_MEM=$half "$mlp" --data $DATA >"$work/alone.out" 2>"$work/alone.err"
    status=$?
    sed 's/^/  /' "$work/alone.out" "$work/alone.err"
    echo "  (exit status $status)"
    [ $status -ne 0 ] && grep -q 'out of memory' "$work/alone.err" || stop "it should have run out of memory"

    echo
    echo "== 2. The same program on the same GPU: spillway run $command (simulated)"
    SIMGPU_MEM=$half SIMGPU_REPORT=$work/spill.json "$SPILLWAY" run "$mlp" --data $DATA \
        >"$work/spill.out" 2>"$work/spill.err"
    status=$?
    grep '^spillway: ' "$work/spill.err" | sed 's/^/  /'
    excerpt "$work/spill.out"
    [ $status -eq 0 ] || stop "exit status $status"
    good_enough "$work/spill.out"

    echo
    cmp -s "$work/ample.out" "$work/spill.out" || stop "the losses differ from those with ample memory"
    echo "== 3. Its $(grep -c ^step "$work/spill.out") losses and its accuracy are byte-identical to a run with ample memory (checked)"
    peak=$(field "$work/spill.json" .peak_physical_bytes) || exit 1
    [ "$peak" -le "$half" ] || stop "peak $peak above the GPU's $half"
    echo "== 4. Peak memory as the simulator counts it: $(mib "$peak"), of $(mib $half) (simulated)"
    SIMGPU_REPORT=$work/both.json "$SPILLWAY" run -q "$mlp" --data $DATA >"$work/both.out" ||
        stop "it fails under spillway with ample memory"
    cmp -s "$work/ample.out" "$work/both.out" || stop "the losses differ under spillway with ample memory"
    for run in ample spill both; do
        # The steps from the fifth on are steady; the mark of step n is its read-back of the loss.
        field "$work/$run.json" '.marks[:-1] | (.[-1].virtual_ns - .[3].virtual_ns) / (length - 4)' >"$work/$run.ns" || exit 1
    done
    paste "$work/ample.ns" "$work/spill.ns" "$work/both.ns" | awk '{
        printf "== 5. Step time: %.3f ms, %.2f times the %.3f ms with ample memory (simulated, steady state)\n",
            $2 / 1e6, $2 / $1, $1 / 1e6
        printf "      With ample memory and under spillway too, where cudaMalloc and cudaFree cost less: %.3f ms.\n",
            $3 / 1e6 }'
}

# On a real card nobody can take half of the memory away, and nothing but the driver counts: so only what
# can be checked is claimed.
on_real_gpu() {
    mlp=$work/mlp
    "$nvcc" -O2 -o "$mlp" tests/workloads/mlp.cu || stop "nvcc failed"
    size="--data $DATA --batch 262144"
    budget=640MiB
    echo "== 1. mlp $size alone on $(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)"
    "$mlp" $size >"$work/ample.out" || stop "the workload fails on this GPU"
    excerpt "$work/ample.out"
    echo
    echo "== 2. The same within $budget, about half of what it needs: spillway run --gpu-mem $budget"
    "$SPILLWAY" run --gpu-mem $budget "$mlp" $size >"$work/spill.out" || stop "it failed"
    excerpt "$work/spill.out"
    echo
    cmp -s "$work/ample.out" "$work/spill.out" || stop "the losses differ"
    echo "== 3. All losses are byte-identical (checked). Peak and times: see spillway's own last line above."
}

nvcc=$(command -v nvcc || ls "${CUDA_INCLUDE%/include}/bin/nvcc" 2>/dev/null)
if [ -n "$nvcc" ] && nvidia-smi -L 2>/dev/null | grep -q GPU; then
    on_real_gpu
else
    on_simulated_gpu
fi
