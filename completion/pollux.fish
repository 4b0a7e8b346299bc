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

# The command that lists the operands of a command with a JOB or NODE.
function __pollux_lister
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return 1
    string match -q -- "-*" (commandline -ct); and return 1
    switch (pollux $words[2] --help 2>/dev/null | head -n 1)
        case '*[OPTION]... JOB*'
            echo list
        case '*[OPTION]... NODE*'
            echo nodes
        case '*'
            return 1
    end
end

# Names from the daemon; none if it does not answer.
function __pollux_names
    timeout 3 pollux (__pollux_lister) --quiet 2>/dev/null
end

complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a '(__pollux_commands)'
complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a 'help --help --version'
complete -c pollux -n 'test (count (commandline -opc)) -ge 2; and string match -q -- "-*" (commandline -ct)' \
    -f -a '(__pollux_options)'
# Lines "  POLICY NAME=DEFAULT" below the options.
function __pollux_policy_options
    set -l words (commandline -opc)
    pollux $words[2] --help 2>/dev/null | string replace -rf '^  ([a-z-]+) ([a-z_]+=).*' '$2\t$1'
end

complete -c pollux -f -n 'test (commandline -opc)[-1] = --policy-option' -a '(__pollux_policy_options)'
complete -c pollux -f -n '__pollux_lister >/dev/null' -a '(__pollux_names)'
