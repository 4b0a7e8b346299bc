#compdef pollux
# SPDX-License-Identifier: Apache-2.0
# Completion of pollux for zsh, read from the command's own help.

_pollux() {
    local -a found
    local line
    if (( CURRENT == 2 )); then
        for line in ${(f)"$($words[1] --help 2>/dev/null)"}; do
            if [[ $line != '  pollux '* && $line =~ '^  ([a-z][a-z-]*) +(.*)$' ]]; then
                found+=("$match[1]:$match[2]")
            fi
        done
        found+=('help:what a command does' '--version:the version')
        _describe command found
    elif [[ $words[CURRENT] == -* ]]; then
        for line in ${(f)"$($words[1] $words[2] --help 2>/dev/null)"}; do
            if [[ $line =~ '^  (--[a-z-]+=?)[^ ]* +(.*)$' ]]; then
                found+=("$match[1]:$match[2]")
            fi
        done
        _describe -o option found -S ''
    else
        _files
    fi
}

_pollux "$@"
