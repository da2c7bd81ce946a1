# SPDX-License-Identifier: Apache-2.0
# bash completion for spillway. What there is to complete is asked of the command itself: commands and
# options are in its --help, and a wrong value is answered with the list of the right ones.

# Values that OPTION of COMMAND takes, where they are a list.
_spillway_values() { # SPILLWAY COMMAND OPTION
    case $3 in
    --format | --mode | --method | --only)
        "$1" "$2" "$3" '?' 2>&1 | sed -n 's/^spillway: .*: the [a-z]* are //p' | sed 's/,/ /g; s/ and / /g'
        ;;
    esac
}

_spillway() {
    local spillway=$1 current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
    local command=${COMP_WORDS[1]}
    COMPREPLY=()
    # --option=value comes as three words.
    if [[ $current == "=" ]]; then
        current=
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ $COMP_CWORD -eq 1 ]]; then
        # shellcheck disable=SC2207 # words without blanks
        COMPREPLY=($(compgen -W "$("$spillway" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version" -- "$current"))
        return
    fi
    case $command in
    run | profile | doctor)
        # After the program's name all is the program's.
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --) ((i++)); break ;;
            -o | --output | --gpu-mem | --host-mem | --mode | --format) [[ ${COMP_WORDS[i + 1]} == "=" ]] && ((i++)); ((i++)) ;;
            -*) ;;
            *) break ;;
            esac
        done
        if ((i < COMP_CWORD)); then
            if declare -F _command_offset >/dev/null; then _command_offset "$i"; else COMPREPLY=($(compgen -f -- "$current")); fi
            return
        fi
        ;;
    esac
    case $previous in
    --format | --mode | --method | --only)
        # shellcheck disable=SC2207
        COMPREPLY=($(compgen -W "$(_spillway_values "$spillway" "$command" "$previous")" -- "$current"))
        return
        ;;
    --gpu-mem | --host-mem) return ;;
    esac
    if [[ $current == -* ]]; then
        # shellcheck disable=SC2207
        COMPREPLY=($(compgen -W "$("$spillway" "$command" --help | sed -n 's/^ \{2,8\}\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p')" -- "$current"))
        return
    fi
    case $command in
    run | profile | doctor)
        # shellcheck disable=SC2207
        [[ $previous == -o || $previous == --output ]] && COMPREPLY=($(compgen -f -- "$current")) ||
            COMPREPLY=($(compgen -c -- "$current") $(compgen -f -- "$current"))
        ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
    esac
} && complete -o filenames -F _spillway spillway
