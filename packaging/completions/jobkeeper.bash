# Completion of jobkeeper(1) for bash. Job names come from the daemon; without it there are none to offer.

_jobkeeper_jobs() {
        jobkeeper status --json 2>/dev/null | grep -o '"job": *"[^"]*"' | cut -d '"' -f 4 | sort -u
}

# Resources that somebody uses just now; those of jobs (job:NAME) are left out, since bash breaks words at the colon.
_jobkeeper_resources() {
        timeout 2 jobkeeper locks --json 2>/dev/null | grep -o '"resource": *"[^"]*"' | cut -d '"' -f 4 | grep -v '^job:' | sort -u
}

_jobkeeper() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i words=

        COMPREPLY=()
        if ((COMP_CWORD == 1)); then
                mapfile -t COMPREPLY < <(compgen -W 'status history run next verify lock locks help --help --version' -- "$word")
                return
        fi
        if [[ $command == lock ]]; then
                # What follows the -- is completed as a command line of its own.
                for ((i = 2; i < COMP_CWORD; i++)); do
                        [[ ${COMP_WORDS[i]} == -- ]] || continue
                        if declare -F _command_offset >/dev/null; then
                                _command_offset $((i + 1))
                        else
                                mapfile -t COMPREPLY < <(compgen -c -- "$word")
                        fi
                        return
                done
        fi
        case $before in
        -c | --config)
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
                return
                ;;
        --root)
                mapfile -t COMPREPLY < <(compgen -d -- "$word")
                return
                ;;
        -z | --timezone)
                mapfile -t COMPREPLY < <(compgen -W "$(timedatectl list-timezones 2>/dev/null)" -- "$word")
                return
                ;;
        --naming)
                mapfile -t COMPREPLY < <(compgen -W 'curator-rw curator-mutex kazoo single-node' -- "$word")
                return
                ;;
        --on-loss)
                mapfile -t COMPREPLY < <(compgen -W 'stop continue' -- "$word")
                return
                ;;
        -a | --also)
                mapfile -t COMPREPLY < <(compgen -W "$(_jobkeeper_resources)" -- "$word")
                return
                ;;
        --lines | -t | --timeout | --slots)
                return
                ;;
        -n)
                [[ $command == lock ]] || return
                ;;
        esac
        case $command in
        status) words='--json --help' ;;
        history) words='--lines --json --help' ;;
        run) words='--wait --json --help' ;;
        next) words='--lines --timezone --json --help' ;;
        verify) words='--config --root --verbose --json --help' ;;
        lock) words='--shared --slots --also --timeout --no-wait --on-loss --naming --quiet --verbose --standalone --config --help' ;;
        locks) words='--tree --json --config --help' ;;
        help) words='status history run next verify lock locks' ;;
        esac
        if [[ $word == -* || $command == help ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
                return
        fi
        case $command in
        history | run | next) mapfile -t COMPREPLY < <(compgen -W "$(_jobkeeper_jobs)" -- "$word") ;;
        verify) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        lock | locks) mapfile -t COMPREPLY < <(compgen -W "$(_jobkeeper_resources)" -- "$word") ;;
        esac
}

complete -F _jobkeeper jobkeeper
