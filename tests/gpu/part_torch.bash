# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: PyTorch, unmodified. By importance: when the time is out, the last ones are left out.

# timed LABEL NAME SECONDS COMMAND...: watched, if there are SECONDS left; its step time is a row.
timed() {
    local label=$1 name=$2 seconds=$3
    shift 3
    time_for "$seconds" || { skip "$label" "no time left"; return 1; }
    watched "$name" "$@" || { bad "$label runs" "exit status $?" "" "$(last_words "$name.err")"; return 1; }
    fact "$label: step" "$(sed -n 's/^ms //p' "$name.err")" ms
    fact "$label: peak" $(($(cat "$name.peak") >> 20)) MiB "with its context"
}

# Losses can be compared only where two runs of PyTorch alone agree, here one with its caching allocator and one without.
torch_losses() { # LABEL EXPECTED GOT
    if [ $comparable = 1 ]; then same_losses "$@"; else skip "$1" "PyTorch alone does not repeat itself"; fi
}

torch_model() { # MODEL
    local model=$1 share most comparable=1 kind
    unset PYTORCH_NO_CUDA_MEMORY_CACHING
    timed "torch $model, as it is" "$model" 15 "$python" "$script" "$model" || return
    export PYTORCH_NO_CUDA_MEMORY_CACHING=1
    timed "torch $model, each tensor an allocation" "$model.each" 15 "$python" "$script" "$model" || return
    cmp -s "$model.out" "$model.each.out" || comparable=0
    [ $comparable = 1 ] && ok "torch $model repeats itself" yes || fact "torch $model repeats itself" no
    time_for 20 || { skip "torch $model, profiled" "no time left"; return; }
    profile_of "$model.profiled" "$python" "$script" "$model"
    torch_losses "torch $model: losses, profiled" "$model.out" "$model.profiled.out"
    own_words "torch $model, profiled" "$model.profiled.summary"
    fact "torch $model: need" $((NEED >> 20)) MiB "${OPS:-no} operations in an iteration"
    [ "$NEED" -gt 0 ] || { bad "torch $model: a trace" no "" "$(last_words "$model.profiled.summary")"; return; }
    for share in 50 $([ "$SHORT" = 1 ] || echo 100 75); do
        timed "torch $model at $share %" "$model.$share" 20 "$SPILLWAY" run --gpu-mem $((NEED * share / 100)) "$python" "$script" "$model" ||
            continue
        torch_losses "torch $model at $share %: losses" "$model.out" "$model.$share.out"
        own_words "torch $model at $share %" "$model.$share.err"
        most=$(($(cat "$model.each.peak") - NEED + NEED * share / 100 + (64 << 20)))
        if [ "$(cat "$model.$share.peak")" -le $most ] && [ "$(cat "$model.$share.peak")" -gt 0 ]; then
            ok "torch $model at $share %: within its limit" yes "" "at most $((most >> 20)) MiB with its context"
        else
            bad "torch $model at $share %: within its limit" no "" "at most $((most >> 20)) MiB with its context"
        fi
    done
    unset PYTORCH_NO_CUDA_MEMORY_CACHING
    for kind in checkpoint save_on_cpu; do
        timed "torch $model, $kind" "$model.$kind" 15 "$python" "$script" "$model" --memory $kind
    done
}

# A card with 12 GiB free (a second process holds the rest): PyTorch ends in out of memory, and trains with Spillway.
torch_capped() {
    local holder line script=$SRC/tests/gpu/torch_oom.py
    time_for 60 || { skip "torch on a capped card" "no time left"; return; }
    [ "${GPU_KIT_FREE_MIB:-0}" -gt 30000 ] || { skip "torch on a capped card" "needs 30 GB free for the run to compare with"; return; }
    watched whole "$python" "$script" || { bad "torch_oom.py runs on the whole card" no "" "$(last_words whole.err)"; return; }
    coproc HOLD { exec "$BIN/gpu_watch" hold 12288; }
    holder=$HOLD_PID
    read -r -t 60 -u "${HOLD[0]}" line || line=
    if [ -z "$line" ]; then
        bad "the card is capped" no
    else
        fact "free on the capped card" "$line" MiB
        if watched capped "$python" "$script"; then
            bad "PyTorch alone ends in out of memory" no
        else
            grep -qi 'out of memory' capped.err && ok "PyTorch alone ends in out of memory" yes || bad "PyTorch alone ends in out of memory" no "" "$(last_words capped.err)"
        fi
        export PYTORCH_NO_CUDA_MEMORY_CACHING=1
        if watched capped.moved "$SPILLWAY" run --gpu-mem $((line - 1024))MiB "$python" "$script"; then
            same_losses "the same script under Spillway: losses" whole.out capped.moved.out
        else
            bad "the same script under Spillway trains" no "" "$(last_words capped.moved.err)"
        fi
        own_words "the same script under Spillway" capped.moved.err
        unset PYTORCH_NO_CUDA_MEMORY_CACHING
    fi
    kill -TERM "$holder" 2>/dev/null
    wait "$holder" 2>/dev/null
}

part_torch() {
    local python=${PYTHON3:-python3} script=$SRC/tests/gpu/torch_train.py
    have_spillway || return
    "$python" -c 'import torch; assert torch.cuda.is_available(); print(torch.__version__)' >torch.version 2>torch.err ||
        { skip "PyTorch" "not importable, or sees no GPU" "" "$(last_words torch.err)"; return; }
    fact "PyTorch" "$(cat torch.version)"
    torch_model gpt2
    [ "$SHORT" = 0 ] || return
    torch_capped
    # As people run it, with the caching allocator: little to move, but nothing may break.
    if time_for 15 && watched cached.moved "$SPILLWAY" run "$python" "$script" gpt2; then
        same_losses "torch gpt2, caching allocator: losses" gpt2.out cached.moved.out
        own_words "torch gpt2, caching allocator" cached.moved.err
    fi
    torch_model resnet50
}
