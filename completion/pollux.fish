# SPDX-License-Identifier: Apache-2.0
# Completion of pollux for fish, read from the command's own help.

function __pollux_commands
    pollux --help 2>/dev/null | string match -rv '^  pollux ' |
        string replace -rf '^  ([a-z][a-z-]*) +(.*)' '$1\t$2'
end

function __pollux_options
    set -l words (commandline -opc)
    test (count $words) -ge 2; or return
    pollux $words[2] --help 2>/dev/null | string replace -rf '^  (--[a-z-]+=?)\S* +(.*)' '$1\t$2'
end

complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a '(__pollux_commands)'
complete -c pollux -f -n 'test (count (commandline -opc)) -eq 1' -a 'help --help --version'
complete -c pollux -n 'test (count (commandline -opc)) -ge 2; and string match -q -- "-*" (commandline -ct)' \
    -f -a '(__pollux_options)'
