#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A long run holds no more than a short one: the same driver objects, the same pinned memory, the same
# resident set to a few pages of noise. An evaluation now and then takes the plan out of force and back.
. "$SRC/tests/helpers.sh"
STEPS="$BUILD/tests/victims/steps --eval 90"

# run STEPS: leaves NAME.json, and the largest resident set of the process in rss.
run() {
    SIMGPU_MEM=44MiB SIMGPU_REPORT=$1.json "$SPILLWAY" run -q $STEPS --steps "$1" >$1.out &
    pid=$!
    rss=0
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status 2>/dev/null) && [ -n "$now" ]; do
        rss=$now
        sleep 0.1
    done
    wait $pid || fail "$1 steps: exit status $?"
}
run 200
short=$rss
run 2000
echo "# resident: $short kB after 200 steps, $rss kB after 2000"
[ "$short" -gt 0 ] && [ "$rss" -le $((short + 8192)) ] || fail "it grew by $((rss - short)) kB"
for what in cuEventCreate cuStreamCreate cuMemCreate cuMemAddressReserve; do
    few=$(report 200.json ".calls.$what") many=$(report 2000.json ".calls.$what")
    [ "$few" -eq "$many" ] || fail "$what: $few calls in 200 steps, $many in 2000"
done
[ "$(report 200.json .peak_pinned_bytes)" -eq "$(report 2000.json .peak_pinned_bytes)" ] || fail "pinned memory grew"
[ "$(report 200.json .peak_physical_bytes)" -eq "$(report 2000.json .peak_physical_bytes)" ] || fail "frames grew"
exit $failed
