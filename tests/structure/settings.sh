#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the user is told of settings is what config.def says: README's table and --help word for word,
# manual pages by name; and no text names a setting that is not there.
def=$SRC/preload/base/config.def
failed=0
# NAME|DEFAULT with its unit|DOC
sed -n 's/^SPILL_CONFIG([^,]*, "\([^"]*\)", [a-z]*, "\([^"]*\)", "\([^"]*\)", "\(.*\)")$/\1|\2 \3|\4/p' "$def" |
    sed 's/ *|/|/g' >rows
grep -c '^SPILL_CONFIG(' "$def" | grep -qx "$(wc -l <rows)" || { echo "not ok a row of config.def is not of the form"; failed=1; }
cut -d'|' -f1 rows | sort >names

# WHERE: names in it that are no setting, but for one that stands for any.
strangers() { grep -oh 'SPILLWAY_[A-Z_]*[A-Z]' "$@" | sort -u | comm -13 names -; }

table() { # README
    sed -n 's/^| `\(SPILLWAY_[A-Z_]*\)` | [^|]*| \([^|]*\)| \(.*\) |$/\1|\2|\3/p' "$1" | sed 's/ *|/|/g' >told
    diff rows told && [ -z "$(strangers "$1")" ]
}
table "$SRC/README.md" && echo "ok README" || { echo "not ok README differs from config.def"; failed=1; }
sed 's/| 1000 ms |/| 100 ms |/' "$SRC/README.md" >changed.md
table changed.md >/dev/null && { echo "not ok a wrong default in README is not noticed"; failed=1; }

# --help, without its line breaks.
for command in run profile; do
    "$BUILD/spillway" $command --help | tr -s ' \n' ' ' >help
    while IFS='|' read -r name default doc; do
        text="$name $doc"
        [ -z "$default" ] || text="$text (default: $default)"
        grep -qF "$text" help || { echo "not ok spillway $command --help: not found: $text"; failed=1; }
    done <rows
done
[ $failed -ne 0 ] || echo "ok --help"

# Manual pages, where there are any: together they name every setting.
pages=$(find "$SRC/tools" -name '*.[1-8]' -o -name '*.[1-8].in')
if [ -n "$pages" ]; then
    # shellcheck disable=SC2086 # a list
    sed 's/\\-/-/g; s/\\_/_/g' $pages | grep -o 'SPILLWAY_[A-Z_]*[A-Z]' | sort -u | diff names - &&
        echo "ok manual pages" || { echo "not ok manual pages differ from config.def"; failed=1; }
fi
exit $failed
