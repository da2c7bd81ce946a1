# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: workloads in less memory beside their rivals, and what a launch costs.

# Bytes of memory a row of the batch takes, about.
row_bytes() {
    case $1 in
    mlp) echo 5500 ;;
    cnn) echo 31500 ;;
    gpt) echo 220000 ;;
    esac
}

# batch_of W: rows that take some 4 GiB, at most a quarter of what is free, and no more than 150 ms a step allow,
# but 1 GiB at least.
batch_of() {
    local w=$1 rows ms
    if [ "$SIM" = 1 ]; then
        case $w in
        mlp) echo 16384 ;;
        cnn) echo 2048 ;;
        gpt) echo 512 ;;
        esac
        return
    fi
    rows=$(((256 << 20) / $(row_bytes "$w") / 256 * 256))
    watched try "$BIN/$w" --batch $rows --steps 6
    ms=$(step_ms try)
    awk -v rows=$rows -v ms="${ms:-150}" -v mib="${GPU_KIT_FREE_MIB:-4096}" 'BEGIN {
        times = ms > 0 ? 150 / ms : 16
        most = mib / 4 / 256
        times = times < 4 ? 4 : times > 16 ? 16 : times
        times = times > most ? most : times
        print int(rows * times / 256) * 256 }'
}

# judge LABEL NAME: losses, own account and step time of a run beside the run $n that had no limit.
judge() {
    local label=$1 name=$2 ms
    same_losses "$label: losses" "$n.out" "$name.out"
    own_words "$label" "$name.err"
    ms=$(step_ms "$name")
    [ -z "$ms" ] || fact "$label: step" "$ms" ms "$(awk -v a="$ms" -v b="$(step_ms "$n")" 'BEGIN { printf "%.2f times the step without a limit", a / b }')"
}

# peak_within LABEL NAME LIMIT: beyond its budget a program has events and code, which no budget counts.
peak_within() {
    local peak=$(($(cat "$2.peak") - base)) most=$(($3 + (SIM == 1 ? 0 : 64 << 20)))
    if [ "$peak" -le "$most" ] && [ "$peak" -gt 0 ]; then
        ok "$1: peak" $((peak >> 20)) MiB "limit $(($3 >> 20)) MiB"
    else
        bad "$1: peak" $((peak >> 20)) MiB "limit $(($3 >> 20)) MiB"
    fi
}

# The same memory, by other means. Managed memory needs no tool; the card is capped by a ballast (managed.h).
rivals() { # W SHARE LIMIT ARGS...
    local w=$1 label="$1 at $2 %" limit=$3 method name
    shift 3
    for method in vdnn-all page; do
        name=$n.$method
        SPILLWAY_METHOD=$method watched "$name" "$SPILLWAY" run --gpu-mem "$limit" "$BIN/$w" "$@" || {
            fact "$label, $method" "does not run" "" "$(last_words "$name.err")"
            continue
        }
        judge "$label, $([ $method = page ] && echo "paging on demand" || echo "every activation moved")" "$name"
    done
    [ "$SIM" = 0 ] || { skip "$label, managed memory" "the simulator has none"; return; }
    built "${w}_managed" || return
    GPU_KIT_LIMIT=$((limit)) GPU_KIT_NEED=$NEED watched "$n.managed" "$BIN/${w}_managed" "$@"
    case $? in
    0) judge "$label, managed memory" "$n.managed" ;;
    77) skip "$label, managed memory" "$(last_words "$n.managed.err")" ;;
    *) fact "$label, managed memory" "does not run" "" "$(last_words "$n.managed.err")" ;;
    esac
}

part_offload() {
    local w n share base=0 limit ms shares="100 75 50 35" work=$PWD
    local -a args
    have_spillway || return
    cd "$SRC" || return # workloads find their data from there
    if [ "$SIM" = 0 ] && built mlp; then
        # What a context costs, to be taken off every peak below.
        watched "$work/tiny" "$BIN/mlp" --batch 256 --steps 2
        base=$(cat "$work/tiny".peak)
        fact "memory of a context" $((${base:-0} >> 20)) MiB "$(cat "$work/tiny".witness)"
    fi
    [ "$SIM$SHORT" = 00 ] || shares=50
    for w in $(workloads); do
        [ "$SHORT" = 0 ] || [ "$w" = mlp ] || continue
        built "$w" || continue
        n=$work/$w
        args=(--steps $((SIM == 1 ? 8 : 14)) --batch "$(cd "$work" && batch_of "$w")")
        watched "$n" "$BIN/$w" "${args[@]}" || { bad "$w runs without Spillway" no "" "$(last_words "$n.err")"; continue; }
        profile_of "$n.profiled" "$BIN/$w" "${args[@]}"
        same_losses "$w: losses, profiled" "$n.out" "$n.profiled.out"
        ms=$(step_ms "$n")
        fact "$w: need" $((NEED >> 20)) MiB "$w ${args[*]}"
        fact "$w: peak without a limit" $((($(cat "$n.peak") - base) >> 20)) MiB
        [ -z "$ms" ] || fact "$w: step without Spillway" "$ms" ms
        [ "$NEED" -gt 0 ] || { bad "$w: a trace" no "" "$(last_words "$n.profiled.summary")"; continue; }
        for share in $shares; do
            limit=$((NEED * share / 100 / 2097152 * 2097152))
            watched "$n.$share" "$SPILLWAY" run --gpu-mem $limit "$BIN/$w" "${args[@]}" ||
                bad "$w at $share % runs" "exit status $?" "" "$(last_words "$n.$share.err")"
            judge "$w at $share %" "$n.$share"
            peak_within "$w at $share %" "$n.$share" $limit
            [ "$share" != 50 ] || rivals "$w" "$share" $limit "${args[@]}"
        done
    done
}

part_overhead() {
    local bare off all profile idle replay
    have_spillway || return
    built launch_rate || return
    bare=$("$BIN/launch_rate") || { bad "launch_rate runs" no; return; }
    off=$(SPILLWAY_MODE=off LD_PRELOAD=$BUILD/libspillway.so "$BIN/launch_rate")
    all=$(SPILLWAY_VERBOSE=0 LD_PRELOAD=$BUILD/libspillway.so "$BIN/launch_rate")
    profile=$(SPILLWAY_VERBOSE=0 SPILLWAY_MODE=profile SPILLWAY_OUTPUT=$PWD/rate.trace LD_PRELOAD=$BUILD/libspillway.so "$BIN/launch_rate")
    fact "a launch, bare" "$bare" ns
    fact "a launch more, mode off" $((off - bare)) ns
    fact "a launch more, profile" $((profile - bare)) ns
    fact "a launch more, offload, all fits" $((all - bare)) ns "goal: below 1000"
    # 32 MiB in use all the time, 32 more that lie idle most of it, and room for 48 and the slabs.
    idle=$("$BIN/launch_rate" idle) || { bad "launch_rate idle runs" no; return; }
    replay=$("$SPILLWAY" run --gpu-mem 52MiB "$BIN/launch_rate" idle 2>replay.err)
    if grep -q ' [1-9][0-9]* iterations replayed' replay.err; then
        ok "a plan is replayed" yes "" "$(last_words replay.err | cut -c 11-)"
        fact "a launch more, replay" $((replay - idle)) ns "goal: below 1000; copies included where they are not hidden"
    else
        bad "a plan is replayed" no "" "$(last_words replay.err)"
    fi
}
