# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for memscope: names come from the program itself.

_memscope_words() {
    memscope "$1" 2>/dev/null | awk -v skip="$2" 'NR > skip { print $1 }'
}

_memscope_commands() {
    memscope help 2>/dev/null | awk '/^Commands/ { on = 1; next } !NF { on = 0 } on { print $1 }'
}

_memscope_options() {
    memscope help "$1" 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u
}

# What may follow an option of a command; the program knows.
_memscope_values() {
    local words
    words=$(memscope help --completion words "$2" "$1" 2>/dev/null)
    case $words in
    @models) _memscope_words models 1 ;;
    @devices) _memscope_words devices 2; echo cpu ;;
    *) echo "$words" ;;
    esac
}

_memscope() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_memscope_commands) --help --version" -- "$current")
        return
    fi
    case ${COMP_WORDS[1]} in
    help) mapfile -t COMPREPLY < <(compgen -W "$(_memscope_commands)" -- "$current") ;;
    schema) mapfile -t COMPREPLY < <(compgen -W "$(memscope schema 2>/dev/null)" -- "$current") ;;
    analyze | plan | fit | stream | sweep | merge | diff | check | baseline | capture | compare)
        case $previous in
        --*)
            local values
            values=$(_memscope_values "$previous" "${COMP_WORDS[1]}")
            [ -z "$values" ] || mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
            ;;
        esac
        case $current in
        -*) mapfile -t COMPREPLY < <(compgen -W "$(_memscope_options "${COMP_WORDS[1]}")" -- "$current") ;;
        esac
        ;;
    esac
}

complete -o default -F _memscope memscope
