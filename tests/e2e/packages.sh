#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# The source archive: the same bytes each time, complete, and the library the same wherever it is built.
# The Debian package, built from it, without an error of lintian's, runs when unpacked anywhere.
. "$SRC/tests/helpers.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
# Unoptimised: what is tested is the packing.
make_() { make -s -C "$SRC" O="$PWD/o" CFLAGS=-O0 "$@" >log 2>&1 || { tail -n 20 log; fail "make $*"; exit 1; }; }
make_ dist
mv o/spillway-*.tar.gz first
make_ dist
cmp first o/spillway-*.tar.gz && echo "ok archive is reproducible" || fail "two archives differ"
listed=$(tar -tvzf first | awk '{ print $2 }' | sort -u)
[ "$listed" = 0/0 ] || fail "owners in the archive: $listed"
make_ -j2 "$PWD/o/libspillway.so"
make_ distcheck
grep -q 'is complete$' log && echo "ok distcheck" || { cat log; fail distcheck; }
# It can fail: an archive that lacks a file does not build.
tar -xzf first && version=$(ls -d spillway-* | sed 's/^spillway-//')
rm "spillway-$version/preload/base/status.h"
"spillway-$version/tools/dist.sh" "$version" "$PWD/lacking.tar.gz" "$PWD/o" >/dev/null
"$SRC/tools/distcheck.sh" "$version" lacking.tar.gz o >log 2>&1 && fail "an incomplete archive passes"
grep -q 'status.h: No such file' log && echo "ok incomplete" || { cat log; fail "incomplete archive"; }
rm -rf spillway-* lacking.tar.gz

command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || {
    echo "skip no dpkg-dev or debhelper"
    exit $failed
}
DEB_BUILD_OPTIONS=noopt make_ deb
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error o/spillway_*.changes >lint 2>&1 && echo "ok lintian" ||
        { cat lint; fail lintian; }
else
    echo "skip no lintian"
fi
dpkg-deb -x o/spillway_*.deb "un packed"
"un packed/usr/bin/spillway" run --no-driver-check cat /proc/self/maps | grep -q 'un packed/usr/lib/spillway/libspillway.so' &&
    echo "ok package" || fail "the unpacked package does not run"
exit $failed
