#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The backend `slurm` with a real Slurm on the loopback address: placements, broken commands and, for an ordinary user, nodes that
# others take, drained nodes, and faults of every part.  After each of them the job goes on, no generation runs twice, and nothing counts as a failure of the job.  The owner is
# `nobody` if root runs this, else the user who does.
# shellcheck disable=SC2086  # POLLUX and POLLUXD may have several words
. tests/slurm/lib_slurm.sh
separate=false # tests/slurm/users.sh and this one are about owners and jobs; nodes are processes of this machine
export POLLUX_MUNGE_SOCKET=$cluster/munge/socket
owner=$(id -un) daemon_user=()
mkdir -m 755 "$tmp/bin" "$tmp/stub"
cp "${POLLUX%% *}" "$tmp/bin/pollux"
cp "${POLLUXD%% *}" "$tmp/bin/polluxd"
POLLUX=$tmp/bin/pollux POLLUXD=$tmp/bin/polluxd
if [ "$(id -u)" = 0 ]; then
    owner=nobody daemon_user=(--run-as daemon)
    install -d -m 700 -o daemon "$state"
fi
install -d -m 700 -o "$owner" "$tmp/files"
root=("${daemon_user[@]}")
cat >"$tmp/polluxd.yaml" <<END
backend: slurm
auth: munge
interval: 1
restart_delay: 0
slurm: {partition: main, directory: $tmp/files, min_uid: 1, defaults: {memory_per_replica: 10}}
END
chmod 644 "$tmp/polluxd.yaml"

as_owner() { (cd / && if [ "$(id -u)" = 0 ]; then setpriv --reuid=$owner --regid="$(id -g $owner)" --clear-groups -- "$@"; else "$@"; fi); }
# pollux as the owner, who signs with munge.
pollux() { as_owner env -u POLLUX_STATE HOME=/nonexistent "$POLLUX" "$@" --server "$(head -n 1 "$state/address" 2>/dev/null)"; }
answers() { [ -e "$state/address" ] && pollux list; }
service() { start_daemon --config "$tmp/polluxd.yaml" "$@"; }

# running WORLD: a generation of that many replicas runs, and each of its ranks has started once.
generation() { of elastic .generation; }
running()
{
    local world=$1 number
    number=$(generation)
    is elastic ".replicas == $world" >/dev/null &&
        [ "$(awk -v g="$number" -v w="$world" '$1 == "elastic" && $2 == g && $4 == w { print $3 }' "$starts" | sort -n | tr '\n' ' ')" = \
            "$(seq -s ' ' 0 $((world - 1))) " ]
}
# placed WORLD COUNTS: its replicas per node, in the order of ranks.
placed() { running "$1" && [ "$(awk -v g="$(generation)" '$2 == g { print $3, $5 }' "$starts" | sort -n | awk '{ print $2 }' | uniq -c | awk '{ printf "%s%s", c, $1; c = " " }')" = "$2" ]; }
# later NUMBER WORLD: a later generation runs.
later() { [ "$(generation)" -gt "$1" ] && running "$2"; }
slots_are() { [ "$(pollux nodes --json | jq -r '[.nodes[] | if .available then .slots else 0 end] | join(" ")')" = "$1" ]; }
limit() { pollux scale elastic --min "$1" --max "$1"; }
first_id() { squeue -h -n "elastic.$(generation).0" -o %i | head -n 1; }
no_failures() { is elastic ".failures == 0" || { grep "generation ended" "$log" | grep -v how=stopped; false; }; }

# ---- Placements -----------------------------------------------------------------------------------

nodes_are() { [ "$(sinfo -h -N -p main -o %T | grep -c "^$1\$")" = ${#nodes[@]} ]; } # there are two partitions
cluster_up 3 4 PreemptType=preempt/partition_prio PreemptMode=CANCEL \
    "PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=off State=UP"
service
soon "the nodes of the partition are found" slots_are "4 4 4"
cat >"$tmp/elastic.yaml" <<END
name: elastic
command: [$worker]
directory: /
min_replicas: 1
max_replicas: 1
preemptible: true
END
chmod 644 "$tmp/elastic.yaml"
run pollux submit "$tmp/elastic.yaml"
expect "a job is submitted" status=0 out=elastic
soon "one replica runs" running 1
limit 8
soon "eight run on two nodes" placed 8 "4 4"
run pollux logs --all elastic
expect "the logs of all generations, from the owner's directory" status=0 out~'^==> job elastic, generation 1, rank 0 <==$' \
    out~"^==> job elastic, generation $(generation), rank 0 <==\$" out!'removed'
check "the oldest generation that is kept is written down" [ "$(cat "$tmp/files/run/elastic/$(generation)/oldest")" = 1 ]
run pollux logs --generation 1 --rank 5 elastic
expect "a log that is not there: why" status=0 out~'^pollux: job elastic, generation 1, rank 5: there is no log: it had no replica of this rank'
run pollux show elastic
expect "show: its checkpoints" status=0 out~"^checkpoints +$tmp/files/checkpoints/elastic\$"

# ---- Others, ends from outside, faults ------------------------------------------------------------

# As root, tests/slurm/jobs.sh and jobs_faults.sh have these and more, on separate nodes.
if [ "$(id -u)" != 0 ]; then
    sbatch_other() { (cd / && sbatch --parsable -o /dev/null --mem=1 "$@" --wrap 'exec sleep 1000'); }
    limit 1
    soon "one again" running 1
    limit 2
    soon "two" running 2
    node=$(awk -v g="$(generation)" '$2 == g { print $5; exit }' "$starts")
    others=()
    for n in n0 n1 n2; do
        case $n in
        "$node") ;;
        *) others+=("$(sbatch_other -w $n --gres=gpu:$((1 + 2 * ${#others[@]})))") ;;
        esac
    done
    soon "slots are what others leave" eval '[ "$(pollux nodes --json | jq "[.nodes[].slots] | add")" = 8 ]'
    limit 8
    soon "an uneven placement runs exactly as planned" eval 'running 8 && [ "$(awk -v g="$(generation)" "\$2 == g { print \$5 }" "$starts" | sort | uniq -c | awk "{ print \$1 }" | sort -n | tr "\n" " ")" = "1 3 4 " ]'
    scancel "${others[@]}"
    soon "slots come back" slots_are "4 4 4"
    limit 3
    soon "three replicas run" running 3
    scontrol update NodeName=n0 State=drain Reason=test
    soon "a drained node is left" eval 'running 3 && ! awk -v g="$(generation)" "\$2 == g { print \$5 }" "$starts" | grep -q n0'
    scontrol update NodeName=n0 State=resume
    soon "it comes back" slots_are "4 4 4"

    # Ends from outside.

    before=$(generation)
    as_owner scancel "$(first_id)"
    soon "it goes on after scancel" later $before 3
    before=$(generation)
    scontrol update JobId="$(first_id)" TimeLimit=0:01
    soon "it goes on after its time limit" later $before 3
    before=$(generation)
    high=$(sbatch_other -p high --exclusive -w "$(squeue -h -j "$(first_id)" -o %N)")
    soon "it goes on after a preemption" later $before 3
    scancel "$high"
    check "none of these is a failure of the job" no_failures

    # Faults.

    stop_daemon KILL
    service
    soon "the next polluxd adopts it" running 3
    world=4
    for fault in spawn:1 spawned:1; do
        stop_daemon
        POLLUX_FAULT=$fault launch_daemon --config "$tmp/polluxd.yaml"
        until_true answers
        limit $world
        until_gone "$daemon"
        daemon=
        service
        soon "killed at $fault: exactly one generation runs" running $world
        check "killed at $fault: no Slurm job runs twice" [ "$(squeue -h -t R -o %j | sort | uniq -d | wc -l)" = 0 ]
        world=$((world + 1))
    done
    kill -KILL "$(pgrep -P "$daemon" -u "$([ "$(id -u)" = 0 ] && echo root || id -un)" | head -n 1)"
    soon "polluxd ends without its root process" until_gone "$daemon"
    daemon=
    service
    soon "and the next one goes on" running 5
    slurmctld_kill
    limit 2
    slurmctld_start
    soon "slurmctld killed during a stop" running 2
fi

# ---- Broken commands ------------------------------------------------------------------------------

# Every command of Slurm that the service runs, with faults: $tmp/stub/COMMAND.fault has one of the words below.
for command in sbatch squeue sinfo scontrol scancel; do
    cat >"$tmp/stub/$command" <<END
#!/bin/sh
case \$(cat "$tmp/stub/$command.fault" 2>/dev/null) in
garbage) head -c 3000 /dev/urandom; exit 0 ;;
nonsense) echo nonsense; exit 0 ;;
failure) echo '$command: error: Batch job submission failed: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
hang) exec sleep 1000 ;;
esac
exec $(command -v $command) "\$@"
END
    chmod 755 "$tmp/stub/$command"
done
# fault WORD COMMAND...; mend COMMAND...
fault() { local word=$1; shift; for command; do echo "$word" >"$tmp/stub/$command.fault"; done; }
mend() { for command; do rm -f "$tmp/stub/$command.fault"; done; }
stop_daemon
fault nonsense sbatch
PATH=$tmp/stub:$PATH service
limit 4
soon "sbatch answers nonsense: its generation ends" eval 'grep -q "sbatch did not answer" "$log"'
fault failure sbatch
soon "sbatch fails: its generation ends" eval 'grep -q "Unable to contact" "$log"'
mend sbatch
soon "and the next one runs" running 4
check "none of these is a failure of the job" no_failures

fault garbage scontrol
soon "garbage of scontrol is refused" eval 'grep -q "nodes of Slurm are not known: scontrol" "$log"'
mend scontrol
scontrol update NodeName=n2 State=drain Reason=test
soon "the nodes are known again" slots_are "4 4 0"
scontrol update NodeName=n2 State=resume
soon "all of them" slots_are "4 4 4"
fault garbage squeue sinfo
soon "garbage of squeue and sinfo is refused" eval 'grep -q "Slurm does not answer: squeue" "$log" && grep -q "nodes of Slurm are not known: sinfo" "$log"'
limit 2
check "the nodes stay known, and the job stays" eval 'slots_are "4 4 4" && is elastic ".phase == \"running\""'
mend squeue sinfo
soon "the change happens when they answer again" running 2
generation=$(generation)
fault hang squeue sinfo scontrol scancel
limit 5
hung() { pgrep -u "${daemon_user[1]-$owner}" -f "sleep 1000" | wc -l; }
soon "commands hang" eval '[ "$(hung)" -ge 2 ]'
for ((i = 0; i < 5; i++)); do holds "polluxd answers while commands hang" answers; done
check "nothing new runs meanwhile" [ "$(of elastic .generation)" = "$generation" ]
mend squeue sinfo scontrol scancel
soon "hanging commands are killed, and the change happens" running 5
soon "none of them is left" eval '[ "$(hung)" = 0 ]'
check "none of these is a failure of the job" no_failures

# ---- A job that Slurm does not take ---------------------------------------------------------------

# sbatch's messages contain words of the job.  Such a refusal is the job's failure, and delays no other job.
sed -e 's/name: elastic/name: wrong/' -e '/preemptible/d' "$tmp/elastic.yaml" >"$tmp/wrong.yaml"
echo 'max_failures: 2
backoff: 1
slurm: {partition: "munge"}' >>"$tmp/wrong.yaml"
chmod 644 "$tmp/wrong.yaml"
excuses() { pollux events --json | jq -s '[.[] | select (.type == "EXIT" and .body.kind == "again")] | length'; }
before=$(excuses)
pollux submit "$tmp/wrong.yaml" >/dev/null
soon "a partition of that name is the job's failure" is wrong '.phase == "failed" and .failures == 3'
check "with the words of sbatch" eval 'pollux show wrong | grep -q "Slurm did not take it: .*munge"'
check "the failures of sbatch before were excused, these are not" eval "[ $before -ge 2 ] && [ \$(excuses) = $before ]"
check "every rank of every generation started at most once" [ "$(awk '{ print $1, $2, $3 }' "$starts" | sort | uniq -d | wc -l)" = 0 ]

end elastic
soon "the job finishes" is elastic '.phase == "finished"'
soon "Slurm has nothing of it left" eval '[ -z "$(squeue -h -o %j | grep elastic)" ]'
stop_daemon
