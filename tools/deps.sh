#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the build and the tests lack. Says nothing when all are there.
# Without the right to install, prints the one command that would, and fails. With --browser, only the
# browser that the report page's test opens: it is large, and without it that test is skipped, so no failure.
set -u
must=1

wanted=
has_header() {
    for dir in /usr/include /usr/include/*-linux-gnu /usr/local/include; do
        [ -e "$dir/$1" ] && return 0
    done
    return 1
}
header() { has_header "$1" || wanted="$wanted $2"; }
command_() { command -v "$1" >/dev/null 2>&1 || wanted="$wanted $2"; }

command_ "${CC:-cc}" gcc
command_ gcc gcc
header stdlib.h libc6-dev
command_ make make
command_ clang++ clang
command_ jq jq
command_ cbc coinor-cbc
command_ python3 python3
# Another Python than Debian's has packages of its own.
[ "$(command -v python3)" != /usr/bin/python3 ] || python3 -c 'import jsonschema' 2>/dev/null || wanted="$wanted python3-jsonschema"
header uthash.h uthash-dev
header elfutils/libdw.h libdw-dev
header ffi.h libffi-dev
header cmocka.h libcmocka-dev
# Opened at run time if it is there: names the places that allocate.
[ -n "$(find /lib /usr/lib -name 'libunwind.so.8' 2>/dev/null | head -n 1)" ] ||
    wanted="$wanted libunwind8"

# libFuzzer and the sanitizers of clang.
[ -n "$(find /usr/lib/llvm-*/lib/clang -name 'libclang_rt.fuzzer-*.a' 2>/dev/null | head -n 1)" ] ||
    wanted="$wanted libclang-rt-dev"

if [ "${1:-}" = --browser ]; then
    must=0 wanted=
    command_ chromium chromium
    command_ pdftotext poppler-utils
fi

wanted=$(printf '%s\n' $wanted | sort -u | tr '\n' ' ' | sed 's/ $//')
[ -n "$wanted" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "spillway: missing here; on Debian the packages are: $wanted" >&2
    exit $must
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "spillway: packages are missing; as root run: apt-get install -y $wanted" >&2
    exit $must
fi
echo "spillway: installing $wanted"
log=$(mktemp)
for attempt in 1 2; do
    # The lists may be absent or old on a fresh machine: refresh them only when the first try fails.
    [ $attempt -eq 1 ] || $as_root apt-get update >>"$log" 2>&1
    # shellcheck disable=SC2086
    if $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        $wanted >>"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
done
tail -n 5 "$log" >&2
rm -f "$log"
echo "spillway: that did not work; as root run: apt-get update && apt-get install -y $wanted" >&2
exit $must
