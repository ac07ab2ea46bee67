# Completion of jobkeeper(1) for bash. Job names come from the daemon; without it there are none to offer.
#
# What the daemon tells was written by others: only names are offered, and they are never given to `compgen -W`, which would run
# what stands in them.

# Adds those of WORD... that begin as what is typed does.
_jobkeeper_offer() { # TYPED WORD...
        local LC_ALL=C typed=$1 word
        shift
        for word; do
                [[ $word =~ ^[A-Za-z0-9-][A-Za-z0-9._/+@-]*$ && $word == "$typed"* ]] && COMPREPLY+=("$word")
        done
}

# The values of a member of the JSON on stdin, as far as they are names of ours.
_jobkeeper_values() { # MEMBER
        LC_ALL=C grep -oE "\"$1\": *\"[a-z0-9][a-z0-9._-]*(@[a-z0-9][a-z0-9._-]*)?\"" | cut -d '"' -f 4 | sort -u
}

_jobkeeper_offer_jobs() { # TYPED
        local names
        mapfile -t names < <(timeout 2 jobkeeper status --json 2>/dev/null | _jobkeeper_values job)
        _jobkeeper_offer "$1" "${names[@]}"
}

_jobkeeper_offer_nodes() { # TYPED
        local names
        mapfile -t names < <(timeout 2 jobkeeper status --json 2>/dev/null | _jobkeeper_values node)
        _jobkeeper_offer "$1" "${names[@]}"
}

# Resources that somebody uses just now. Those of jobs (job:NAME) are no such names: bash breaks words at the colon.
_jobkeeper_offer_resources() { # TYPED
        local names
        mapfile -t names < <(timeout 2 jobkeeper locks --json 2>/dev/null | _jobkeeper_values resource)
        _jobkeeper_offer "$1" "${names[@]}"
}

_jobkeeper_offer_timezones() { # TYPED
        local names
        mapfile -t names < <(timedatectl list-timezones 2>/dev/null)
        _jobkeeper_offer "$1" "${names[@]}"
}

# Readline quotes what is special in the names of files.
_jobkeeper_offer_files() { # ACTION TYPED
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_jobkeeper() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= first=1 named=0 i words= job=

        COMPREPLY=()
        # Options may stand before the command.
        while ((first < COMP_CWORD)) && [[ ${COMP_WORDS[first]} == -* ]]; do
                ((first++))
        done
        if ((first == COMP_CWORD)); then
                _jobkeeper_offer "$word" status history run rerun stop resolve next explain verify lock locks drain undrain pause resume admin help --json --help --version
                return
        fi
        command=${COMP_WORDS[first]}
        # "--on-loss=stop" is three words to bash.
        if [[ $word == = ]]; then
                word=
        elif [[ $before == = ]]; then
                before=${COMP_WORDS[COMP_CWORD - 2]}
        fi
        # So is "reboot@web1", the job of one node, and the last of them is to be completed.
        if [[ $word == @ ]]; then
                job=$before@ word=
        elif [[ $before == @ ]]; then
                job=${COMP_WORDS[COMP_CWORD - 2]}@
        fi
        if [[ -n $job && $command =~ ^(history|run|rerun|stop|resolve|next|explain|pause|resume)$ ]]; then
                _jobkeeper_offer_jobs "$job$word"
                COMPREPLY=("${COMPREPLY[@]#"${job%@}"}") # readline replaces the @ and what follows
                return
        fi
        if [[ $command == lock ]]; then
                # What follows the -- is completed as a command line of its own.
                for ((i = first + 1; i < COMP_CWORD; i++)); do
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
                _jobkeeper_offer_files -f "$word"
                return
                ;;
        --root)
                _jobkeeper_offer_files -d "$word"
                return
                ;;
        -z | --timezone)
                _jobkeeper_offer_timezones "$word"
                return
                ;;
        --naming)
                _jobkeeper_offer "$word" curator-rw curator-mutex kazoo single-node
                return
                ;;
        --on-loss)
                _jobkeeper_offer "$word" stop continue
                return
                ;;
        --on)
                _jobkeeper_offer_nodes "$word"
                return
                ;;
        -a | --also)
                _jobkeeper_offer_resources "$word"
                return
                ;;
        --lines | -t | --timeout | --tick | --slots | -r | --reason)
                return
                ;;
        -n)
                [[ $command == lock ]] || return
                ;;
        esac
        case $command in
        status) words='--check --json --help' ;;
        history) words='--lines --json --help' ;;
        run) words='--on --tick --timezone --wait --follow --json --help' ;;
        rerun) words='--on --wait --json --help' ;;
        stop) words='--wait --json --help' ;;
        resolve) words='--reason --json --help' ;;
        next) words='--lines --timezone --json --help' ;;
        explain) words='--timezone --json --help' ;;
        verify) words='--config --root --verbose --json --help' ;;
        lock) words='--shared --slots --also --timeout --no-wait --on-loss --naming --quiet --verbose --standalone --config --help' ;;
        locks) words='--tree --json --config --help' ;;
        drain) words='--reason --wait --json --help' ;;
        undrain) words='--json --help' ;;
        admin) words='--reason --yes --json --help' ;;
        pause) words='--all --reason --json --help' ;;
        resume) words='--all --json --help' ;;
        help) words='status history run rerun stop resolve next explain verify lock locks drain undrain pause resume admin' ;;
        esac
        if [[ $word == -* ]]; then
                _jobkeeper_offer "$word" $words
                return
        fi
        # Most commands take one name.
        for ((i = first + 1; i < COMP_CWORD; i++)); do
                case ${COMP_WORDS[i]} in
                -n | --lines | -z | --timezone | -c | --config | -t | --timeout | --tick | --slots | --naming | --on-loss | -a | --also | -r | --reason | --on)
                        [[ $command == lock && ${COMP_WORDS[i]} == -n ]] && continue
                        [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
                        ((i++))
                        ;;
                -*) ;;
                *) ((named++)) ;;
                esac
        done
        if [[ $command == resolve ]] && ((named == 2)); then # JOB RUN STATE
                _jobkeeper_offer "$word" succeeded failed
                return
        fi
        ((named == 0)) || [[ $command == verify || $command == pause || $command == resume ]] || return
        case $command in
        history | run | rerun | stop | resolve | next | explain | pause | resume) _jobkeeper_offer_jobs "$word" ;;
        help) _jobkeeper_offer "$word" $words ;;
        verify) _jobkeeper_offer_files -f "$word" ;;
        lock | locks) _jobkeeper_offer_resources "$word" ;;
        admin) _jobkeeper_offer "$word" accept-ensemble ;;
        drain | undrain) _jobkeeper_offer_nodes "$word" ;;
        esac
}

complete -F _jobkeeper jobkeeper
