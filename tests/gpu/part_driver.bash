# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/gpu/run: the parts that ask this machine and its driver: kit, facts, conformance.

part_kit() {
    local libs most
    have_spillway || return
    command -v readelf >/dev/null || { skip "needs of the command" "no readelf"; return; }
    for file in spillway libspillway.so; do
        libs=$(readelf -d "$BUILD/$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p' | tr '\n' ' ')
        most=$(readelf -V "$BUILD/$file" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
        if [ -z "$libs" ] || echo "$libs" | tr ' ' '\n' | grep -v -x -e '' -e libc.so.6 -e ld-linux-x86-64.so.2 >/dev/null; then
            bad "$file needs libc only" no "" "$libs"
        else
            ok "$file needs libc only" yes "" "$libs"
        fi
        if [ "$(printf '%s\nGLIBC_2.36\n' "$most" | sort -V | tail -n 1)" = GLIBC_2.36 ]; then
            ok "$file runs with glibc 2.36" yes "" "$most"
        else
            bad "$file runs with glibc 2.36" no "" "$most"
        fi
    done
    if LD_PRELOAD=$BUILD/libspillway.so /bin/sh -c : >preload.out 2>&1 && [ ! -s preload.out ]; then
        ok "the library can be preloaded here" yes
    else
        bad "the library can be preloaded here" no "" "$(last_words preload.out)"
    fi
    if "$SPILLWAY" --version >version.out 2>&1; then
        ok "the command runs here" "$(head -n 1 version.out)"
    else
        bad "the command runs here" no "" "$(last_words version.out)"
    fi
}

part_facts() {
    local program one status
    for program in facts_lookup facts_alias facts_addresses facts_vmm facts_link facts_limits; do
        built $program || continue
        for one in $("$BIN/$program"); do
            # A fact may take long or end in a fault: the rest goes on.
            timeout --foreground -k 2 $((SIM == 1 ? 20 : 40)) "$BIN/$program" "$one" 2>"$one.err"
            status=$?
            cat "$one.err" >&2
            case $status in
            0) ;;
            124 | 137) bad "$program $one" "took too long" ;;
            *) bad "$program $one" "exit status $status" "" "$(last_words "$one.err")" ;;
            esac
        done
    done
}

part_conformance() {
    local program line name why
    for program in $(conformance_programs); do
        built "simgpu_$program" || continue
        timeout --foreground -k 2 30 "$BIN/simgpu_$program" >"$program.lines" 2>"$program.err"
        [ $? -lt 124 ] || bad "$program" "took too long"
        while read -r line; do
            why=${line#* - }
            [ "$why" != "$line" ] || why=
            name=${line%% - *}
            case $line in
            "ok "*) ok "${name#ok simgpu_}" conforms ;;
            "skip "*) skip "${name#skip simgpu_}" "$why" ;;
            "not ok "*) bad "${name#not ok simgpu_}" "simulator bug" "" "$why" ;;
            esac
        done <"$program.lines"
    done
}
