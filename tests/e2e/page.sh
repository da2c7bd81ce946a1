#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The report page in a browser: everything is drawn and named, zoom and the dark scheme work, nothing is cut
# on a phone, nothing is requested from anywhere; and its numbers are those of the JSON and CSV reports.
# timeout: 240
. "$SRC/tests/helpers.sh"
TRACE=$SRC/tests/cli/report_json/mlp.trace
$CC -O2 -std=c11 -D_GNU_SOURCE -I"$SRC" -o maketrace "$SRC/tests/bench/maketrace.c" "$BUILD/libspilltest.a" || exit 1
./maketrace 240 8 24 middle.trace && ./maketrace 100000 60 100 long.trace || exit 1

# write NAME TRACE OPTION...: the page NAME.html, its report NAME.page, and what the JSON report says, NAME.json.
write() {
    name=$1 trace=$2
    shift 2
    "$SPILLWAY" report "$trace" -o "$name.html" "$@" 2>"$name.err"
    status=$?
    [ $status -eq "$wanted" ] || fail "$name: exit status $status"
    "$SPILLWAY" report "$trace" --format json "$@" 2>/dev/null | jq -S 'del(.ops, .buffers, .moves)' >"$name.json"
    sed -n '/<script type="application\/json" id="report">/,/<\/script>/p' "$name.html" | sed '1d;$d' | jq -S . >"$name.page"
    [ -s "$name.page" ] && cmp "$name.page" "$name.json" && echo "ok $name: the page's numbers are the JSON report's" ||
        fail "$name: numbers differ"
    report "$name.page" '.after == null or .after.peak_bytes == .plan.peak_bytes' >/dev/null || fail "$name: another peak drawn than planned"
    # Nothing outside is named by anything that could ask for it.
    ! grep -o -i -E '(src|href|action)="[^"]*"|url\([^)]*\)|@import[^;]*|(fetch|import|XMLHttpRequest|WebSocket|EventSource|sendBeacon)\(' "$name.html" |
        grep -v -x 'href="data:,"' && echo "ok $name: names nothing outside" || fail "$name: names something outside"
}
# shellcheck disable=SC2086 # a list
SIMGPU_MEM=44MiB SPILLWAY_STATS=stats.json "$SPILLWAY" run -q "$MLP" $FEW >/dev/null || fail "the run: exit status $?"
wanted=0
write mlp "$TRACE" --gpu-mem 30MiB --stats stats.json
report mlp.page '.achieved.devices[0].plans[0].replayed > 0' >/dev/null && echo "ok what a run achieved" || fail "nothing achieved"
write middle middle.trace --gpu-mem 1GiB --curve 6
write long long.trace --curve 0
wanted=1
write nofit "$TRACE" --gpu-mem 10MiB
grep -q 'no plan keeps within 10.0 MiB' nofit.err || fail "nofit: no word"
for n in mlp middle long; do
    report "$n.page" '.plan.fits and .plan.moves > 0 and .after.peak_bytes <= .budget.gpu_bytes' >/dev/null || fail "$n: no plan with moves"
done
"$SPILLWAY" report long.trace >long.text && fits long.text
size=$(wc -c <long.html)
[ "$(report long.page '[.trust.ops[].count] | add')" -eq 100000 ] && [ "$size" -lt 5000000 ] && echo "ok 100,000 operations: $size bytes" || fail "a page of $size bytes"
"$SPILLWAY" report "$TRACE" --format csv-moves --gpu-mem 30MiB |
    awk -F, 'NR > 1 { n++; sum += $5 } END { printf "[%d,%d]\n", n, sum }' >moves.csv
[ "$(cat moves.csv)" = "$(report mlp.page '[.plan.moves, .plan.in_bytes]' | tr -d ' \n')" ] && echo "ok the moves in CSV are the plan's" || fail "CSV: $(cat moves.csv)"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    echo "skip no chromium: the page was not opened"
    exit $failed
}
open_in() { # SCHEME PAGE OPTION...
    scheme=$1 page=$2
    shift 2
    # No sandbox: it is not to be had for root, and the page is our own.
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$PWD/profile" --enable-logging=stderr --v=0 \
        --allow-file-access-from-files --blink-settings=preferredColorScheme="$scheme" --window-size=1400,2400 \
        --virtual-time-budget=10000 "$@" "file://$PWD/$page"
}
browse() { open_in "$1" "$2" --dump-dom; } # the document as it is in the end
# What only the browser itself says, for want of a desktop, a bus and a graphics card, is not the page's.
console() { grep 'CONSOLE' "$1"; }

# See that the checks would see: a page that asks for things and complains.
{ sed '/<\/body>/,$d' mlp.html; echo '<img src="http://127.0.0.1:9/asked"><script>console.error("complained")</script></body></html>'; } >control.html
browse 1 control.html >control.dom 2>control.err || fail "the browser does not work: $(tail -n 1 control.err)"
console control.err | grep -q complained && console control.err | grep -q 'Content Security Policy' && echo "ok errors and requests would be seen" ||
    fail "errors or requests are not seen"

# No window of the browser is narrower than 500, so the page is looked at in a frame.
cat >frame.html <<'HTML'
<!DOCTYPE html><body style="margin:0"><iframe src="test.html" style="width:WIDTHpx;height:2400px;border:0"></iframe><script>
const wait = setInterval(() => {
  const found = frames[0].document.getElementById('selftest');
  if (found) { clearInterval(wait); document.body.append(found.cloneNode(true)); }
}, 50);
</script></body>
HTML
while read -r page wide scheme theme; do
    { sed '/<\/body>/,$d' "$page.html"; echo "<script>"; cat "$SRC/tests/e2e/page_selftest.js"; echo "</script></body></html>"; } >test.html
    sed "s/WIDTH/$wide/" frame.html >framed.html
    browse "$scheme" framed.html >dom 2>err </dev/null
    sed -n '/<pre id="selftest">/,/<\/pre>/p' dom | sed -n "s/^\(ok\|not ok\) /\1 $page $wide $theme: /p" >found
    cat found
    grep -q '^ok ' found || fail "$page at $wide: the page did not come to its end: $(tail -n 2 err)"
    ! grep -q '^not ok' found || failed=1
    grep -q "facts {\"width\":$wide,\"theme\":\"$theme\"" dom || fail "$page: not at width $wide in the $theme scheme"
    ! console err || fail "$page at $wide: the console has messages"
done <<LIST
mlp 1280 1 light
mlp 400 0 dark
middle 1280 0 dark
middle 400 1 light
long 1280 1 light
nofit 400 1 light
LIST

# On paper: every section and the tables' last rows, no heading parted from what it heads, no word of ours broken.
command -v pdftotext >/dev/null || {
    echo "skip no pdftotext: the printed page was not read"
    exit $failed
}
for name in mlp long; do
    open_in 0 $name.html --no-pdf-header-footer --print-to-pdf=$name.pdf 2>err || fail "$name: not printed: $(tail -n 1 err)"
    pdftotext -layout $name.pdf $name.paper
    sed -n 's/^ *<h[23][^>]*>\(.*\)<\/h[23]>$/\1/p' "$SRC/tools/page/body.html" >headings
    [ $name = mlp ] || sed -i '/^Planned and achieved$/d' headings
    while read -r heading; do
        grep -q "^[[:space:]]*${heading}[[:space:]]*$" $name.paper || fail "$name: '$heading' is not on paper"
    done <headings
    # The last line of each sheet.
    awk 'BEGIN { RS = "\f" } { n = split($0, line, "\n"); while (n > 0 && line[n] !~ /[^ ]/) n--; sub(/^ */, "", line[n]); print line[n] }' \
        $name.paper >ends
    [ "$(wc -l <ends)" -gt 2 ] && ! grep -F -x -f headings ends && echo "ok $name on $(grep -c . ends) sheets of paper" ||
        fail "$name: on paper, parted from what it heads"
    [ "$(grep -c -w moved $name.paper)" -gt 5 ] || fail "$name: words are broken on paper"
    grep -q "to trust this" $name.paper && grep -q "of buffers below one page stay" $name.paper || fail "$name: the end is missing"
done
exit $failed
