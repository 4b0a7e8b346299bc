# SPDX-License-Identifier: Apache-2.0
# Bash functions that find, name and end the processes that a script has started.  Source this at the
# beginning of a script:
#
#     . tools/leftovers.sh
#     under_subreaper tools/NAME "$@"       the script starts again under build/tools/subreaper
#     find_descendants; ${descendants[*]}   process ids
#     end_descendants 10                    SIGTERM, after 10 s SIGKILL; returns when none is left
#
# Without build/tools/subreaper (`make build/tools/subreaper`) orphans are not found.
# A listening port belongs to a process: with no process left, no port is left.

# under_subreaper SCRIPT ARGUMENT...: execute this script again, in the same process, as a subreaper.
# Children that this process already has belong to its caller (`server & exec tools/test`): they are left alone.
under_subreaper()
{
    [ "${POLLUX_REAPER-}" != $$ ] && [ -x build/tools/subreaper ] || return 0
    POLLUX_NOT_OURS=
    find_descendants
    export POLLUX_NOT_OURS="$$ ${descendants[*]}"
    exec build/tools/subreaper bash "$@"
}

# find_descendants [EXCEPT]: the living descendants of this script, without the processes EXCEPT (one word: their ids) and
# their own descendants; sets the array descendants.  Starts no process.
find_descendants()
{
    local file line fields pid id
    local -A parents=() mine=([$BASHPID]=no [$$]=yes)
    for pid in ${1-}; do mine[$pid]=no; done
    if [[ ${POLLUX_NOT_OURS-} == "$$ "* ]]; then # a script inside another one inherits the variable
        for pid in ${POLLUX_NOT_OURS#* }; do mine[$pid]=no; done
    fi
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        # PID (NAME) STATE PARENT ...: NAME can contain blanks and parentheses.
        fields=(${line##*) })
        [[ ${fields[0]} == [ZX] ]] || parents[${line%% *}]=${fields[1]}
    done
    descendants=()
    for pid in "${!parents[@]}"; do
        id=$pid
        while [ -z "${mine[$id]-}" ] && [ -n "${parents[$id]-}" ]; do
            id=${parents[$id]}
        done
        [ "${mine[$id]-}" != yes ] || [ "$pid" = $$ ] || descendants+=("$pid")
    done
}

# is_descendant PID: whether this script has started it.  A process id that is known from earlier may belong to
# another process by now: the kernel uses ids again.
is_descendant()
{
    local line fields id=$1
    while [ "$id" -gt 1 ]; do
        [ "$id" != $$ ] || return 0
        { read -r line <"/proc/$id/stat"; } 2>/dev/null || return 1
        fields=(${line##*) })
        id=${fields[1]}
    done
    return 1
}

# children_of PID: the process ids of its children, oldest first.
children_of()
{
    local file line fields
    for file in /proc/[0-9]*/stat; do
        { read -r line <"$file"; } 2>/dev/null || continue
        fields=(${line##*) })
        [ "${fields[1]}" != "$1" ] || echo "${fields[19]} ${line%% *}" # its start and its id
    done | sort -n | cut -d ' ' -f 2
}

# describe_process PID: its id and command, and the addresses where it listens.
describe_process()
{
    local command inodes where
    command=$(tr '\0\n' '  ' 2>/dev/null <"/proc/$1/cmdline")
    inodes=$(ls -l "/proc/$1/fd" 2>/dev/null | sed -n 's/.*-> socket:\[\([0-9]*\)\]$/\1/p')
    # State 0A is LISTEN; the port is in hexadecimal digits after the address.
    where=$(awk -v inodes="$inodes" '
        BEGIN { n = split(inodes, list, "\n"); for (i = 1; i <= n; i++) mine[list[i]] = 1 }
        $4 == "0A" && $10 in mine { split($2, at, ":"); print at[2] }
        ' "/proc/$1/net/tcp" "/proc/$1/net/tcp6" 2>/dev/null | while read -r port; do printf ' %d' "0x$port"; done)
    echo "$1 ${command:0:200}${where:+(listens on port$where)}"
}

# settled SECONDS [EXCEPT]: whether no descendant is left, after waiting at most that long.
settled()
{
    local i
    for ((i = 0; i < $1 * 20; i++)); do
        find_descendants "${2-}"
        [ ${#descendants[@]} != 0 ] || return 0
        sleep 0.05
    done
    find_descendants "${2-}"
    [ ${#descendants[@]} = 0 ]
}

# end_descendants SECONDS [EXCEPT]: SIGTERM to all; to those left after that time, SIGKILL, until none is left.
end_descendants()
{
    find_descendants "${2-}"
    [ ${#descendants[@]} != 0 ] || return 0
    kill -TERM "${descendants[@]}" 2>/dev/null
    kill -CONT "${descendants[@]}" 2>/dev/null
    settled "$1" "${2-}" && return 0
    until kill -KILL "${descendants[@]}" 2>/dev/null; settled 1 "${2-}"; do :; done
}

# remove_folder FOLDER: also with file systems that are still mounted in it, but never the files in one that
# cannot be unmounted.  An empty name, / and . are refused: they would unmount all of this machine.
remove_folder()
{
    local mounted folder
    folder=$(realpath -e -- "${1:-/}" 2>/dev/null) || return 0
    if [[ $folder == / || $PWD/ == "$folder"/* ]]; then
        echo "remove_folder: not '$1'" >&2
        return 1
    fi
    while read -r _ mounted _; do
        printf -v mounted '%b' "${mounted//\\/\\0}" # blanks are \040 there
        [[ $mounted != "$folder"/* ]] || umount -l -- "$mounted"
    done </proc/mounts
    rm -rf --one-file-system -- "$folder"
}
