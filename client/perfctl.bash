# bash completion for perfctl(1)
#
# `perfctl __complete` knows all commands and options. It prints the kind of the word being typed and, for the kind "words", a candidate
# on each line that follows.

# Ids only; nothing without perfd.
_perfctl_first_column() {
        timeout 1 perfctl "$@" --no-color 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -u
}

_perfctl() {
        local cur=${COMP_WORDS[COMP_CWORD]} kind
        local -a words=()

        COMPREPLY=()
        { read -r kind; mapfile -t words; } < <(perfctl __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)

        case $kind in
        words)       mapfile -t COMPREPLY < <(compgen -W "${words[*]}" -- "$cur") ;;
        files)       mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        directories) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        programs)    mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        variables)   mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
        jobs)        mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_first_column job list --limit 200)" -- "$cur") ;;
        indicators)  mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_first_column indicator list)" -- "$cur") ;;
        uids)        mapfile -t COMPREPLY < <(compgen -W "$(cut -d : -f 3 /etc/passwd)" -- "$cur") ;;
        pids)        mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur") ;;
        "offset "*)  ! declare -F _command_offset >/dev/null || _command_offset "${kind#offset }" ;;
        esac
}

complete -F _perfctl -o filenames perfctl
