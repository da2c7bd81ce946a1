#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion in bash and zsh offers the commands, each command's options as --help has them, and the
# values of options; after the program's name all is the program's.
PATH=$BUILD:$PATH
failed=0
cat >ask.bash <<'B'
source "$SRC/tools/completion/spillway.bash"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_spillway spillway
printf '%s\n' "${COMPREPLY[@]}" | sort -u
B
# The functions of zsh's completion system, as far as the script calls them: what is offered is printed.
cat >ask.zsh <<'Z'
compadd() { [[ $1 == -- ]] && shift; print -rC1 -- "${(@M)@:#${words[CURRENT]##*=}*}" }
_describe() { compadd -- "${(@)${(@P)2}%%:*}" }
compset() { [[ $words[CURRENT] == *=* ]] }
_files() { print FILES }
_normal() { print "PROGRAM $words[*]" }
words=("$@")
CURRENT=$#
ask() { source $SRC/tools/completion/_spillway }
ask | sort -u
Z
shells=bash
command -v zsh >/dev/null && shells="bash zsh"
command -v bash >/dev/null || { echo "skip no bash"; exit 77; }
ask() { # SHELL WORD...
    shell=$1
    shift
    if [ "$shell" = zsh ]; then zsh -f ask.zsh "$@"; else bash --norc ask.bash "$@"; fi
}
# What COMMAND's --help names.
options() { spillway $1 --help | grep -o '^ \{2,6\}\(-[a-z], \)\?--[a-z-]*' | grep -o -e '--.*' | sort; }
commands=$(spillway --help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort)
[ "$(echo "$commands" | wc -l)" -ge 9 ] || { echo "not ok commands: $commands"; exit 1; }
expect() { # WANTED SHELL WORD...
    wanted=$1
    shift
    got=$(ask "$@")
    [ "$got" = "$wanted" ] || { printf 'not ok %s\n  instead of: %s\n  it offers:  %s\n' "$*" "$(echo $wanted)" "$(echo $got)"; failed=1; }
}
for shell in $shells; do
    expect "$(printf '%s\n' --help --version $commands | sort)" $shell spillway ''
    expect diff $shell spillway di
    for command in $commands; do
        expect "$(options "$command")" $shell spillway "$command" --
    done
    expect "$(printf 'csv\ncsv-moves\ncsv-ops\n')" $shell spillway report x.trace --format c
    expect "$(printf 'json\ntext\n')" $shell spillway check --format ''
    expect "$(printf 'off\noffload\nprofile\n')" $shell spillway run --mode ''
    expect meta $shell spillway dump --only m
    expect g10 $shell spillway plan --method g1
    expect '' $shell spillway run --gpu-mem ''
    [ $failed -ne 0 ] || echo "ok $shell"
done
expect "$(printf 'json\n')" bash spillway check --format = j
: >here.trace
expect here.trace bash spillway report he
expect here.trace bash spillway profile -o he
expect here.trace bash spillway run -q -- /bin/cat he
ask bash spillway run --mode off /bin/tru | grep -qx /bin/true || { echo "not ok no program"; failed=1; }
if [ "$shells" = bash ]; then
    echo "skip no zsh"
else
    expect json zsh spillway check --format=j
    expect FILES zsh spillway report he
    expect FILES zsh spillway profile -o he
    expect "PROGRAM tr" zsh spillway run -q --mode off tr
    expect "PROGRAM tr --x" zsh spillway run --gpu-mem 1GiB -- tr --x
fi
exit $failed
