# SPDX-License-Identifier: Apache-2.0
# Completion of pollux for bash.  Commands and options are read from the command's own help, so
# that a new one needs no change here.

_pollux()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local pollux=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} option choices
    COMPREPLY=()

    local names='s/^  \([a-z][a-z-]*\) .*/\1/p'
    if ((COMP_CWORD == 1)) || { ((COMP_CWORD == 2)) && [[ $command == help ]]; }; then
        # Indented lines of one word and a summary; "pollux help" and such are not among them.
        choices=$("$pollux" --help 2>/dev/null | grep -v '^  pollux' | sed -n "$names")
        ((COMP_CWORD == 2)) || choices+=' help --help --version'
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
        return
    fi

    # --option=argument is three words here: the option, "=", and what is typed of the argument.
    if [[ $cur == = ]]; then
        option=$prev cur=
    elif [[ $prev == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    else
        option=$prev
    fi
    local help
    help=$("$pollux" "$command" --help 2>/dev/null)
    if [[ $option == --policy-option ]]; then
        # Lines "  POLICY NAME=DEFAULT" below the options.
        choices=$(sed -n 's/^  [a-z-]* \([a-z_]*=\).*/\1/p' <<<"$help")
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur" | sort -u)
        compopt -o nospace 2>/dev/null
    elif [[ $option == --* ]] && grep -q "^  $option=" <<<"$help"; then
        # An argument: one of its choices, else a file.
        choices=$(sed -n "s/^  $option=\([a-z|-]*|[a-z|-]*\) .*/\1/p" <<<"$help")
        if [[ -n $choices ]]; then
            mapfile -t COMPREPLY < <(compgen -W "${choices//|/ }" -- "$cur")
        elif grep -q "^  $option=[A-Z.]*\(FILE\|DIR\|json\|csv\|db\)" <<<"$help"; then
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        fi
    elif [[ $cur == -* ]]; then
        choices=$(sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*=\{0,1\}\).*/\2/p' <<<"$help")
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
        [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null
    elif grep -q '^Usage: pollux [a-z]* \[OPTION\]\.\.\. \(JOB\|NODE\)' <<<"$help"; then
        # Names from the daemon; none, and no error message, if it does not answer.
        choices=list
        ! grep -q '^Usage: .* NODE' <<<"$help" || choices=nodes
        choices=$(timeout 3 "$pollux" $choices --quiet 2>/dev/null)
        mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -o filenames -F _pollux pollux
