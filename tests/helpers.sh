# SPDX-License-Identifier: Apache-2.0
# For the end-to-end tests (and the demo): the workload, on a simulated GPU. To be sourced.
# shellcheck shell=sh disable=SC2034
SPILLWAY=$BUILD/spillway
MLP=$BUILD/tests/workloads/mlp
# A run of a few seconds: buffers of two to four pages, some 90 operations a step.
FEW="--steps 10 --data $SRC/tests/data/digits.csv"
SIMLIB=$BUILD/simgpu
LD_LIBRARY_PATH=$SIMLIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
MIB=1048576
PAGE=$((2 * MIB))

fail() {
    echo "not ok $*"
    failed=1
}
failed=0

# jq's answer to FILTER about a report; a missing or damaged report is an error, not an empty answer.
report() { # FILE FILTER
    jq -er "$2" "$1" || { echo "not ok cannot read $2 from $1" >&2; exit 1; }
}

# Runs the workload with ample memory once: ample.out, ample.json, and NEED, its peak in bytes.
run_ample() {
    # shellcheck disable=SC2086 # a list
    SIMGPU_REPORT=ample.json SIMGPU_MARK=cuMemcpyDtoH_v2 "$MLP" $FEW >ample.out || {
        echo "not ok the workload fails with ample memory"
        exit 1
    }
    grep -q '^step 10 loss [0-9.]*$' ample.out && grep -q '^accuracy' ample.out || {
        echo "not ok the workload printed no losses"
        exit 1
    }
    NEED=$(report ample.json .peak_physical_bytes)
}

# fits FILE: what stands in it is for a terminal of 80 columns and 40 lines. LC_ALL: columns, not bytes.
fits() {
    [ -s "$1" ] && LC_ALL=C.UTF-8 awk 'length > 80 { long = 1 } END { exit long || NR > 40 }' "$1" && echo "ok $1 fits a terminal" ||
        fail "$1: $(wc -L <"$1") columns, $(wc -l <"$1") lines"
}

# PERCENT of the need, in whole pages.
share() { echo $((NEED * $1 / 100 / PAGE * PAGE)); }

# same NAME FILE: the losses in FILE are those with ample memory, byte by byte.
same() {
    if cmp ample.out "$2"; then
        echo "ok $1"
    else
        fail "$1: losses differ"
        diff ample.out "$2" | head -n 4
    fi
}

# The calls of one step, "NAME COUNT" a line.
one_step() { # REPORT OF N STEPS, OF N + 1
    jq -nr --slurpfile a "$1" --slurpfile b "$2" '$b[0].calls | to_entries[] |
        "\(.key) \(.value - ($a[0].calls[.key] // 0))"' | awk '$2 != 0' | sort
}

# nothing_more ALONE OURS NAMES: beyond what a step calls alone, under us it calls nothing but cuNAMES; a stream
# is waited for only right before a copy of the program's own that blocks.
nothing_more() {
    join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$1" "$2" | awk '{ printf "# %-24s %4d alone, %4d\n", $1, $2, $3 }'
    blocking=$(awk '$1 ~ /^cuMemcpy(DtoH|HtoD)_v2$/ { n += $2 } END { print n + 0 }' "$1")
    join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$1" "$2" | awk -v blocking="$blocking" -v names="^cu($3)\$" '
        $1 == "cuStreamSynchronize" { $3 -= blocking }
        $3 > $2 && $1 !~ names { print "not ok a step calls " $1; bad = 1 } END { exit bad }' || failed=1
}
