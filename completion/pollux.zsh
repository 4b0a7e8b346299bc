#compdef pollux
# SPDX-License-Identifier: Apache-2.0
# Completion of pollux for zsh, read from the command's own help.

_pollux() {
    setopt local_options extended_glob
    local -a found
    local line
    if (( CURRENT == 2 )); then
        for line in ${(f)"$($words[1] --help 2>/dev/null)"}; do
            if [[ $line != '  pollux '* && $line =~ '^  ([a-z][a-z-]*) +(.*)$' ]]; then
                found+=("$match[1]:$match[2]")
            fi
        done
        found+=('help:description and options of a command' '--version:the version')
        _describe command found
    elif [[ $words[CURRENT-1] == --policy-option ]]; then
        for line in ${(f)"$($words[1] $words[2] --help 2>/dev/null)"}; do
            if [[ $line =~ '^  ([a-z-]+) ([a-z_]+=)' ]]; then
                found+=("$match[2]:$match[1]")
            fi
        done
        _describe 'option of a policy' found -S ''
    elif [[ $words[CURRENT] == -* ]]; then
        for line in ${(f)"$($words[1] $words[2] --help 2>/dev/null)"}; do
            if [[ $line =~ '^  (-[a-zA-Z], )?(--[a-z-]+=?)[^ ]* +(.*)$' ]]; then
                found+=("$match[2]:$match[3]")
            fi
        done
        _describe -o option found -S ''
    elif [[ $($words[1] $words[2] --help 2>/dev/null) == (#b)'Usage: pollux '[a-z]##' [OPTION]... '(JOB|NODE)* ]]; then
        # Names from the daemon; none if it does not answer.
        local what=list
        [[ $match[1] == NODE ]] && what=nodes
        found=(${(f)"$(timeout 3 $words[1] $what --quiet 2>/dev/null)"})
        (( $#found )) && compadd -a found
    else
        _files
    fi
}

_pollux "$@"
