#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every part of the service is killed once while a job counts samples: polluxd while it writes its journal and between START, sbatch
# and its answer, the root process, slurmctld, slurmd, munged, supervisors and replicas.  The job goes on, no generation runs twice, no sample is lost.
. tests/slurm/lib_service.sh
faults="append:2 commit:3 committed:4 spawn:1 spawn:2 spawned:1 spawned:2"
[ -z "${POLLUX_SOAK-}" ] || faults=$(echo {append,commit,committed}:{1,2,3,4,5,6} {spawn,spawned}:{1,2})
ulimit -c 0

# sbatch that answers late: it waits while $tmp/late/hold exists, after Slurm has taken the job.
mkdir -m 777 "$tmp/late"
mkdir -m 755 "$tmp/path"
cat >"$tmp/path/sbatch" <<END
#!/bin/sh
answer=\$($(command -v sbatch) "\$@") || exit
[ ! -e "$tmp/late/hold" ] || : >"$tmp/late/submitted"
while [ -e "$tmp/late/hold" ]; do sleep 0.1; done
echo "\$answer"
END
chmod 755 "$tmp/path/sbatch"
PATH=$tmp/path:$PATH
cluster_up 3 4

start_daemon
check "polluxd runs as an ordinary user, and one process as root" [ -n "$helper" ]
submit job --min 1 --max 1 --preemptible --backoff 1 --max-failures 2 -- "$counter"
soon "a job runs" all_started job 0

# resize N: another number of replicas.  It may be that no polluxd answers.
resize() { pollux scale job --min "$1" --max "$1"; }
# sized N: it runs with this number, and all replicas of this generation have begun, each once.
sized() { all_started job 0 "$1"; }
no_job_twice() { [ -z "$(slurm squeue -h -t R,PD -o %j | grep '^job\.' | sort | uniq -d)" ]; }
counts_on() { local lines; lines=$(wc -l <"$tmp/counts/job"); until_true more_than "$lines"; }
more_than() { [ "$(wc -l <"$tmp/counts/job")" -gt $(($1 + 2)) ]; }
# replicas_of GENERATION: its processes, on all nodes, with their ranks.  replica RANK: that of $generation.
replicas_of()
{
    local node pid
    for node in "${nodes[@]}"; do
        for pid in $(node_pids "$node" "$counter"); do
            ! grep -qszx "POLLUX_GENERATION=$1" "/proc/$pid/environ" ||
                echo "$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^RANK=//p') $pid"
        done
    done | sort -n
}
replica() { replicas_of "$generation" | awk -v rank="$1" '$1 == rank { print $2; exit }'; }
dies() { ! lives "$daemon"; }
# survives NAME N: checks after a fault.
survives()
{
    soon "$1: the job runs with $2 replicas" sized "$2"
    holds "$1: each generation is in Slurm once" no_job_twice
    holds "$1: it counts on" counts_on
    holds "$1: it is not the job's failure" is job '.failures == 0'
}

# ---- polluxd --------------------------------------------------------------------------------------

# Five and six replicas in turn: both need two nodes, hence two sbatch.
size=5
declare -A died=() # by kind of fault point
for fault in $faults; do
    stop_daemon
    POLLUX_FAULT=$fault launch_daemon
    until_true eval 'answers || dies'
    until_true eval "dies || resize $size" # it dies before it answers, or later
    if PATIENCE=10 until_true dies || dies; then died[${fault%:*}]=1; else kill -KILL "$daemon"; fi
    until_daemon_is_gone
    start_daemon
    resize $size >/dev/null
    survives "kill -9 at $fault" $size
    size=$((11 - size))
done
check "polluxd died at each kind of fault point: ${!died[*]}" [ ${#died[@]} = 5 ]

: >"$tmp/late/hold"
resize $size >/dev/null
soon "Slurm has taken a job, and sbatch has not answered" [ -e "$tmp/late/submitted" ]
stop_daemon KILL
rm "$tmp/late/hold"
start_daemon
survives "kill -9 between sbatch and its answer" $size

kill -KILL "$helper"
soon "polluxd ends without its root process" dies
check "it says why" grep -q 'the root process.*has ended' "$log"
until_daemon_is_gone
generation=$(tail -n 1 "$tmp/counts/job" | cut -d ' ' -f 1)
start_daemon
survives "kill -9 of the root process" $size
holds "kill -9 of the root process: the same generation runs" is job ".generation == $generation"

# ---- Slurm ----------------------------------------------------------------------------------------

resize 6 >/dev/null
soon "it runs on two nodes" sized 6
generation=$(of job .generation)
# slurmctld saves its state some seconds after a change.  What it forgets when it is killed before is like a job on a node that
# Slurm has lost.
save_slurm()
{
    touch "$tmp/mark"
    slurm scancel "$(foreign --hold)" # a change
    until_true is_saved
}
is_saved() { [ -n "$(find "$cluster/state/job_state" -newer "$tmp/mark")" ]; }
save_slurm
slurmctld_kill
sleep 1
slurmctld_start
until_true slurm scontrol ping
survives "kill -9 of slurmctld" 6
node=$(of job '.placement | keys[-1]')
slurmd_kill "$node"
sleep 1
slurmd_start "$node"
survives "kill -9 of a slurmd" 6
munged_kill "$node"
sleep 1
munged_start "$node"
survives "a munged was dead on a node" 6
holds "the same generation runs all the time" is job ".generation == $generation"

save_slurm
slurmctld_kill
resize 2 >/dev/null
sleep 2
slurmctld_start
survives "slurmctld was dead during a stop" 2
munged_kill login STOP
# Users cannot sign requests now, so an admin with a token asks for a change.
holds "polluxd answers while munged is stopped" node_exec login env POLLUX_STATE="$state" "$POLLUX" scale job --min 6 --max 6
sleep 3
munged_kill login CONT
survives "munged of polluxd was stopped during a change" 6

slurm scontrol suspend "$(share job 0)"
sleep 1
slurm scontrol resume "$(slurm squeue -h -t S -n "job.$(of job .generation).0" -o %i)"
survives "scontrol suspend and resume" 6

# A node whose slurmd stays away: Slurm gives its job up, and the replicas there go on until it is back.  Rank 0 counts on
# another node.
generation=$(of job .generation)
node=$(started job "$generation" | tail -n 1 | cut -d ' ' -f 5)
slurmd_kill "$node"
soon "after the end of a slurmd another generation runs" all_started job "$generation"
check "it does not use that node" [ "$(of job ".placement | has (\"$node\")")" = false ]
# planned_on NODE GENERATION: the later generations of the job that were to start on the node.
planned_on()
{
    sqlite3 -readonly "$state/journal.db" "SELECT body FROM events WHERE type = 'START' AND job = 'job'" |
        jq -c "select (.generation > $2 and (.placement | has (\"$1\")))"
}
check "none before it did" [ -z "$(planned_on "$node" "$generation")" ]
survives "the end of a slurmd" 6
slurmd_start "$node"
soon "the node is used again" slots_are '[4, 4, 4]'
soon "replicas that Slurm had given up are gone" eval '[ -z "$(replicas_of "$generation")" ]'
if [ -n "${POLLUX_SOAK-}" ]; then
    generation=$(of job .generation)
    node=$(started job "$generation" | tail -n 1 | cut -d ' ' -f 5)
    node_crash "$node"
    soon "after the crash of a node another generation runs" all_started job "$generation"
    survives "the crash of a node" 6
    node_boot "$node"
    soon "the crashed node is used again" slots_are '[4, 4, 4]'
fi

# ---- Supervisors and replicas ---------------------------------------------------------------------

generation=$(of job .generation)
kill -KILL "$(awk '/^PPid/ { print $2 }' "/proc/$(replica 4)/status")"
soon "after kill -9 of a supervisor another generation runs" all_started job "$generation"
survives "kill -9 of a supervisor" 6
generation=$(of job .generation)
kill -KILL "$(replica 3)"
soon "after kill -9 of a replica another generation runs" all_started job "$generation"
holds "that is the job's failure" is job '.failures == 1'
end_jobs job
holds "the job finishes" is job '.phase == "finished"'
check "all samples are counted, each once" exact job
soon "nothing of ours is left in Slurm" eval '[ -z "$(slurm squeue -h -u ann)" ]'
check_rest "at the end"
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
