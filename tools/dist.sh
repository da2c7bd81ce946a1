#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs this source tree: dist.sh VERSION ARCHIVE BUILD-FOLDER. The same tree of the same commit gives the
# same bytes on any machine: files sorted, owned by nobody in particular, dated as the commit
# (SOURCE_DATE_EPOCH wins; in an unpacked archive, as that was).
set -eu
version=$1 archive=$2
mkdir -p "$(dirname "$archive")" "$3"
build=$(cd "$3" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
list=$(mktemp)
trap 'rm -f "$list" "$list.tar"' EXIT
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$top" ]; then
    git ls-files | while read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done >"$list"
    date=$(git log -1 --format=%ct)
else
    find . -path "./${build#"$top"/}" -prune -o -type f -print | sed 's|^\./||' >"$list"
    date=$(stat -c %Y Makefile)
fi
case $archive in
/*) ;;
*) archive=$OLDPWD/$archive ;;
esac
LC_ALL=C sort -o "$list" "$list"
tar --create --file "$list.tar" --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="@${SOURCE_DATE_EPOCH:-$date}" --transform="s|^|spillway-$version/|" --files-from "$list"
gzip -9 -n <"$list.tar" >"$archive.tmp"
mv "$archive.tmp" "$archive"
echo "spillway: $(wc -l <"$list") files in $archive"
