#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Groups of nodes on Slurm: polluxd orders and returns nodes with Slurm's power saving.  Here a node that is powered down has
# no slurmd; its commands write to a pipe, and this script starts and ends slurmd.
. tests/slurm/lib_service.sh
slurm_user=pollux # only Slurm's own user may change the power of nodes
power=$tmp/power
mkdir -m 777 "$power"
# Booting takes two seconds: Slurm counts uptimes in whole ones, and does not believe a node that seems to have booted before
# it was asked to.
for way in suspend resume; do
    cat >"$tmp/$way" <<END
#!/bin/sh
[ $way = suspend ] || sleep 2
for node in \$(SLURM_CONF=$SLURM_CONF scontrol show hostnames "\$1"); do echo "$way \$node" >>"$power/requests"; done
END
    chmod 755 "$tmp/$way"
done
: >"$power/requests"
chmod 666 "$power/requests"
cluster_up 4 2 SuspendProgram="$tmp/suspend" ResumeProgram="$tmp/resume" SuspendTime=86400 SuspendTimeout=2 ResumeTimeout=20 \
    SuspendRate=0 ResumeRate=0

# provide: carry out the requests so far.  It is called while this script waits.
done_requests=0
provide()
{
    local way node
    while read -r way node; do
        done_requests=$((done_requests + 1))
        if [ "$way" = suspend ]; then
            slurmd_kill "$node" TERM 2>/dev/null
        elif [ ! -e "$power/broken" ]; then
            node_exec "$node" slurmd -b -N "$node" # -b: it has booted
        fi
    done < <(tail -n +$((done_requests + 1)) "$power/requests")
}
# after CHECK...: provide, then check.
after() { provide; "$@"; }

# groups FILTER: of the groups, as polluxd lists them.
groups() { pollux groups --json | jq -er "$1"; }
in_state() { groups "[.groups[].nodes[] | select (.state == \"$1\") | .name] | sort | join (\" \")"; }
up_are() { [ "$(in_state up)" = "$1" ] && groups '[.groups[].states | .starting, .draining, .stopping, .failed] | add == 0'; }
in_slurm() { [ "$(slurm sinfo -h -N -o '%N %T' | sed -n "s/ $1\$//p" | sort | xargs)" = "$2" ]; }
cluster_file()
{
    echo "groups: [{name: gpu, type: a100, names: 'n[0-3]', gpus_per_node: 2, min: 0, max: 4, $1}]" >"$tmp/cluster.yaml"
}
regroup()
{
    cluster_file "$1"
    kill -HUP "$daemon"
}

cluster_file "nodes: 4, boot_s: 5"
start_daemon --cluster "$tmp/cluster.yaml"
soon "nodes that Slurm has are up" up_are "n0 n1 n2 n3"
node_exec login sbatch -Q --no-requeue -w n3 --gres=gpu:2 --wrap "exec sleep 1000" -o /dev/null
soon "a job of another user runs on n3" eval '[ "$(slurm squeue -h -t R -o %N)" = n3 ]'
regroup "nodes: 1, boot_s: 5"
soon "three are returned" after groups '.groups[0].states | .up == 1 and .off == 3'
soon "Slurm waits with n3 until the job of the other user ends" after in_slurm 'mixed!' n3
check "which runs on" [ "$(slurm squeue -h -t R -o %N)" = n3 ]
slurm scancel -w n3
soon "and Slurm has them powered down" after eval '[ "$(slurm sinfo -h -N -o %T | grep -c "~")" = 3 ]'
check "polluxd called no command for a node twice" [ "$(sort "$power/requests" | uniq -d | wc -l)" = 0 ]
up=$(in_state up)
submit waits --min 4 --max 4 -- "$worker"
sleep 3 # two sinfo queries
check "nodes that are powered down stay off" [ "$(in_state up)" = "$up" ]
check "a job that needs more waits" is waits '.phase == "pending"'
regroup "nodes: 3, boot_s: 5"
soon "two more are ordered, and come" after groups '.groups[0].states.up == 3'
soon "the job runs" after all_started waits 0 4
stop_daemon KILL
start_daemon --cluster "$tmp/cluster.yaml"
soon "polluxd is killed: the nodes are up" groups '.groups[0].states.up == 3'
soon "and the job runs on" is waits '.restarts == 0 and .replicas == 4'

# A notice: the node that its provider takes away.
leaving=$(of waits '.placement | keys[0]')
run as pollux env POLLUX_STATE="$state" "$POLLUX" drain "$leaving" --leaving 120
expect "a notice" status=0
soon "the job moves before the node is returned" after eval "is waits '.restarts == 1' && all_started waits 1 4"
check "to other nodes" is waits ".placement | has (\"$leaving\") | not"
soon "three nodes are up again" after groups '.groups[0].states.up == 3'
end_jobs waits

: >"$power/broken"
regroup "nodes: 4, boot_s: 5, boot_limit_s: 5"
soon "a node that Slurm does not bring has failed" after groups '.groups[0].states.failed == 1'
regroup "nodes: 0, boot_s: 5"
soon "all others are returned" after groups '.groups[0].states | .up == 0 and .stopping == 0'
soon "and powered down in Slurm" after eval '[ "$(slurm sinfo -h -N -o %T | grep -c "[~%]")" = 4 ]'
rm "$power/broken"
regroup "nodes: 4, boot_s: 5"
soon "after its pause it is ordered again, and comes" after up_are "n0 n1 n2 n3"
stop_daemon

# The size follows the jobs.
none_is_up() { groups '.groups[0].states | [.starting, .up, .draining, .stopping, .failed] | add == 0'; }
powered_down() { [ "$(slurm sinfo -h -N -o %T | grep -c "~")" = "$1" ]; }
cluster_file "boot_s: 5"
start_daemon --cluster "$tmp/cluster.yaml" --goal band:0.35,0.65
soon "without jobs all nodes are returned" after none_is_up
soon "and powered down in Slurm" after powered_down 4
for job in a b c; do
    submit $job --replicas 2 --no-preemptible -- "$worker"
done
soon "a burst of jobs powers nodes up" after groups '.groups[0].states.up >= 3'
for job in a b c; do
    soon "job $job runs" after all_started $job 0 2
done
end_jobs a b c
soon "they end: all nodes are returned" after none_is_up
soon "and powered down in Slurm again" after powered_down 4

# A node that is off, as far as polluxd knows, and that Slurm calls usable.
slurm scontrol update nodename=n3 state=power_up
soon "a node that is up although it was returned is noticed" after grep -q "a node is up that was returned, and that nobody ordered node=n3" "$log"
soon "and returned again" after none_is_up
soon "by Slurm, too" after powered_down 4
stop_daemon
cluster_down
