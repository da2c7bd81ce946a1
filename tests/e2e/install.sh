#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installed, then moved to a folder with a space in its name, the command still finds its library.
. "$SRC/tests/helpers.sh"
make -s -C "$SRC" O="$BUILD" install DESTDIR="$PWD/stage" PREFIX=/opt/s >/dev/null || fail install
find stage -type f | sort
mv stage/opt/s "my spillway"
"my spillway/bin/spillway" run --no-driver-check cat /proc/self/maps | grep -q 'my spillway/lib/spillway/libspillway.so' &&
    echo "ok found after a move" || fail "library not loaded"
run_ample
SIMGPU_MEM=$(share 50) "my spillway/bin/spillway" run -q "$MLP" $FEW >out || fail "exit status $?"
same "installed" out
mv "my spillway" stage/opt/s
make -s -C "$SRC" O="$BUILD" uninstall DESTDIR="$PWD/stage" PREFIX=/opt/s >/dev/null || fail uninstall
[ -z "$(find stage -type f)" ] && echo "ok uninstall" || fail "uninstall leaves $(find stage -type f)"
exit $failed
