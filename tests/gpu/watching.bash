# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: results as rows, and programs that are watched while they run.

# ---- results: one line each, fields between tabs: STATUS NAME VALUE UNIT NOTE (gpufact.h) ----

row() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "${3:-}" "${4:-}" "${5:-}"; }
ok() { row ok "$@"; }
bad() { row bad "$@"; }
fact() { row fact "$@"; }
skip() { row skip "$@"; }

# Are there so many seconds left of this part's time?
time_for() { [ $(($(date +%s) + $1)) -le "${GPU_KIT_UNTIL:-9999999999}" ]; }

# What a program said last on stderr: one line, fit for a note.
last_words() { grep -v '^$' "$1" 2>/dev/null | tail -n 1 | tr '\t' ' ' | cut -c 1-300; }

have_spillway() {
    [ -x "$SPILLWAY" ] && [ -r "$BUILD/libspillway.so" ] && return 0
    skip "libspillway.so and spillway" "not in $BUILD" "" "build them there first: make"
    return 1
}

# ---- running a workload ----

# Bytes of a size as Spillway prints it ("1.5 GiB").
bytes_of() { awk -v n="$1" -v u="$2" 'BEGIN { printf "%.0f\n", n * (u == "GiB" ? 1073741824 : u == "MiB" ? 1048576 : u == "KiB" ? 1024 : 1) }'; }

# watched NAME COMMAND...: NAME.out, NAME.err, NAME.times (one stamp a line of output), NAME.peak (bytes over what was
# used before; of the simulated GPU, which no second process sees, its own report).
watched() {
    local name=$1 status watcher line
    shift
    case $name in /*) ;; *) name=$PWD/$name ;; esac
    rm -f "$name".*
    coproc WATCH { exec "$BIN/gpu_watch" watch "$name.seen"; }
    watcher=$WATCH_PID
    read -r -t 20 -u "${WATCH[0]}" line || line=nobody
    echo "$line" >"$name.witness"
    SIMGPU_REPORT=$name.json "$@" 2>"$name.err" | while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        printf '%s %s\n' "$EPOCHREALTIME" "$line"
    done 3>"$name.out" >"$name.times"
    status=${PIPESTATUS[0]}
    kill -TERM "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    awk '{ printf "%.0f\n", $2 - $1 }' "$name.seen" >"$name.peak" 2>/dev/null
    [ "$SIM" = 0 ] || sed -n 's/^ *"peak_physical_bytes": \([0-9]*\),*$/\1/p' "$name.json" >"$name.peak" 2>/dev/null
    return "$status"
}

# Median step of the second half, in milliseconds.
step_ms() {
    grep ' step ' "$1.times" 2>/dev/null | awk '{ t[NR] = $1 }
        END { for (i = int(NR / 2) + 1; i <= NR; i++) print 1000 * (t[i] - t[i - 1]) }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.2f\n", v[int((NR + 1) / 2)] }'
}

same_losses() { # LABEL EXPECTED GOT
    if [ ! -s "$2" ] || ! grep -q '^step ' "$2"; then
        bad "$1" "no losses to compare with"
    elif cmp -s "$2" "$3"; then
        ok "$1" "bit-identical" "" "$(grep -c '^step ' "$2") steps"
    else
        bad "$1" differ "" "$(diff "$2" "$3" | sed -n 2,4p | tr '\n\t' '; ' | cut -c 1-200)"
    fi
}

# profile_of NAME COMMAND...: the trace's summary in NAME.summary; NEED and OPS from it.
profile_of() {
    local name=$1 n u m v status
    shift
    rm -f "$name.trace"
    "$SPILLWAY" profile -o "$name.trace" "$@" >"$name.out" 2>"$name.summary"
    status=$?
    OPS=$(sed -n 's/^  iterations .*each \([0-9]*\) ops.*/\1/p' "$name.summary")
    read -r n u m v < <(sed -n 's/^  peak *\([0-9.]*\) \([A-Za-z]*\), and \([0-9.]*\) \([A-Za-z]*\) .*/\1 \2 \3 \4/p' "$name.summary")
    NEED=0
    [ -z "${v:-}" ] || NEED=$(($(bytes_of "$n" "$u") + $(bytes_of "$m" "$v")))
    return $status
}

# What Spillway says of its own run, and what it must never say.
own_words() { # LABEL FILE
    local line
    line=$(grep '^spillway: peak \|^spillway: nothing had to move' "$2" | tail -n 1 | cut -c 11-)
    [ -z "$line" ] || fact "$1: its own account" "" "" "$line"
    line=$(grep -i 'does not tell the parameters\|NOT ONE OF ITS CALLS\|plan error\|VERIFY:\|the driver lacks\|cannot pin' "$2" |
        head -n 1 | cut -c 1-200)
    [ -z "$line" ] || bad "$1: no complaint" "" "" "$line"
}
