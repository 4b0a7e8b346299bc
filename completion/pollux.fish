# SPDX-License-Identifier: Apache-2.0
# Completion of pollux for fish, read from the command's own help.

function __pollux_commands
    pollux --help 2>/dev/null | string match -rv '^  pollux ' |
        string replace -rf '^  ([a-z][a-z-]*) +(.*)' '$1\t$2'
end

function __pollux_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    pollux $words[2] --help 2>/dev/null | string replace -rf '^  (?:-[a-zA-Z], )?(--[a-z-]+=?)\S* +(.*)' '$1\t$2'
end

# Jobs or nodes that the daemon knows, for commands that want one; nothing if nobody answers.
function __pollux_names
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    set -l usage (pollux $words[2] --help 2>/dev/null | head -n 1)
    if string match -qr '\[OPTION\]\.\.\. JOB' -- $usage
        timeout 3 pollux list --quiet 2>/dev/null
    else if string match -qr '\[OPTION\]\.\.\. NODE' -- $usage
        timeout 3 pollux nodes --quiet 2>/dev/null
    end
end

complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a '(__pollux_commands)'
complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a 'help --help --version'
complete -c pollux -n 'test (count (commandline -opc)) -ge 2; and string match -q -- "-*" (commandline -ct)' \
    -f -a '(__pollux_options)'
complete -c pollux -n 'test (count (commandline -opc)) -ge 2; and not string match -q -- "-*" (commandline -ct)' \
    -a '(__pollux_names)'
