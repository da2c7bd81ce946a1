# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: what the parts need compiled, by nvcc or for the simulated GPU by simcc.

find_nvcc() {
    local d
    [ -z "${NVCC:-}" ] || { echo "$NVCC"; return; }
    for d in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda /usr/lib/cuda; do
        [ -z "$d" ] || [ ! -x "$d/bin/nvcc" ] || { echo "$d/bin/nvcc"; return; }
    done
    command -v nvcc
}

# job NAME SOURCE [FLAGS]: compiled to $BIN/NAME when older than its source or a header of the kit. -arch=native
# wants a GPU, and an nvcc that knows it: otherwise the default, which the driver compiles on at load.
job() {
    local name=$1 source=$SRC/$2
    shift 2
    [ -n "${arch:-}" ] || arch=-arch=native
    if [ -x "$BIN/$name" ] && [ "$BIN/$name" -nt "$source" ] && [ "$BIN/$name" -nt "$SRC/tests/gpu/gpufact.h" ] &&
        [ "$BIN/$name" -nt "$SRC/preload/hooks.def" ] && [ "$BIN/$name" -nt "$SRC/tests/simgpu/simtest.h" ] &&
        [ "$BIN/$name" -nt "$SRC/tests/simgpu/cells.h" ] &&
        [ "$BIN/$name" -nt "$SRC/tests/victims/victim.h" ]; then
        return 0
    fi
    rm -f "$BIN/$name"
    if [ "$SIM" = 1 ]; then
        "$BUILD/simgpu/simcc" -std=c++17 -O2 -isystem"$CUDA/include" -I"$SRC" -I"$SRC/tests/simgpu" "$@" "$source" \
            -o "$BIN/$name" -lcuda -lpthread -ldl >"$BIN/$name.log" 2>&1
        return
    fi
    "$NVCC" "$arch" -std=c++17 -O2 -I"$SRC" -I"$SRC/tests/simgpu" "$source" -o "$BIN/$name" "$@" -L"$CUDA/lib64/stubs" \
        -L"$CUDA/lib/stubs" -lcuda -lpthread -ldl >"$BIN/$name.log" 2>&1 ||
        "$NVCC" -std=c++17 -O2 -I"$SRC" -I"$SRC/tests/simgpu" "$source" -o "$BIN/$name" "$@" -L"$CUDA/lib64/stubs" \
            -L"$CUDA/lib/stubs" -lcuda -lpthread -ldl >"$BIN/$name.log" 2>&1
}

workloads() {
    local w
    for w in mlp cnn gpt; do [ ! -r "$SRC/tests/workloads/$w.cu" ] || echo "$w"; done
}

conformance_programs() {
    local f
    for f in "$SRC"/tests/simgpu/*.cu; do
        grep -q '"simtest.h"' "$f" || continue
        f=$(basename "$f" .cu)
        # Here they are the simulator's own tests already (tests/simgpu/run): one shows that the part works.
        [ "$SIM" = 0 ] || [ "$f" = vmm ] || continue
        echo "$f"
    done
}

# One line a program: NAME SOURCE FLAGS.
jobs_of() { # PART
    local n
    case $1 in
    facts) for n in lookup vmm addresses alias limits link; do echo "facts_$n tests/gpu/facts_$n.cu"; done ;;
    interposition)
        echo "every_launch tests/gpu/every_launch.cu"
        if [ "$SIM" = 0 ]; then
            echo "every_launch_shared tests/gpu/every_launch.cu -cudart shared -Xlinker -rpath -Xlinker $CUDA/lib64"
            echo "every_launch_per_thread tests/gpu/every_launch.cu --default-stream per-thread"
            [ ! -r "$CUDA/include/cublas_v2.h" ] ||
                echo "every_launch_cublas tests/gpu/every_launch.cu -DWITH_CUBLAS -lcublas -Xlinker -rpath -Xlinker $CUDA/lib64"
            echo "mlp_shared tests/workloads/mlp.cu -cudart shared -Xlinker -rpath -Xlinker $CUDA/lib64"
            echo "tensor_map tests/gpu/tensor_map.cu"
        fi
        echo "steps tests/victims/steps.cu"
        [ "$SIM" = 1 ] || echo "mlp tests/workloads/mlp.cu" ;;
    conformance) for n in $(conformance_programs); do echo "simgpu_$n tests/simgpu/$n.cu"; done ;;
    offload)
        for n in $(workloads); do
            echo "$n tests/workloads/$n.cu"
            [ "$SIM" = 1 ] || echo "${n}_managed tests/workloads/$n.cu -include $SRC/tests/gpu/managed.h"
        done ;;
    overhead) echo "launch_rate tests/gpu/launch_rate.cu" ;;
    esac
}

build() { # PARTS
    local part name source flags running=0 most
    most=$(nproc)
    while read -r name source flags; do
        # shellcheck disable=SC2086 # a list
        job "$name" "$source" $flags &
        running=$((running + 1))
        if [ $running -ge "$most" ]; then
            wait -n
            running=$((running - 1))
        fi
    done < <({ echo "gpu_watch tests/gpu/gpu_watch.cu"; for part in "$@"; do jobs_of "$part"; done; } | sort -u)
    wait
}

# Is the program there? Says so if not, with the compiler's first error.
built() {
    [ -x "$BIN/$1" ] && return 0
    bad "$1 compiles" no "" "$(grep -m 1 -i error "$BIN/$1.log" 2>/dev/null | tr '\t' ' ' | cut -c 1-200)"
    return 1
}
