#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs are often started by scripts: the library goes along, says nothing in the shell, and the trace
# of the process that did the work is found.
. "$SRC/tests/helpers.sh"
run_ample
cat >wrapper <<'W'
#!/bin/sh
: do not exec
"$@"
status=$?
exit $status
W
chmod +x wrapper
SIMGPU_MEM=$(share 50) "$SPILLWAY" run ./wrapper "$MLP" $FEW >out 2>err || fail "exit status $?"
cat err
same "by a script" out
"$SPILLWAY" profile ./wrapper "$MLP" $FEW >out 2>err || fail "profile: exit status $?"
cat err
same "profile by a script" out
grep -q 'longest idle' err || fail "no summary"
exit $failed
