#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# MPI jobs of the service: the C trainer through 1, 8, uneven 8 and 3 replicas, while parts of mpirun, of Slurm and of Pollux are
# killed.  Ranks and devices are right, every sample is trained exactly as often as it should be, and nothing is left.
. tests/slurm/lib_service.sh
. tests/cli/lib_trainer.sh
cluster_up 4 4

# Others have some GPUs of n1 and n2, so that eight replicas without n3 are uneven.
others=("$(foreign -w n1 --gres=gpu:3)" "$(foreign -w n2 --gres=gpu:1)")
start_daemon
soon "slots are what other Slurm jobs leave" slots_are '[4, 1, 3, 4]'

# Open MPI keeps files of killed processes in TMPDIR.  A srun that fails once if $tmp/fail/once exists stands for a slurmctld that
# does not answer at a start.
mkdir -m 777 "$tmp/mpi" "$tmp/trace" "$tmp/fail"
mkdir "$tmp/path"
cp "$trainer" "$tmp/bin/trainer"
cat >"$tmp/path/srun" <<END2
#!/bin/sh
rmdir "$tmp/fail/once" 2>/dev/null && echo "srun: error: Unable to contact slurm controller" >&2 && exit 1
exec $(command -v srun) "\$@"
END2
cat >"$tmp/train" <<END2
#!/bin/sh
trace=$tmp/trace/\$POLLUX_GENERATION
mkdir -p "\$trace"
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$LOCAL_RANK \$LOCAL_WORLD_SIZE \$CUDA_VISIBLE_DEVICES \$OMPI_COMM_WORLD_RANK" >>"$starts"
exec "$tmp/bin/trainer" mlp --total 200000 --rate 0.05 --max-batch 64 --samples 512 --report 1 --save 0.5 --pace-step 0.01 --trace "\$trace"
END2
chmod 755 "$tmp/train" "$tmp/path/srun" "$tmp/path"

submit job --adaptive --launcher mpi --grace 20 --backoff 1 --max-failures 99 --max 1 --env TMPDIR="$tmp/mpi" --env PATH="$tmp/path:/usr/bin:/bin" \
    --env OMPI_MCA_mpi_yield_when_idle=1 --env OMP_NUM_THREADS=1 -- "$tmp/train"

# trains GENERATION CHECKPOINT [REPLICAS]: it trains in a generation from this one on, and has saved two checkpoints after this one.
newest() { ls "$tmp/home/ann/.pollux/checkpoints/job" 2>/dev/null | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1; }
trains()
{
    local now
    now=$(of job .generation)
    [ "$now" -ge "$1" ] && [ "$(updates "$tmp/trace/$now")" -gt 20 ] && [ "$(newest)" -gt $(($2 + 1)) ] && all_started job 0 "${3-8}"
}
is_placed() { is job ".phase == \"running\" and .placement == $1"; }
# lists GENERATION WORD...: whether these are node/local rank of its ranks, which are also those of MPI, and each has one device for each
# replica of its node.
lists()
{
    local generation=$1
    shift
    [ "$(started job "$generation" | awk '{ print $5 "/" $6 }' | tr '\n' ' ')" = "$* " ] &&
        [ -z "$(started job "$generation" | awk '$3 != $9 || split($8, list, ",") != $7')" ]
}

soon "an MPI job trains with one replica" trains 1 0 1
saved=$(newest)
pollux scale job --min 8 --max 8 >/dev/null
soon "it trains with eight on two nodes" trains 2 "$saved"
holds "where they are planned" is_placed '{"n0": 4, "n3": 4}'
holds "ranks and devices are in order" lists 2 n0/{0,1,2,3} n3/{0,1,2,3}
check "they have the devices of their node" [ "$(started job 2 | cut -d ' ' -f 8 | uniq)" = 0,1,2,3 ]
saved=$(newest)
slurm scontrol update NodeName=n3 State=drain Reason=test
soon "after a drain it trains on three nodes" trains 3 "$saved"
holds "unevenly" is_placed '{"n0": 4, "n1": 1, "n2": 3}'
# in_order GENERATION: its ranks are in the order of its placement.
in_order() { lists "$1" $(of job '.placement | to_entries[] | .key as $node | range (.value) | "\($node)/\(.)"'); }
holds "ranks and devices are in order there" in_order 3
holds "without a failure" is job '.failures == 0'

# ---- Faults ---------------------------------------------------------------------------------------

processes() { local node; for node in n0 n1 n2 n3; do node_pids "$node" "$1"; done | sort -un; }
# replica RANK: its process in the newest generation.
replica()
{
    processes "trainer mlp.*trace/$(of job .generation) *" | while read -r pid; do
        grep -qzx "RANK=$1" "/proc/$pid/environ" && echo "$pid"
    done | head -n 1
}
parent() { awk '/^PPid/ { print $2 }' "/proc/$1/status"; }
kill_replica() { kill -KILL "$(replica 5)"; }
kill_supervisor() { kill -KILL "$(parent "$(replica 6)")"; }
kill_mpirun() { kill -KILL "$(processes '^mpirun ' | head -n 1)"; }
kill_orted() { kill -KILL "$(processes '^(\S*/)?orted ' | head -n 1)"; }
kill_proxy() { kill -KILL "$(processes '^[^ ]*/pollux exec --mpi ' | tail -n 1)"; }
kill_polluxd() { stop_daemon KILL; start_daemon; }
cancel_first() { slurm scancel "$(share job 0)"; }
cancel_last() { slurm scancel "$(share job 2)"; }
fail_srun() { mkdir -m 777 "$tmp/fail/once"; slurm scancel "$(share job 1)"; } # the next start
kill_slurmctld() { sleep 5; slurmctld_kill; slurmctld_start; } # it forgets jobs that are younger than some seconds
# fault:again if a later generation must follow it, :failure if it is a failure of the job.
for fault in kill_mpirun:failure kill_polluxd: kill_replica:failure cancel_first:again kill_orted:failure cancel_last:again \
    kill_supervisor:again fail_srun:again kill_slurmctld: kill_proxy:failure; do
    name=${fault%:*} kind=${fault#*:}
    generation=$(of job .generation) saved=$(newest) job_failures=$(of job .failures)
    "$name"
    [ -z "$kind" ] || generation=$((generation + 1))
    [ "$name" != fail_srun ] || generation=$((generation + 1))
    soon "after $name: it trains on" trains "$generation" "$saved"
    [ "$kind" != failure ] || job_failures=$((job_failures + 1))
    holds "after $name: failures are $job_failures" is job ".failures == $job_failures"
done

# ---- The end --------------------------------------------------------------------------------------

slurm scontrol update NodeName=n3 State=resume
soon "the drained node is used again" slots_are '[4, 1, 3, 4]'
generation=$(of job .generation) saved=$(newest) job_failures=$(of job .failures)
node_crash n2
soon "after the loss of a node it trains on others" trains $((generation + 1)) "$saved"
holds "and this is no failure" is job ".failures == $job_failures and (.placement | has (\"n2\") | not)"
generation=$(of job .generation) saved=$(newest)
pollux scale job --min 3 --max 3 >/dev/null
soon "it trains with three replicas" trains $((generation + 1)) "$saved" 3
pollux cancel job >/dev/null # it saves before it ends, so that all updates of its last generation count
soon "the job is stopped" is job '.phase == "cancelled"'
holds "every sample was trained once per pass, and no update is missing" trained_whole "$tmp/trace" 512
holds "no replica was started twice" [ -z "$(twice)" ]

# ---- Ranks that end at different times ------------------------------------------------------------

# On two nodes: n0 has ranks 0 to 3.
early=0
for first in 'RANK = 4' 'RANK != 4'; do
    name=early-$((++early))
    submit $name --launcher mpi --min 5 --max 5 --max-failures 0 --env TMPDIR="$tmp/mpi" -- sh -c "[ \$$first ] || sleep 4"
    soon "ranks of one node end early (\$$first): the job finishes" is $name '.phase == "finished" and .failures == 0'
done
submit bad --launcher mpi --min 5 --max 5 --max-failures 0 --env TMPDIR="$tmp/mpi" -- sh -c '[ $RANK != 4 ] || exit 7; exec sleep 1000'
soon "a rank that fails ends the job" is bad '.phase == "failed" and (.detail | test ("replica 4 ended with exit code 7"))'
nothing_left() { [ -z "$(processes '^mpirun |orted |trainer mlp| exec --(mpi|share)')" ] && [ -z "$(slurm squeue -h -u ann -o %i)" ]; }
soon "no process and no Slurm job is left" nothing_left
slurm scancel "${others[@]}"
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
