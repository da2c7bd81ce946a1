# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by run: seeds, races, determinism, injection, reports. Uses $out, compile, json, ok, bad.

# A forgotten wait gives wrong data under some of 20 seeds, the complete program never under 200.
wrong_seeds() { # program, seeds
    wrong=0 seed=0
    while [ $seed -lt "$2" ]; do
        seed=$((seed + 1))
        SIMGPU_SEED=$seed "$out/$1" >/dev/null 2>&1 || wrong=$((wrong + 1))
    done
    echo $wrong
}
if compile race0 race.cu -DFORGET=0; then
    n=$(wrong_seeds race0 200)
    if [ "$n" = 0 ]; then ok race/complete; else bad race/complete "wrong under $n of 200 seeds"; fi
fi
for forget in 1 2 3 4 5; do
    compile race$forget race.cu -DFORGET=$forget || continue
    n=$(wrong_seeds race$forget 20)
    if [ "$n" -gt 0 ]; then ok race/forgotten_$forget; else bad race/forgotten_$forget "right under all 20 seeds"; fi
done
# The same by SIMGPU_DROP_WAIT: the complete program has 4 waits in its first two steps that matter.
for drop in 1 2 3; do
    wrong=0
    for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        SIMGPU_DROP_WAIT=$drop SIMGPU_SEED=$seed "$out/race0" >/dev/null 2>&1 || wrong=1
    done
    if [ $wrong = 1 ]; then ok race/dropped_$drop; else bad race/dropped_$drop "no seed shows it"; fi
done

# One seed, one virtual time; to the nanosecond.
for i in 1 2; do SIMGPU_SEED=7 SIMGPU_REPORT=$out/time$i.json "$out/race0" >/dev/null; done
if cmp -s "$out/time1.json" "$out/time2.json"; then ok report/deterministic; else bad report/deterministic "two runs differ"; fi
if [ "$(json "$out/time1.json" stream_waits)" = 14 ]; then ok report/stream_waits; else
    bad report/stream_waits "$(json "$out/time1.json" stream_waits), not 14"
fi
n=$(json "$out/time1.json" bytes_dtoh)
if [ "$n" = 16000 ]; then ok report/bytes; else bad report/bytes "$n, not 16000"; fi

SIMGPU_MARK=cuEventRecord SIMGPU_REPORT=$out/mark.json "$out/race0" >/dev/null
n=$(grep -c '"memory_management_calls"' "$out/mark.json")
if [ "$n" = 12 ]; then ok report/marks; else bad report/marks "$n marks, not 12"; fi

# Injected faults reach the program, with the chosen code, at the chosen call.
if compile inject inject.cu; then
    try() { # name, SIMGPU_FAIL, wanted output
        got=$(SIMGPU_FAIL=$2 "$out/inject" 2>&1 | tr '\n' ' ')
        if [ "$got" = "$3" ]; then ok "inject/$1"; else bad "inject/$1" "$got"; fi
    }
    try none '' '0 0 0 0 0 '
    try second_malloc cuMemAlloc_v2:2 '0 2 0 0 0 '
    try every_register 'cuMemHostRegister_v2:*' '0 0 0 2 2 '
    try code cuMemAlloc_v2:1=ILLEGAL_ADDRESS '700 0 0 0 0 '
    try two 'cuMemAlloc_v2:3,cuMemHostRegister_v2:1=NOT_PERMITTED' '0 0 2 800 0 '
    got=$(SIMGPU_FAIL=cuMemNonsense:1 "$out/inject" 2>&1 | head -1)
    case $got in simgpu:*cuMemNonsense*) ok inject/unknown_name ;; *) bad inject/unknown_name "$got" ;; esac
fi

# Capacity is exact to the page.
if compile capacity capacity.cu; then
    for mem in 2MiB 64MiB 102MiB 1GiB; do
        n=$(SIMGPU_MEM=$mem "$out/capacity" 2>&1)
        case $mem in 2MiB) want=1 ;; 64MiB) want=32 ;; 102MiB) want=51 ;; 1GiB) want=512 ;; esac
        if [ "$n" = $want ]; then ok "capacity/$mem"; else bad "capacity/$mem" "$n pages, not $want"; fi
    done
fi

# Forty thousand pages, mapped one by one, in and out of order.
if compile pages pages.cu; then
    for order in ascending scattered; do
        got=$(SIMGPU_MEM=90GiB "$out/pages" $order 40000 2>&1 | tail -1)
        if [ "$got" = fine ]; then ok "pages/$order"; else bad "pages/$order" "$got"; fi
    done
fi

# The API table, the exports and the README agree.
if nm -D --defined-only "$sim/libcuda.so.1" | awk '$2 == "T" {print $3}' | sort >"$out/exports.txt" &&
    ! grep -v '^cu[A-Z]' "$out/exports.txt" >"$out/strays.txt"; then ok exports/only_cu; else
    bad exports/only_cu "$(head -1 "$out/strays.txt")"
fi
if "$here/../../tools/simgpu/coverage" --check; then ok readme/coverage; else bad readme/coverage "run tools/simgpu/coverage --update"; fi

# Threads, streams, devices.
if compile threads threads.cu; then
    for devices in 1 2; do
        got=$(SIMGPU_MEM=64MiB SIMGPU_DEVICES=$devices "$out/threads" 2>&1)
        if [ "$got" = '2000 4000 peers' ]; then ok "threads/$devices"; else bad "threads/$devices" "$got"; fi
    done
fi

# The race check names both operations, finds each forgotten wait whatever the order, and is quiet otherwise.
# That the allocation is waited for by whoever uses it, and the use by the free, counts like any other order; where
# the free was first, the use faults.
for forget in 0 1 2; do compile pool_race$forget pool_race.cu -DFORGET=$forget; done
for program in race0 race1 race2 race3 race4 pool_race0 pool_race1 pool_race2; do
    [ -x "$out/$program" ] || continue
    SIMGPU_RACES=fatal "$out/$program" >/dev/null 2>"$out/race.err"
    status=$?
    if [ "${program##*race}" = 0 ]; then
        if [ $status = 0 ] && [ ! -s "$out/race.err" ]; then ok races/quiet_$program; else bad races/quiet_$program "$(head -1 "$out/race.err")"; fi
    elif { [ $status = 86 ] && grep -q 'race: .*stream.* and .*stream.*unordered' "$out/race.err"; } ||
        { [ $program = pool_race2 ] && [ $status = 1 ] && grep -q 'touched .* not mapped' "$out/race.err"; }; then
        ok races/forgotten_$program
    else
        bad races/forgotten_$program "status $status"
    fi
done

# Time: what the model says, from the outside.
if compile clock clock.cu; then
    "$out/clock" 2>&1 | while read -r name got low high; do
        if awk "BEGIN { exit !($got >= $low && $got <= $high) }"; then ok "clock/$name"; else
            bad "clock/$name" "$got is not in $low..$high"
        fi
    done
    plain=$("$out/clock" | awk '$1 == "both_directions" {print $2}')
    half=$(SIMGPU_DUPLEX=0.5 "$out/clock" | awk '$1 == "both_directions" {print $2}')
    if awk "BEGIN { exit !($half > 1.4 * $plain) }"; then ok clock/duplex; else bad clock/duplex "$plain, $half"; fi
    echo 'busy 10' >"$out/costs.txt"
    plain=$("$out/clock" | awk '$1 == "kernel" {print $2}')
    slow=$(SIMGPU_COSTS=$out/costs.txt "$out/clock" | awk '$1 == "kernel" {print $2}')
    if awk "BEGIN { exit !($slow > 5 * $plain) }"; then ok clock/costs; else bad clock/costs "$plain, $slow"; fi
    # A slow copy, or a window of them; nothing else gets slower.
    slow() { # name, SIMGPU_SLOW, row of clock, least, most
        n=$(SIMGPU_SLOW=$2 "$out/clock" 2>&1 | awk -v row="$3" '$1 == row {print $2}')
        if awk "BEGIN { exit !($n >= $4 && $n <= $5) }"; then ok "slow/$1"; else bad "slow/$1" "$n"; fi
    }
    slow the_first_copy cuMemcpyHtoDAsync_v2:1=10ms pinned_copy 11050 11060
    slow not_the_next cuMemcpyHtoDAsync_v2:1=10ms one_direction_twice 2100 2125
    slow a_window cuMemcpyHtoDAsync_v2:3-4=500us one_direction_twice 3100 3125
    slow every_copy_back 'cuMemcpyDtoHAsync_v2:*=0.02s' both_directions 21050 21075
    slow a_kernel 'cuLaunchKernel:3=1ms' kernel 1064 1072
    got=$(SIMGPU_SLOW=cuMemcpyHtoDAsync_v2:1=soon "$out/clock" 2>&1 >/dev/null | head -1)
    case $got in simgpu:*SIMGPU_SLOW*time*) ok slow/no_time ;; *) bad slow/no_time "$got" ;; esac
    # A device that changes: from a moment on, one engine, or both links.
    drift() { # name, SIMGPU_DRIFT, row of clock, least, most
        n=$(SIMGPU_DRIFT=$2 "$out/clock" 2>&1 | awk -v row="$3" '$1 == row {print $2}')
        if awk "BEGIN { exit !($n >= $4 && $n <= $5) }"; then ok "drift/$1"; else bad "drift/$1" "$n"; fi
    }
    drift links_from_the_start 0ns:links=2 pinned_copy 2100 2120
    drift not_yet 10s:links=2 pinned_copy 1050 1060
    drift one_link 0ns:htod=2 both_directions 2100 2125
    drift kernels 0ns:kernels=2 kernel 130 140
    drift several 0ns:htod=2,0ns:links=2 one_direction_twice 8400 8500
    got=$(SIMGPU_DRIFT=5ms:bus=2 "$out/clock" 2>&1 >/dev/null | head -1)
    case $got in simgpu:*SIMGPU_DRIFT*links*) ok drift/no_engine ;; *) bad drift/no_engine "$got" ;; esac
    SIMGPU_TIMELINE=$out/timeline.json "$out/clock" >/dev/null
    n=$(grep -c '"ph":"X"' "$out/timeline.json")
    if [ "$n" -ge 5 ] && [ "$(tail -1 "$out/timeline.json")" = ']}' ]; then ok clock/timeline; else bad clock/timeline "$n"; fi
fi

# Capacity that shrinks while the program runs.
got=$(SIMGPU_MEM=64MiB SIMGPU_SHRINK=10:18MiB "$out/capacity" 2>&1)
if [ "$got" = 9 ]; then ok shrink/at_the_tenth_call; else bad shrink/at_the_tenth_call "$got"; fi

# A function that is not served says so.
if ! compile unserved unserved.cu; then :; elif [ "$("$out/unserved" 2>&1 | tr '\n' ' ')" = 'simgpu: cuTexObjectDestroy is not served by the simulated GPU 801 801 ' ]; then
    ok unserved/names_itself_once
else
    bad unserved/names_itself_once "$("$out/unserved" 2>&1 | head -1)"
fi

# Quick enough that tests stay quick. The limit is a third of what an idle machine of two cores does.
if compile speed speed.cu; then
    n=$("$out/speed" | awk '$1 == "launches_per_second" {print $2}')
    if [ "$n" -ge 300000 ]; then ok "speed/launches"; else bad "speed/launches" "$n a second, not 300000"; fi
fi
