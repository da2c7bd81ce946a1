#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks of one job, as torchrun starts them: each has its own trace and its share of host memory.
. "$SRC/tests/helpers.sh"
DATA="--data $SRC/tests/data/digits.csv"
FEW="--steps 5 $DATA"
cat >torchrun <<'S'
#!/bin/sh
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=$SHARE "$@" >out.$rank || exit
done
S
chmod +x torchrun
traces() { ls -- *.trace 2>/dev/null | tr '\n' ' '; }

SHARE=2 "$SPILLWAY" profile -o x.trace ./torchrun "$MLP" $FEW 2>err || fail "exit status $?"
[ "$(traces)" = "x.0.trace x.1.trace " ] && echo "ok a fixed name" || fail "traces: $(traces)"
[ "$(grep -c '^spillway: trace written to .*/x\.[01]\.trace$' err)" -eq 2 ] || { cat err; fail "not both are named"; }
[ "$(grep -c '^  iterations ' err)" -eq 1 ] || fail "not one summary"
cmp out.0 out.1 || fail "losses differ"
rm -- *.trace
SHARE=2 "$SPILLWAY" profile -q -o '%q{SHARE}.%h.%r.trace' ./torchrun "$MLP" $FEW || fail "exit status $?"
host=$(uname -n)
[ "$(traces)" = "2.$host.0.trace 2.$host.1.trace " ] && echo "ok a pattern" || fail "traces: $(traces)"
rm -- *.trace
RANK=1 WORLD_SIZE=2 "$SPILLWAY" profile -q "$MLP" $FEW >out || fail "exit status $?"
case $(traces) in
spillway.mlp.1.*.trace\ ) echo "ok the default" ;;
*) fail "traces: $(traces)" ;;
esac

# Half the host memory for each of two. Other programs' use of it changes meanwhile: a tenth, surely.
mib() {
    awk '/budgets:/ { if ($9 == "GiB") print int($8 * 1024); else print int($8); exit }' "$1"
}
for share in 1 2; do
    SHARE=$share "$SPILLWAY" run -v ./torchrun "$MLP" --steps 1 $DATA 2>err.$share || fail "exit status $?"
done
one=$(mib err.1) two=$(mib err.2)
[ "$two" -gt $((one * 4 / 10)) ] && [ "$two" -lt $((one * 6 / 10)) ] && echo "ok shares" ||
    { grep budgets err.1 err.2; fail "shares: '$one' and '$two' MiB"; }
exit $failed
