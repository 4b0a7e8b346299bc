# SPDX-License-Identifier: Apache-2.0
# For tests of the service: polluxd with the backend slurm on the login node of a private cluster (lib_slurm.sh), and jobs of
# `ann`, who signs her requests with munge.
#
#     . tests/slurm/lib_service.sh
#     cluster_up 4 4
#     start_daemon                      polluxd on `login`; $daemon and $helper are its process ids here
#     submit job --max 2 -- "$worker"   as ann; also all else of tests/cli/lib_daemon.sh
#     as ann COMMAND...                 on `login`, as that user; `slurm COMMAND...` as root
#
# The users exist only here: the script runs with mounts of its own, in which /etc/passwd and /etc/group are copies.
if [ "$(id -u)" = 0 ] && [ -z "${POLLUX_OWN_MOUNTS-}" ] && unshare --mount true 2>/dev/null; then
    POLLUX_OWN_MOUNTS=1 exec unshare --mount -- bash "$0" "$@"
fi
. "$(dirname "${BASH_SOURCE[0]}")/lib_slurm.sh"
if [ -z "${POLLUX_OWN_MOUNTS-}" ] || ! $separate; then
    skip "the service needs root, and namespaces"
    exit 0
fi

cp /etc/passwd "$tmp/passwd"
cp /etc/group "$tmp/group"
mkdir -m 755 "$tmp/home" "$tmp/bin"
uid=70001
for user in ann pollux; do
    echo "$user:x:$uid:$uid::$tmp/home/$user:/bin/sh" >>"$tmp/passwd"
    echo "$user:x:$uid:" >>"$tmp/group"
    install -d -m 700 -o $uid -g $uid "$tmp/home/$user"
    uid=$((uid + 1))
done
mount --bind "$tmp/passwd" /etc/passwd
mount --bind "$tmp/group" /etc/group
install -d -m 700 -o pollux -g pollux "$state"
build=$(dirname "${POLLUX%% *}")
# Users must reach the programs, wherever the repository is.
cp "${POLLUX%% *}" "$tmp/bin/pollux"
cp "${POLLUXD%% *}" "$tmp/bin/polluxd"
POLLUX=$tmp/bin/pollux POLLUXD=$tmp/bin/polluxd
listen=$(address login):7467
helper=

slurm() { node_exec login "$@"; }
# as USER COMMAND...
as()
{
    local user=$1
    shift
    (cd / && node_exec login setpriv --reuid="$user" --regid="$user" --init-groups -- env -u POLLUX_STATE HOME="$tmp/home/$user" "$@")
}
pollux() { as ann env POLLUX_SERVER="http://$listen" "$POLLUX" "$@"; }
answers() { pollux status; }

# launch_daemon OPTION...: nsenter, which starts it, is another process here.
launch_daemon()
{
    local i
    daemon=
    node_exec login "$POLLUXD" --backend slurm --partition main --auth munge --run-as pollux --state "$state" --listen "$listen" \
        --interval 1 --restart-delay 0 "$@" </dev/null >>"$log" 2>&1 &
    starter=$!
    for ((i = 0; i < 600; i++)); do
        daemon=$(polluxd_of pollux) helper=$(polluxd_of root)
        [ -z "$daemon" ] && lives $starter || break
        sleep 0.05
    done
}
# polluxd_of USER: its process that runs as this user.
polluxd_of()
{
    local pid
    for pid in $(node_pids login "^$POLLUXD "); do
        [ "$(stat -c %U "/proc/$pid" 2>/dev/null)" != "$1" ] || echo "$pid"
    done | tail -n 1
}
stop_daemon()
{
    [ -n "$daemon" ] || return 0
    kill "-${1-TERM}" "$daemon" 2>/dev/null
    until_daemon_is_gone
}
until_daemon_is_gone()
{
    local pid=$daemon
    daemon=
    until_gone "$pid" && until_gone "${helper:-0}"
    wait "$starter"
    status=$?
}

# ---- Shares -------------------------------------------------------------------------------------

# share JOB N: the id of the Slurm job that has the N-th share of its running generation.
share() { slurm squeue -h -t PD,R -n "$1.$(of "$1" .generation).$2" -o %i | head -n 1; }
# foreign OPTION...: a Slurm job that is not Pollux's; prints its id.
foreign() { (cd / && slurm sbatch --parsable -J other -o /dev/null --mem=1 "$@" --wrap 'exec sleep 1000'); }
slots_are() { pollux nodes --json | jq -e ".nodes | sort_by (.name) | map (if .available then .slots else 0 end) == $1"; }
# started JOB GENERATION: its lines in $starts, in the order of ranks.
started() { grep "^$1 $2 " "$starts" | sort -n -k 3; }
# all_started JOB AFTER [REPLICAS]: it runs in a generation after AFTER, with this number, and all its replicas have begun.
all_started()
{
    local generation=0 replicas=0
    read -r generation replicas < <(of "$1" 'select (.phase == "running") | "\(.generation) \(.replicas)"')
    [ "${generation:-0}" -gt "$2" ] && [ "$replicas" = "${3-$replicas}" ] && [ "$(started "$1" "$generation" | wc -l)" = "$replicas" ]
}

# ---- Counting samples ---------------------------------------------------------------------------

# $counter is a job whose rank 0 counts samples into $tmp/counts/JOB until the file $tmp/end/JOB exists.  It saves after each
# $interval samples and at SIGTERM.  A line is "GENERATION SAMPLE".
interval=5
counter=$tmp/counter
mkdir -m 777 "$tmp/counts"
cat >"$counter" <<END
#!/bin/bash
saved=\$POLLUX_CHECKPOINT_DIR/sample
save() { echo "\$n" >"\$saved.\$POLLUX_GENERATION" && mv "\$saved.\$POLLUX_GENERATION" "\$saved"; }
trap 'stop=143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
n=\$(cat "\$saved" 2>/dev/null || echo 0)
stop=
while [ ! -e "$tmp/end/\$POLLUX_JOB" ] && [ -z "\$stop" ]; do
    if [ "\$RANK" = 0 ]; then
        n=\$((n + 1))
        echo "\$POLLUX_GENERATION \$n" >>"$tmp/counts/\$POLLUX_JOB"
        [ \$((n % $interval)) != 0 ] || save
    fi
    sleep 0.2
done
[ "\$RANK" != 0 ] || save
exit "\${stop:-0}"
END
chmod 755 "$counter"

# exact JOB: each generation continues where a checkpoint of the one before ended; none counts after a later one has begun; the
# last checkpoint has the last sample.
exact()
{
    awk -v most=$interval '
        NR == 1 && $2 != 1 { print "begins with", $2; exit bad = 1 }
        NR > 1 && $1 < generation { print "generation", $1, "counts after", generation; exit bad = 1 }
        NR > 1 && $1 == generation && $2 != last + 1 { print "generation", $1, "counts", $2, "after", last; exit bad = 1 }
        NR > 1 && $1 > generation && ($2 > last + 1 || $2 + most < last) { print "generation", $1, "begins with", $2, "after", last; exit bad = 1 }
        { generation = $1; last = $2 }
        END { if (!bad) exit !last }' "$tmp/counts/$1" &&
        [ "$(tail -n 1 "$tmp/counts/$1" | cut -d ' ' -f 2)" = "$(cat "$tmp/home/ann/.pollux/checkpoints/$1/sample")" ]
}
