#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A manual page for each command, with every option that its --help has and no other, and for commands that
# start a program every setting of config.def; all of them readable without a complaint.
PATH=$BUILD:$PATH
failed=0
make -s -C "$SRC" O="$BUILD" man >/dev/null || exit 1
commands=$(spillway --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p')
pages=$(cd "$BUILD/man" && ls -- *.1 | sort)
wanted=$({ echo spillway.1; for command in $commands; do echo "spillway-$command.1"; done; } | sort)
[ "$pages" = "$wanted" ] && echo "ok a page a command" || { echo "not ok pages: $(echo $pages)"; failed=1; }

plain() { sed 's/\\f[BIR]//g; s/\\-/-/g; s/\\e/\\/g; s/\\&//g' "$1"; }
sed -n 's/^SPILL_CONFIG([^,]*, "\([A-Z_]*\)".*/\1/p' "$SRC/preload/base/config.def" | sort >settings
# Terms of a page's lists: the line after each .TP.
terms() { plain "$1" | awk 'term { print; term = 0 } /^\.TP$/ { term = 1 }'; }
differ() { # COMMAND PAGE: the options of both, and the settings
    spillway $1 --help | sed -n 's/^ \{2,8\}\(-.*\)/\1/p' | sed 's/   .*//; s/  .*//' | sort >helped
    terms "$2" | grep '^-' | sort | diff helped - || return 0
    case $1 in
    run | profile) terms "$2" | grep '^SPILLWAY_' | sort | diff settings - || return 0 ;;
    esac
    return 1
}
for command in '' $commands; do
    page=$BUILD/man/spillway${command:+-$command}.1
    ! differ "$command" "$page" || { echo "not ok $page differs from --help"; failed=1; }
    [ "$(grep -c '^\.SH' "$page")" -ge 6 ] || { echo "not ok $page lacks sections"; failed=1; }
    for heading in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' 'SEE ALSO'; do
        grep -qx "\.SH $heading" "$page" || { echo "not ok $page: no $heading"; failed=1; }
    done
done
[ $failed -ne 0 ] || echo "ok options and settings"
grep -v 'no..recipe' "$BUILD/man/spillway-run.1" >changed.1
differ run changed.1 >/dev/null && echo "ok a lost option is noticed" || { echo "not ok a lost option is not noticed"; failed=1; }
grep -v '^SPILLWAY_PIN$' "$BUILD/man/spillway-run.1" | sed '/SPILLWAY_PIN/d' >changed.1
differ run changed.1 >/dev/null && echo "ok a lost setting is noticed" || { echo "not ok a lost setting is not noticed"; failed=1; }

if command -v mandoc >/dev/null; then
    # It has a date only once there is a release.
    mandoc -T lint -W warning "$BUILD"/man/*.1 | grep -v 'missing date' && failed=1
    [ $failed -ne 0 ] || echo "ok mandoc"
elif command -v man >/dev/null; then
    for page in "$BUILD"/man/*.1; do
        man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null | grep . && failed=1
    done
    [ $failed -ne 0 ] || echo "ok man"
else
    echo "skip no mandoc, no man"
fi
exit $failed
