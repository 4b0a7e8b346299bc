# SPDX-License-Identifier: Apache-2.0
# Bash completes commands, options, choices and files, all read from the command's own help.
. tests/cli/lib.sh
. completion/pollux.bash

# completes NAME WORDS... -- EXPECTED...: the completions of the last word.
completes()
{
    local name=$1
    shift
    COMP_WORDS=("$POLLUX")
    while [ "$1" != -- ]; do
        COMP_WORDS+=("$1")
        shift
    done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _pollux
    local offered=" ${COMPREPLY[*]} " word
    for word in "$@"; do
        case $word in
        !*) [[ $offered != *" ${word#!} "* ]] || word=bad ;;
        *) [[ $offered == *" $word "* ]] || word=bad ;;
        esac
        [ "$word" != bad ] || break
    done
    [ "$word" != bad ] && ok "$name" || not_ok "$name" "offered: $offered" "expected: $*"
}

completes "commands" '' -- fit goodput help --version
completes "commands with this prefix" go -- goodput !fit
completes "commands to get help on" help '' -- fit goodput !--version
completes "options" fit --j -- --json !--all
completes "options with an argument" goodput --gp -- --gpus-per-node=
completes "an option's choices" goodput --search = '' -- exact reference
completes "choices with this prefix" goodput --search = ref -- reference !exact
completes "choices after a space" goodput --search e -- exact
completes "agents" sim --agent = '' -- published real
completes "options of policies" sim --policy-option = qu -- quantum= !slice=
completes "files" fit completion/p -- completion/pollux.bash completion/pollux.fish
completes "no files for a number" goodput --nodes = comp -- !completion
