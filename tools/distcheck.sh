#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Is the source archive complete? distcheck.sh VERSION ARCHIVE BUILD-FOLDER unpacks it, builds from it, runs
# the tests that need no GPU and no compiler for one, installs, and takes it away again. It must pack
# itself, too, and the library must not depend on where it was built.
set -eu
version=$1 build=$(cd "$3" && pwd)
archive=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$build/distcheck
rm -rf "$work"
mkdir -p "$work"
tar -xzf "$archive" -C "$work"
cd "$work/spillway-$version"
fail() {
    echo "spillway: distcheck: $*" >&2
    exit 1
}
run() {
    "$@" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "failed: $*"; }
}
make_() { run ${MAKE:-make} O=built CC="${CC:-cc}" CFLAGS="${CFLAGS:--O2 -g}" "$@"; }
make_ O=again dist # before anything else is there to be packed
cmp "again/spillway-$version.tar.gz" "$archive" || fail "the archive packs itself otherwise"
make_ -j "$(nproc)" package
BUILD=$PWD/built run tests/run.sh 'cli/help*' cli/version 'cli/check*' cli/dump cli/report_text cli/status_is_the_programs \
    structure/exports structure/needed structure/includes
tail -n 1 "$work/log"
make_ install PREFIX=/opt/s DESTDIR="$work/stage"
"$work/stage/opt/s/bin/spillway" --version
make_ uninstall PREFIX=/opt/s DESTDIR="$work/stage"
left=$(find "$work/stage" -type f)
[ -z "$left" ] || fail "uninstall leaves $left"
[ ! -f "$build/libspillway.so" ] || cmp "$build/libspillway.so" built/libspillway.so ||
    fail "the library is not the same when it is built elsewhere"
rm -rf "$work"
echo "spillway: distcheck: $archive is complete"
