# SPDX-License-Identifier: Apache-2.0
# The pilot: polluxd inside an allocation of Slurm, with steps as shares.  Placements are as planned, ranks and devices
# in order, every sample is trained once; after kills of polluxd, srun, supervisors and replicas, and after scancel, jobs go on
# and no generation runs twice.
. tests/slurm/lib_slurm.sh
cluster_up 4 4

pollux() { node_exec login "$POLLUX" "$@"; }
slurm() { node_exec login "$@"; }
# Processes with this command line, on all nodes.
processes() { local node; for node in "${nodes[@]}"; do node_pids "$node" "$1"; done | sort -un; }
daemon_pid() { processes "polluxd" | while read -r pid; do [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$POLLUXD")" ] && echo "$pid"; done; }

# pilot OPTION...: submit it, and wait until polluxd answers.
pilot()
{
    rm -f "$state/address"
    run pollux slurm-pilot --state "$state" "$@"
    expect "a pilot is submitted" status=0 out~'^Submitted batch job [0-9]+$'
    allocation=${out##* } log=$state/pilot-${out##* }.log
    until_true answers || { not_ok "polluxd answers in its allocation" "$(tell)" "$(cat "$log")"; exit 1; }
}

# ---- Placements, ranks and devices --------------------------------------------------------------

run pollux slurm-pilot --print --state /s -N4 --comment='a "b"' -- --interval 1
expect "the script can be printed" status=0 out~'#SBATCH -N4 "--comment=a \\"b\\""' err=
printf '%s\n' "$out" >"$tmp/script"
check "the script is a program of the shell" bash -n "$tmp/script"
run pollux slurm-pilot --print --state $'/s\n#SBATCH --account=x'
expect "a state directory is no line of the script" status=2 out= err~'--state'

# n1 and n2 have fewer slots than GPUs, so that eight replicas without n3 are uneven.
pilot -N4 --gpus-per-node=4 -t 60 -- --interval 1 --restart-delay 0 --node n0:4 --node n1:1 --node n2:3
nodes_known() { pollux nodes --json | jq -e '.nodes | map (.slots) == [4, 1, 3, 4]'; }
soon "the nodes of the allocation are known" nodes_known
if $separate; then
    check "polluxd listens on the address of its node, encrypted" grep -q '^https://10\.77\.0\.1:' "$state/address"
fi

cat >"$tmp/rank" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$LOCAL_RANK \$LOCAL_WORLD_SIZE \$CUDA_VISIBLE_DEVICES \$MASTER_ADDR:\$MASTER_PORT" >>"$starts"
while [ ! -e "$tmp/end/\$POLLUX_JOB" ]; do sleep 0.1; done
END
chmod 755 "$tmp/rank"
# started JOB GENERATION: its lines, in the order of ranks.
started() { grep "^$1 $2 " "$starts" | sort -n -k 3; }
# lists JOB GENERATION WORD...: whether these are node/local rank/devices of its ranks.
lists() { local job=$1 number=$2; shift 2; [ "$(started "$job" "$number" | awk '{ print $5 "/" $6 "/" $8 }' | tr '\n' ' ')" = "$* " ]; }
is_placed() { is "$1" ".phase == \"running\" and .placement == $2"; }

submit ranks --min 1 --max 1 --preemptible -- "$tmp/rank"
soon "one replica runs" is_placed ranks '{"n1": 1}'
pollux scale ranks --min 8 --max 8 >/dev/null
soon "eight run on two nodes" is_placed ranks '{"n0": 4, "n3": 4}'
soon "their ranks are in order, with their devices" lists ranks 2 n0/{0,1,2,3}/0,1,2,3 n3/{0,1,2,3}/0,1,2,3
pollux drain n3 >/dev/null
soon "the same number runs on three nodes, unevenly" is_placed ranks '{"n0": 4, "n1": 1, "n2": 3}'
# Ranks are in the order of the placement, which the policy chooses.
uneven=$(of ranks '.placement | to_entries[] | .key as $node | [range (.value)] as $all | $all[] | "\($node)/\(.)/\($all | map (tostring) | join (","))"')
# shellcheck disable=SC2086
soon "again in order" lists ranks 3 $uneven
check "all ranks have the same rendezvous" [ "$(started ranks 3 | cut -d ' ' -f 9 | sort -u | wc -l)" = 1 ]
pollux scale ranks --min 3 --max 3 >/dev/null
soon "three run on one node" lists ranks 4 n2/{0,1,2}/0,1,2
submit beside --min 2 --max 2 -- "$tmp/rank"
soon "another job runs beside it" is beside '.phase == "running"'
end_jobs ranks beside
holds "both have finished without a failure" is ranks '.phase == "finished" and .failures == 0 and .restarts == 3'
check_rest "after four generations"

# ---- Failures -----------------------------------------------------------------------------------

# goes_on NAME GENERATION: one check that job `job` runs with all replicas in a later generation.
later() { is job ".phase == \"running\" and .generation > $1" && [ "$(started job "$(of job .generation)" | wc -l)" = 8 ]; }
goes_on()
{
    soon "$1: the job goes on" later "$2"
    holds "$1: it is not the job's failure" is job '.failures == 0'
}
# step [NUMBER]: a step of the job, as JOBID.STEP.
step() { slurm squeue -h -s -o '%i %j' | awk -v n="${1-1}" '$2 ~ /^job\./ && ++i == n { print $1 }'; }

submit job --min 8 --max 8 --backoff 1 -- "$worker"
soon "a job runs on three nodes" later 0

generation=$(of job .generation) old=$(daemon_pid)
kill -KILL "$old"
soon "polluxd is started again" answers
holds "after kill -9 of polluxd: the same generation runs" is job ".phase == \"running\" and .generation == $generation"
check "it is another process on the same address" [ "$(daemon_pid)" != "$old" ]

slurm scancel "$(step)"
goes_on "after scancel of a step" "$generation"
generation=$(of job .generation)
slurm scancel -s KILL "$(step 2)"
goes_on "after scancel -s KILL of a step" "$generation"
generation=$(of job .generation)
# srun has two processes; Slurm ends the step when the first one dies.
kill -KILL "$(processes "job-name=job\.$generation\.0" | head -n 1)"
goes_on "after kill -9 of srun" "$generation"
generation=$(of job .generation)
# The supervisor of rank 5 is a child of its share.
supervisor() { processes "$worker" | while read -r pid; do grep -qzx "RANK=$1" "/proc/$pid/environ" && awk '/^PPid/ { print $2 }' "/proc/$pid/status"; done | head -n 1; }
kill -KILL "$(supervisor 5)"
goes_on "after kill -9 of a supervisor" "$generation"
generation=$(of job .generation)
sleep 5 # slurmctld writes its state some seconds after a change; it forgets steps that are younger
slurmctld_kill
slurmctld_start
holds "after kill -9 of slurmctld: the same generation runs" is job ".phase == \"running\" and .generation == $generation"
kill -KILL "$(processes "$worker" | while read -r pid; do grep -qzx 'RANK=5' "/proc/$pid/environ" && echo "$pid"; done | head -n 1)"
soon "a killed replica is a failure of the job" is job '.failures == 1'
soon "after that: the job goes on" later "$generation"
end_jobs job
holds "the job finishes" is job '.phase == "finished"'
check_rest "after failures"

# ---- Real training ------------------------------------------------------------------------------

# The C trainer with MPI through 1, 8, uneven 8 and 3 replicas; every sample is trained once per pass.
pollux resume n3 >/dev/null
trainer=$PWD/$(dirname "$POLLUX")/examples/trainer
trained() { [ "$(column "$tmp/trace" replicas 2>/dev/null | tail -n 40 | grep -c "^$1\$")" = 40 ]; }
if command -v mpirun >/dev/null && [ -x "$trainer" ] && $separate; then
    . tests/cli/lib_trainer.sh
    mkdir "$tmp/trace"
    submit mpi --adaptive --launcher mpi --grace 60 --backoff 1 --max 1 --env OMPI_MCA_mpi_yield_when_idle=1 \
        --env OMPI_ALLOW_RUN_AS_ROOT=1 --env OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 --env OMP_NUM_THREADS=1 \
        --checkpoint-dir "$tmp/saved" -- "$trainer" mlp --total 12000 --rate 0.05 --report 1 --trace "$tmp/trace" --pace-step 0.002
    soon "an MPI job trains with one replica" trained 1
    pollux scale mpi --min 8 --max 8 >/dev/null
    soon "it trains with eight" trained 8
    pollux drain n3 >/dev/null
    soon "it is placed unevenly" is_placed mpi '{"n0": 4, "n1": 1, "n2": 3}'
    soon "it trains there" trained 8
    pollux scale mpi --min 3 --max 3 >/dev/null
    soon "it trains with three" trained 3
    PATIENCE=600 soon "it finishes" is mpi '.phase == "finished"'
    holds "without a failure" is mpi '.failures == 0 and .restarts == 3'
    check "1, 8 and 3 replicas in turn" [ "$(column "$tmp/trace" replicas | uniq | tr '\n' ' ')" = "1 8 3 " ]
    check "no update is missing or made twice" cmp <(column "$tmp/trace" update) <(seq 0 $(($(updates "$tmp/trace") - 2)))
    check "every sample was seen once per pass" seen_once_per_pass "$tmp/trace"
else
    skip "no mpirun, no trainer, or no namespaces"
fi

# ---- The end ------------------------------------------------------------------------------------

slurm scancel "$allocation"
soon "the allocation ends" nodes_are idle
journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
holds "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$journal")" ]

# The allocation ends early: polluxd stops all jobs before, and the next one of the chain continues.
pilot -N4 --gpus-per-node=4 -t 60 --chain -- --interval 1 --restart-delay 0
submit chained --min 5 --max 5 --grace 5 -- "$worker"
soon "a job runs in a chain" is chained '.phase == "running"'
first=$allocation generation=$(of chained .generation)
check "the next allocation waits" [ "$(slurm squeue -h -t PD -o %j)" = pollux ]
slurm scontrol update jobid="$first" EndTime=now+1minutes
ended() { [ -z "$(slurm squeue -h -t R -j "$1" 2>/dev/null)" ]; }
soon "polluxd ends before the allocation" grep -q "the allocation ends" "$log"
soon "the first allocation ends" ended "$first"
check "no other reason" grep -q 'generation ended job=chained generation=1 how=stopped' "$log"
rm -f "$state/address"
soon "the next polluxd answers" answers
soon "the job continues in the next allocation" is chained ".phase == \"running\" and .generation == $((generation + 1)) and .failures == 0"
end_jobs chained
allocation=$(slurm squeue -h -t R -o %i) log=$state/pilot-$allocation.log
slurm scontrol update jobid="$allocation" EndTime=now+1minutes
idle() { [ -z "$(slurm squeue -h)" ]; }
soon "without jobs the chain ends" idle
