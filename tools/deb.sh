#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A Debian package of the source archive: deb.sh VERSION ARCHIVE BUILD-FOLDER. Leaves it in BUILD-FOLDER.
set -eu
version=$1 archive=$2 build=$(cd "$3" && pwd)
command -v dpkg-buildpackage >/dev/null && [ -e /usr/share/perl5/Debian/Debhelper ] || {
    echo "spillway: a package needs more of Debian: apt-get install dpkg-dev debhelper" >&2
    exit 1
}
work=$build/deb
rm -rf "$work"
mkdir -p "$work"
rm -f "$build"/spillway_*
tar -xzf "$archive" -C "$work"
cd "$work/spillway-$version"
cp -R tools/debian debian
packaged=$(dpkg-parsechangelog -S Version)
[ "${packaged%-*}" = "$version" ] || {
    echo "spillway: tools/debian/changelog is not of version $version" >&2
    exit 1
}
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS:-}" CUDA_HOME=$(dirname "${CUDA_INCLUDE:-/usr/include}") dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
}
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$build/"
rm -rf "$work"
ls "$build/spillway_$packaged"_*.deb
