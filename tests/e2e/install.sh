#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installed, then moved to a folder with a space in its name, the command still finds its library; an
# ordinary user can do that at home; what was installed goes again.
. "$SRC/tests/helpers.sh"
make_() { make -s -C "$SRC" O="$BUILD" "$@" >log 2>&1 || { cat log; fail "make $*"; }; }
make_ install DESTDIR="$PWD/stage" PREFIX=/opt/s
(cd stage && find . -type f | sort)
mv stage/opt/s "my spillway"
"my spillway/bin/spillway" run --no-driver-check cat /proc/self/maps | grep -q 'my spillway/lib/spillway/libspillway.so' &&
    echo "ok found after a move" || fail "library not loaded"
run_ample
SIMGPU_MEM=$(share 50) "my spillway/bin/spillway" run -q "$MLP" $FEW >out || fail "exit status $?"
same "installed" out
if command -v man >/dev/null; then
    man -l "my spillway/share/man/man1/spillway-doctor.1" | grep -q 'spillway doctor -- python3' && echo "ok manual" || fail "no manual"
fi
mv "my spillway" stage/opt/s
make_ uninstall DESTDIR="$PWD/stage" PREFIX=/opt/s
[ -z "$(find stage -type f -o -type d -name '*spillway*')" ] && echo "ok uninstall" ||
    fail "uninstall leaves $(find stage -type f -o -type d -name '*spillway*')"

# As somebody without any rights, under $HOME/.local.
if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid 65534 --clear-groups test -r "$BUILD/spillway"; then
    echo "skip another user: not root, or the build folder is private"
    exit $failed
fi
mkdir home
chown 65534 home
user() { setpriv --reuid 65534 --clear-groups env HOME="$PWD/home" "$@"; }
user make -s -C "$SRC" O="$BUILD" install PREFIX="$PWD/home/.local" >log 2>&1 || { cat log; fail "install as a user"; }
SIMGPU_MEM=$(share 50) user home/.local/bin/spillway run -q "$MLP" $FEW >out || fail "as a user: exit status $?"
same "as a user" out
user make -s -C "$SRC" O="$BUILD" uninstall PREFIX="$PWD/home/.local" >log 2>&1 || { cat log; fail "uninstall as a user"; }
[ -z "$(find home -type f)" ] && echo "ok uninstalled by a user" || fail "uninstall leaves $(find home -type f)"
exit $failed
