# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: every launch is seen, and changes nothing.

# One variant of every_launch: the count of operations, and losses with and without at 70 % of its need.
one_variant() { # LABEL PROGRAM MODE
    local label=$1 program=$BIN/$2 mode=$3 told more=0 at=70 where="at 70 %"
    watched plain "$program" "$mode" || { bad "$label runs without Spillway" no "" "$(last_words plain.err)"; return; }
    told=$(sed -n 's/^ops //p' plain.err)
    if [ "$mode" = cublas ]; then
        more=$("$program" count 2>&1 >/dev/null | sed -n 's/^ops //p')
        more=${more:-0}
    fi
    profile_of profiled "$program" "$mode" || bad "$label is profiled" "exit status $?" "" "$(last_words profiled.summary)"
    same_losses "$label: losses, profiled" plain.out profiled.out
    own_words "$label, profiled" profiled.summary
    if [ "$mode" = graph ]; then
        # A graph's launch is one operation; the iteration found may be several steps. What its nodes touch, nearly
        # everything here, must fit at once.
        if [ "${OPS:-0}" -gt 0 ] && [ $((OPS % told)) -eq 0 ]; then
            ok "$label: operations seen" "$OPS" "" "in $((OPS / told)) steps of $told"
        else
            bad "$label: operations seen" "${OPS:-none}" "" "not whole steps of $told"
        fi
        at=300 where="with ample memory"
    elif [ "$OPS" = $((told + more)) ]; then
        ok "$label: operations seen" "$OPS" "" "of $told in a step$([ "$more" = 0 ] || echo " and $more of cuBLAS")"
    elif [ "$mode" = cublas ] && [ "${OPS:-0}" -ge "$told" ]; then
        # A capture may choose other kernels than a plain call: not a failure by itself.
        fact "$label: operations seen" "$OPS" "" "$told in a step, and a capture counts $more of cuBLAS"
    else
        bad "$label: operations seen" "${OPS:-none}" "" "of $told in a step, and $more of cuBLAS"
    fi
    watched moved "$SPILLWAY" run --gpu-mem $((NEED * at / 100)) "$program" "$mode" ||
        bad "$label runs $where" "exit status $?" "" "$(last_words moved.err)"
    same_losses "$label: losses $where" plain.out moved.out
    own_words "$label $where" moved.err
}

# Weights that only tensor maps show: in parameters, and in constant memory, where no launch shows them.
tensor_maps() {
    local mode
    [ "$SIM" = 0 ] || { skip "tensor maps" "no TMA in the simulator; tests/e2e/hooks_tensor_maps.sh stands in"; return; }
    built tensor_map || return
    for mode in parameter constant; do
        watched plain "$BIN/tensor_map" $mode
        case $? in
        0) ;;
        77) skip "tensor maps" "$(last_words plain.err)"; return ;;
        *) bad "tensor maps, $mode: runs without Spillway" no "" "$(last_words plain.err)"; continue ;;
        esac
        # 12 layers of 4 MiB; in constant memory none of them may leave.
        watched moved "$SPILLWAY" run --gpu-mem "$([ $mode = parameter ] && echo 36 || echo 60)MiB" "$BIN/tensor_map" $mode
        same_losses "tensor maps, $mode: losses" plain.out moved.out
        own_words "tensor maps, $mode" moved.err
    done
}

part_interposition() {
    local mode
    have_spillway || return
    if built every_launch; then
        for mode in plain cooperative graph; do one_variant "static runtime, $mode" every_launch $mode; done
    fi
    if [ "$SIM" = 0 ]; then
        if built every_launch_shared; then one_variant "shared runtime, plain" every_launch_shared plain; fi
        if built every_launch_per_thread; then
            one_variant "per-thread default stream, plain" every_launch_per_thread plain
            one_variant "per-thread default stream, cooperative" every_launch_per_thread cooperative
        fi
        if [ ! -r "$CUDA/include/cublas_v2.h" ]; then
            skip "cuBLAS" "no cublas_v2.h in $CUDA/include"
        elif built every_launch_cublas; then
            one_variant "cuBLAS" every_launch_cublas cublas
        fi
    else
        skip "shared runtime, per-thread default stream, cuBLAS" "the simulator has one runtime"
    fi
    # A training program by both runtimes, and one that bends its steps.
    for mode in mlp mlp_shared; do
        [ "$SIM" = 0 ] || continue # the offload part does the same there
        built $mode || continue
        watched plain "$BIN/$mode" --steps 12 --data "$SRC/tests/data/digits.csv"
        profile_of profiled "$BIN/$mode" --steps 12 --data "$SRC/tests/data/digits.csv"
        watched moved "$SPILLWAY" run --gpu-mem $((NEED / 2)) "$BIN/$mode" --steps 12 --data "$SRC/tests/data/digits.csv"
        same_losses "$mode: losses at 50 %" plain.out moved.out
        own_words "$mode at 50 %" moved.err
    done
    tensor_maps
    built steps || return
    for mode in "" "--streams" "--threads" "--eval 4" "--small 3" "--hide 5" "--build 5"; do
        # shellcheck disable=SC2086 # a list
        watched plain "$BIN/steps" $mode
        # 8 layers of 4 MiB weights and momentum, 9 of 2 MiB activations, a gradient.
        # shellcheck disable=SC2086
        watched moved "$SPILLWAY" run --gpu-mem 60MiB "$BIN/steps" $mode
        same_losses "steps${mode:+ $mode}: sums within 60 MiB" plain.out moved.out
        own_words "steps${mode:+ $mode}" moved.err
        [ "$SIM" = 0 ] || [ "$mode" != "--streams" ] || break
    done
}
