# bash completion for perfctl(1)

_perfctl_jobs() {
        # Ids only; without perfd, or in a hurry, there is nothing to offer.
        timeout 1 perfctl job list --limit 200 --no-color 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_perfctl_indicators() {
        timeout 1 perfctl indicator list --no-color 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -u
}

_perfctl() {
        local cur prev command='' word i options
        local globals='--help --socket --http-socket --no-color'
        local commands='run submit report metrics watch sweep job status doctor mark time export import indicator flush help'

        COMPREPLY=()
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD-1]}

        for ((i = 1; i < COMP_CWORD; i++)); do
                word=${COMP_WORDS[i]}
                case $word in
                --socket|--http-socket) ((i++)) ;;
                -*) ;;
                job|export|import|indicator) [[ $i -lt $((COMP_CWORD - 1)) ]] && command="$word ${COMP_WORDS[i+1]}" || command=$word; break ;;
                *) command=$word; break ;;
                esac
        done

        # What follows the command of `run` and the dashes of `time` is completed as if it stood alone.
        if [[ $command == run || $command == time ]]; then
                for ((i++; i < COMP_CWORD; i++)); do
                        case ${COMP_WORDS[i]} in
                        --) ((i++)); break ;;
                        --job|--name|--label|--rank|--ranks|--node|--nodes|--enclosure|--indicator|--repeat|--warmup|--env|--component|--spool|--spec|--limits|-j|-n|-l|-r|-i|--socket|--http-socket) ((i++)) ;;
                        -*) ;;
                        *) [[ $command == run ]] && break ;;
                        esac
                done
                if ((i <= COMP_CWORD)) && [[ ${COMP_WORDS[i-1]} == -- || (i -lt COMP_CWORD) ]] && declare -F _command_offset >/dev/null; then
                        _command_offset "$i"
                        return
                fi
        fi

        case $prev in
        --output) [[ $command == sweep ]] && mapfile -t COMPREPLY < <(compgen -d -- "$cur") ||
                mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --socket|--http-socket|--spec) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --spool|--root) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
        --job|-j) mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_jobs)" -- "$cur"); return ;;
        --indicator|-i) mapfile -t COMPREPLY < <(compgen -W 'auto yes no' -- "$cur"); return ;;
        --enclosure) mapfile -t COMPREPLY < <(compgen -W 'scope cgroup subreaper none' -- "$cur"); return ;;
        --format) mapfile -t COMPREPLY < <(compgen -W 'json rdf sql' -- "$cur"); return ;;
        --keep-going) mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$cur"); return ;;
        --launcher) mapfile -t COMPREPLY < <(compgen -c -- "$cur"); return ;;
        --names) mapfile -t COMPREPLY < <(compgen -W 'sanitised raw' -- "$cur"); return ;;
        --state) mapfile -t COMPREPLY < <(compgen -W 'running finished interrupted' -- "$cur"); return ;;
        --uid) mapfile -t COMPREPLY < <(compgen -W "$(cut -d : -f 3 /etc/passwd)" -- "$cur"); return ;;
        --pid) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur"); return ;;
        --timeout|-t|--name|-n|--label|-l|--rank|-r|--ranks|--node|--nodes|--exit-status|--limit|--interval|--count|-c) return ;;
        --batch-length|--prefix|--component|--repeat|--warmup|--limits) return ;;
        --env) mapfile -t COMPREPLY < <(compgen -e -- "$cur"); return ;;
        --format|-f) mapfile -t COMPREPLY < <(compgen -W 'table json csv rdf sql' -- "$cur"); return ;;
        --direction) mapfile -t COMPREPLY < <(compgen -W 'higher lower' -- "$cur"); return ;;
        --across) mapfile -t COMPREPLY < <(compgen -W 'parameters hardware parameters,hardware' -- "$cur"); return ;;
        --where|-w|--group-by|-g|--stat|-s|--since|--until|--by|-b|--objective|-o|--confidence) return ;;
        esac

        case $command in
        '')            options="$globals --version" ;;
        run)           options="$globals --job --name --label --rank --ranks --node --nodes --enclosure --wait --indicator --repeat --warmup --env --component --spool --verbose --spec --keep --limits --" ;;
        submit)        options="$globals --job --name --component --timeout --spool --latencies --batch-length --json" ;;
        report)        options="$globals --all-nodes --json" ;;
        'job show')    options="$globals --json" ;;
        metrics)       options="$globals --job --mlflow --names --prefix --compat --json" ;;
        watch)         options="$globals --interval --count --json" ;;
        sweep)         options="$globals --dry-run --output --jobs --launcher --nodes --keep-going --retry-failed --no-perfd --name --spool" ;;
        'job list')    options="$globals --state --limit --json" ;;
        'job begin')   options="$globals --name --label --rank --ranks --node --nodes --pid --uid --timeout --json" ;;
        'job end')     options="$globals --exit-status --timeout --json" ;;
        status)        options="$globals --timeout --spool --json" ;;
        doctor)        options="$globals --root --timeout --spool --json" ;;
        mark)          options="$globals --job --json" ;;
        time)          options="$globals --job --" ;;
        'import inspection') options="$globals --name --component --timeout --json" ;;
        'export perf-report') options="$globals --compat --output" ;;
        'indicator list'|'indicator show'|'indicator batch') options="$globals --json" ;;
        'indicator query') options="$globals --where --group-by --stat --since --until --format --json" ;;
        'indicator rank') options="$globals --where --by --objective --direction --confidence --across --since --until --json" ;;
        'indicator register'|'indicator unregister') options="$globals --timeout" ;;
        'indicator models') options="$globals --json" ;;
        'indicator schema') options="$globals --format" ;;
        flush)         options="$globals --timeout --spool --json" ;;
        *)             options=$globals ;;
        esac

        if [[ $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
                return
        fi

        case $command in
        ''|help)       mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$cur") ;;
        job)           mapfile -t COMPREPLY < <(compgen -W 'list show begin end' -- "$cur") ;;
        report)
                if [[ " ${COMP_WORDS[*]} " == *' --all-nodes '* ]]; then
                        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
                else
                        mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_jobs)" -- "$cur")
                fi ;;
        indicator)     mapfile -t COMPREPLY < <(compgen -W 'list show query rank batch register unregister models schema' -- "$cur") ;;
        'indicator register'|'indicator schema') mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        import)        mapfile -t COMPREPLY < <(compgen -W 'inspection' -- "$cur") ;;
        'import inspection') mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        'indicator show'|'indicator query'|'indicator rank'|'indicator unregister')
                mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_indicators)" -- "$cur") ;;
        export)        mapfile -t COMPREPLY < <(compgen -W 'perf-report' -- "$cur") ;;
        'job show'|'job end'|'export perf-report') mapfile -t COMPREPLY < <(compgen -W "$(_perfctl_jobs)" -- "$cur") ;;
        submit|sweep)  mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        run)           mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        time)          [[ $prev != -- ]] || mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        esac
}

complete -F _perfctl -o filenames perfctl
