#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Many jobs on a made-up cluster of Slurm while parts of it fail at random: polluxd, srun, supervisors, replicas, slurmd,
# slurmctld, munged, steps, jobs, nodes and their network; jobs of others take GPUs.  At the end every job is done, none is
# lost, no generation ran twice, and every sample was trained as often as it should be (storm_replica.c).
#
# There are 200 jobs and 500 faults in all: 100 jobs and 250 faults with the service (backend slurm), then as many with the pilot
# (slurm-steps).  With STORM_WAYS="service" or "pilot" all of them are for that one.  A small storm of two minutes:
#
#     STORM_JOBS=20 STORM_FAULTS=20 STORM_NODES=4 POLLUX=build/gcc/pollux bash tests/soak/slurm_storm.sh
#
# STORM_SEED repeats the choices; times differ.  STORM_KEEP=DIR keeps logs and traces.
# shellcheck disable=SC2086  # POLLUX and POLLUXD may have several words
if [ "$(id -u)" = 0 ] && [ -z "${POLLUX_OWN_MOUNTS-}" ] && unshare --mount true 2>/dev/null; then
    POLLUX_OWN_MOUNTS=1 exec unshare --mount -- bash "$0" "$@"
fi
. tests/slurm/lib_slurm.sh
kill_wait_s=30 # as Slurm's default: a pilot that is cancelled keeps its chain while slurmctld starts again
if [ -z "${POLLUX_OWN_MOUNTS-}" ] || ! $separate; then
    skip "it needs root, and namespaces"
    exit 0
fi
all_jobs=${STORM_JOBS-200} all_faults=${STORM_FAULTS-500} node_count=${STORM_NODES-16} gpus=8
RANDOM=${STORM_SEED-$$}
echo "note: storm of $all_jobs jobs and $all_faults faults on $node_count nodes, seed ${STORM_SEED-$$}"
ulimit -c 0

# ---- Programs and users ---------------------------------------------------------------------------

mkdir -m 755 "$tmp/bin" "$tmp/home"
cp "${POLLUX%% *}" "$tmp/bin/pollux"
cp "${POLLUXD%% *}" "$tmp/bin/polluxd"
cc -O2 -Iinclude tests/soak/storm_replica.c "$(dirname "$POLLUX")/libpollux.a" -lm -o "$tmp/bin/storm_replica" || exit 1
POLLUX=$tmp/bin/pollux POLLUXD=$tmp/bin/polluxd
cp /etc/passwd "$tmp/passwd"
cp /etc/group "$tmp/group"
for user in ann:70001 pollux:70002; do
    echo "${user%:*}:x:${user#*:}:${user#*:}::$tmp/home/${user%:*}:/bin/sh" >>"$tmp/passwd"
    echo "${user%:*}:x:${user#*:}:" >>"$tmp/group"
    install -d -m 700 -o "${user#*:}" -g "${user#*:}" "$tmp/home/${user%:*}"
done
mount --bind "$tmp/passwd" /etc/passwd
mount --bind "$tmp/group" /etc/group

slurm() { node_exec login timeout 20 "$@"; }
pollux_of_pilot() { node_exec login timeout 20 "$POLLUX" "$@"; }
pollux_of_service()
{
    node_exec login timeout 20 setpriv --reuid=ann --regid=ann --init-groups -- env -u POLLUX_STATE HOME="$tmp/home/ann" \
        "$POLLUX" "$1" --server http://10.77.0.202:7467 "${@:2}"
}
pollux() { "pollux_of_$way" "$@"; }

# ---- Finding victims ------------------------------------------------------------------------------

# one_of WORD...: a random one, in $one; fails if there is none.
one_of()
{
    [ $# -gt 0 ] || return 1
    shift $((RANDOM % $#))
    one=$1
}
# processes REGEX: of this storm, on all nodes.
processes() { grep -lsaP -e "${1// /\\x00}" /proc/[0-9]*/cmdline | cut -d / -f 3; }
no_replica() { [ -z "$(replicas)" ]; }
replicas() { processes "^$tmp/bin/storm_replica"; }
parent() { awk '/^PPid/ { print $2 }' "/proc/$1/status"; }
# polluxds: the daemons; the small root process of the service is a child of one, and not listed.
polluxds()
{
    local pid
    for pid in $(processes "^$tmp/bin/polluxd"); do
        [ "$(readlink "/proc/$(parent "$pid")/exe")" = "$POLLUXD" ] || echo "$pid"
    done 2>/dev/null
}
# A node without a fault.
sound_node()
{
    local node sound=()
    for node in "${nodes[@]}"; do [ -n "${broken[$node]-}" ] || sound+=("$node"); done
    # Half of the cluster works at any time.
    [ ${#sound[@]} -gt $((node_count / 2)) ] && one_of "${sound[@]}"
}

# ---- Faults ---------------------------------------------------------------------------------------

declare -A broken=()  # by node or daemon: "SECONDS COMMAND": when and how it is repaired
declare -A counted=() # by kind: how many

# breaks WHAT LEAST MOST COMMAND: it is repaired after that many seconds.
breaks() { broken["$1"]="$((SECONDS + $2 + RANDOM % ($3 - $2 + 1))) $4"; }
repair()
{
    local what due command
    for what in "${!broken[@]}"; do
        read -r due command <<<"${broken[$what]}"
        [ $SECONDS -ge $((due - ${1-0})) ] || continue
        $command "$what" >/dev/null 2>&1 || [ $SECONDS -ge $((due + 60)) ] || continue # without slurmctld it fails
        unset "broken[$what]"
    done
}

fault_polluxd() { one_of $(polluxds) && kill -KILL "$one"; }
fault_replica() { one_of $(replicas) && kill -KILL "$one"; }
fault_supervisor() { one_of $(replicas) && kill -KILL "$(parent "$one")"; }
fault_share() { one_of $(processes "^$tmp/bin/pollux exec --share") && kill -KILL "$one"; }
fault_srun() { one_of $(processes "^srun .*$tmp/.*(storm|--share)") && kill -KILL "$one"; }
fault_slurmd() { sound_node && slurmd_kill "$one" && breaks "$one" 1 12 slurmd_start; }
fault_slurmctld() { [ -z "${broken[ctl]-}" ] && slurmctld_kill && breaks ctl 0 6 restart_slurmctld; }
# A slurmctld that was killed has forgotten what happened some seconds before.  It uses the numbers of the last jobs again,
# and nodes that still have those jobs are drained for an administrator to look at.  Nodes that were resumed are drained again.
restart_slurmctld()
{
    slurmctld_start
    breaks 'Duplicate jobid' 5 10 resume_all
}
# resume_all REASON: the nodes that are drained for it; '': for any.
resume_all()
{
    local nodes
    nodes=$(slurm sinfo -h -N -t drain -o '%N %E' | awk -v reason="$1" 'index ($0, reason) { print $1 }' | sort -u | paste -sd ,)
    [ -z "$nodes" ] || slurm scontrol update NodeName="$nodes" State=resume
}
# A job that a slurmctld started, forgot when it was killed, and could not start again is held by Slurm: its user releases it
# (docs/slurm.md, Troubles).
release_held()
{
    local held
    held=$(slurm squeue -h -t PD -o '%i %r' 2>/dev/null | awk '/launch failed requeued held/ { print $1 }' | paste -sd ,)
    [ -z "$held" ] || slurm scontrol release "$held"
}
fault_cut()
{
    local how
    sound_node || return
    how=$((RANDOM % 3))
    case $how in
    0) node_cut "$one" ;;
    1) node_cut "$one" in ;;
    2) node_cut "$one" out ;;
    esac
    breaks "$one" 1 15 node_join
}
fault_drain() { sound_node && slurm scontrol update NodeName="$one" State=drain Reason=storm && breaks "$one" 1 10 undrain; }
undrain() { slurm scontrol update NodeName="$1" State=resume; }
fault_scancel()
{
    if [ $way = pilot ]; then
        one_of $(slurm squeue -h -s -o '%i %j' | awk '$2 ~ /^storm/ { print $1 }') && slurm scancel "$one"
    else
        one_of $(slurm squeue -h -t R -o %i) && slurm scancel "$one"
    fi
}
fault_munged() { sound_node && munged_kill "$one" && breaks "$one" 1 8 munged_start; }
# A Slurm job of another user takes GPUs for some seconds, or waits for them.
fault_foreign()
{
    one=$(slurm sbatch --parsable -J foreign -N1 -n1 --mem=100 --gpus-per-node=$((1 + RANDOM % gpus)) -o /dev/null --wrap 'sleep 100') &&
        breaks "foreign.$one" 3 15 end_foreign
}
end_foreign() { slurm scancel "${1#foreign.}"; }
# Not a fault, but it divides anew.
fault_scale() { one_of $(pollux list --phase running --quiet) && pollux scale "$one" --min 1 --max $((1 + RANDOM % 4)); }

# After an administrator has looked at the drained ones.
idle_again() { resume_all '' >/dev/null 2>&1; nodes_are idle; }

# The nodes that failed leave a pilot's allocation: at its end the next one of the chain continues.
# A person who cancels it looks whether it is gone: a slurmctld that is killed at that moment does not know it any more.
fault_allocation() { one_of $(slurm squeue -h -t R -n pollux -o %i) && slurm scancel "$one" && breaks "allocation.$one" 10 15 end_allocation; }
end_allocation()
{
    slurm scancel "${1#allocation.}"
    ! slurm squeue -h -t R -o %i | grep -qx "${1#allocation.}"
}
kinds_service=(polluxd replica supervisor share slurmd slurmctld munged cut drain foreign scancel scale)
kinds_pilot=(polluxd replica supervisor share srun slurmd slurmctld munged cut drain foreign scancel scale)

# progress: one line.
progress()
{
    echo "note: $way: $1 after $((SECONDS - since)) s: $(pollux list --all --json 2>/dev/null |
        jq -r '[.jobs[].phase] | group_by (.) | map ("\(.[0]) \(length)") | join (", ")'), $(replicas | wc -l) replicas," \
        "$(grep -c '^start' "$trace" ) starts"
}
storm()
{
    local -n kinds=kinds_$way
    local i kind
    for ((i = 1; i <= faults; i++)); do
        repair
        if [ $way = pilot ] && [ $((i % 40)) = 0 ]; then kind=allocation; else one_of "${kinds[@]}"; kind=$one; fi
        if "fault_$kind" >>"$tmp/faults.log" 2>&1; then
            counted[$kind]=$((${counted[$kind]-0} + 1))
            echo "$(date +%T) $kind $one" >>"$tmp/faults.log"
        else
            i=$((i - 1)) # there was no victim
        fi
        [ $((i % 10)) != 0 ] || [ $i = 0 ] || { release_held; progress "$i of $faults faults"; }
        sleep "$((RANDOM % 2)).$((RANDOM % 10))"
    done
    while [ ${#broken[@]} -gt 0 ]; do repair; sleep 0.5; done
    resume_all ''
}

# ---- Invariants -----------------------------------------------------------------------------------

all_done() { release_held; [ "$(pollux list --all --json | jq '[.jobs[] | select (.phase == "finished")] | length')" = "$jobs" ]; }
# Replicas that were started twice.
started_twice() { awk '$1 == "start" { print $2, $3, $4 }' "$trace" | sort | uniq -d; }
# Checkpoints that a later generation did not continue from, or that an old one published after a later one had begun.
lost_checkpoints()
{
    awk '$1 == "begin" { began[$2, $3] = $4; if ($3 > last[$2]) last[$2] = $3 }
         $1 == "saved" && $4 > saved[$2, $3] { saved[$2, $3] = $4 }
         END {
             for (job in last) {
                 most = 0; from = 0
                 for (g = 1; g <= last[job]; g++) {
                     if (((job, g) in began) && began[job, g] < most)
                         print job, "generation", g, "began at", began[job, g], "but generation", from, "had published", most
                     if (saved[job, g] > most) { most = saved[job, g]; from = g }
                 }
             }
         }' "$trace"
}
without_end() { for ((i = 0; i < jobs; i++)); do grep -q "^done storm$i " "$trace" || echo "storm$i"; done; }

# run_way: one storm, with a polluxd that answers.
run_way()
{
    local i passes
    jobs=$((all_jobs / ways)) faults=$((all_faults / ways)) since=$SECONDS
    for ((i = 0; i < jobs; i++)); do
        # A quarter of the jobs lasts until the storm has ended: a pilot's chain ends without jobs.
        passes=$((i % 4 == 0 ? 1000000 : 2 + RANDOM % 20))
        run pollux submit --name "storm$i" --min 1 --max $((1 + RANDOM % 4)) --preemptible --grace 5 --max-failures 1000 --backoff 0 \
            --directory / -- "$tmp/bin/storm_replica" 240 $passes "$trace" "$tmp/end/$way"
        [ "$status" = 0 ] || expect "$way: storm$i is accepted" status=0
    done
    progress "begins"
    storm
    progress "all faults"
    : >"$tmp/end/$way"
    PATIENCE=${STORM_PATIENCE-900} soon "$way: every job is done" all_done
    progress "ends"
    holds "$way: every job has counted its samples, exactly" [ -z "$(without_end; grep '^wrong' "$trace")" ]
    holds "$way: no replica was started twice" [ -z "$(started_twice)" ]
    holds "$way: no published checkpoint was lost, and none published late" [ -z "$(lost_checkpoints)" ]
    soon "$way: no replica is left" no_replica
    echo "note: $way: faults:$(for i in "${!counted[@]}"; do echo -n " $i ${counted[$i]}"; done)"
}
keep() { [ -z "${STORM_KEEP-}" ] || { mkdir -p "$STORM_KEEP/$way" && cp "$log" "$trace" "$tmp/faults.log" "$cluster/log/slurmctld" "$journal"* "$STORM_KEEP/$way"; }; }
tell()
{
    tail -n 8 "$log"
    pollux list 2>&1 | grep -v finished | head -n 12
    node_exec login timeout 5 sinfo -N -o '%N %T %E' 2>&1 | sort | uniq -c | head -n 8
    node_exec login timeout 5 squeue -o '%i %j %T %r %N' 2>&1 | head -n 8
    node_exec login timeout 5 squeue -s -o '%i %j %N' 2>&1 | head -n 8
    lost_checkpoints | head -n 5
    started_twice | head -n 5
    grep '^wrong' "$trace" | head -n 5
}

# ---- Both ways ------------------------------------------------------------------------------------

cluster_up $node_count $gpus
ways=$(wc -w <<<"${STORM_WAYS-service pilot}")
for way in ${STORM_WAYS-service pilot}; do
    state=$tmp/state.$way trace=$tmp/trace.$way counted=() broken=()
    export POLLUX_STATE=$state
    : >"$trace"
    : >"$tmp/faults.log"
    chmod 666 "$trace"
    case $way in
    service)
        install -d -m 700 -o pollux -g pollux "$state"
        log=$tmp/polluxd.service.log
        node_exec login bash -c "until [ -e '$tmp/stop' ]; do
            $POLLUXD --state $state --listen 10.77.0.202:7467 --backend slurm --partition main --auth munge --run-as pollux \
                --interval 3 --restart-delay 1; sleep 0.3; done" </dev/null >>"$log" 2>&1 &
        loop=$!
        ;;
    pilot)
        pollux slurm-pilot --state "$state" -N$((node_count / 2))-$node_count --gpus-per-node=$gpus -t 600 --chain -- \
            --interval 3 --restart-delay 1 >"$tmp/pilot"
        log=$state/pilot-$(awk '{ print $4 }' "$tmp/pilot").log
        ;;
    esac
    until_true pollux status || { not_ok "$way: polluxd answers" "$(tell)"; exit 1; }
    run_way
    case $way in
    service)
        : >"$tmp/stop"
        kill $(polluxds)
        wait $loop
        journal=$state/journal.db
        ;;
    pilot)
        slurm scancel $(slurm squeue -h -o %i)
        journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
        ;;
    esac
    holds "$way: no generation ran beside another of its job, no node had more replicas than slots" [ -z "$(crowded "$journal")" ]
    soon "$way: all nodes are idle again" idle_again
    keep
done
