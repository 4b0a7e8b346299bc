# SPDX-License-Identifier: Apache-2.0
# An MPI job of the pilot that trains on two nodes, while its parts and those of Slurm fail: after each fault it trains on from a
# checkpoint, and at the end every sample was trained exactly as often as it should be, in spite of all repetitions.  Ranks
# and devices are right in every generation.
. tests/slurm/lib_pilot.sh
. tests/cli/lib_trainer.sh
$separate || { skip "no namespaces"; exit 0; }
cluster_up 3 4
start_pilot -N3 --gpus-per-node=4 -- --interval 1 --restart-delay 0 --node n0:2 --node n1:2 --node n2:2

cat >"$tmp/train" <<END
#!/bin/sh
trace=$tmp/trace/\$POLLUX_GENERATION
mkdir -p "\$trace"
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN \$LOCAL_RANK/\$CUDA_VISIBLE_DEVICES" >>"$starts"
exec "$trainer" mlp --total 200000 --rate 0.05 --max-batch 64 --samples 512 --report 1 --save 0.5 --pace-step 0.01 --trace "\$trace"
END
chmod 755 "$tmp/train"
submit job --adaptive --launcher mpi --grace 20 --backoff 1 --max-failures 99 --min 4 --max 4 --checkpoint-dir "$tmp/saved" \
    --env OMPI_MCA_mpi_yield_when_idle=1 --env OMPI_ALLOW_RUN_AS_ROOT=1 --env OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    --env OMP_NUM_THREADS=1 -- "$tmp/train"

# trains GENERATION CHECKPOINT: it trains in a generation from this one on, and has saved two checkpoints after this one.
newest() { ls "$tmp/saved" 2>/dev/null | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1; }
trains()
{
    local now
    now=$(of job .generation)
    [ "$now" -ge "$1" ] && [ "$(updates "$tmp/trace/$now")" -gt 20 ] && [ "$(newest)" -gt $(($2 + 1)) ]
}
soon "an MPI job trains with four replicas" trains 1 0

processes() { local node; for node in "${nodes[@]}"; do node_pids "$node" "$1"; done | sort -un; }
# replica RANK: its process in the newest generation.
replica()
{
    processes "trainer mlp.*trace/$(of job .generation) *" | while read -r pid; do
        grep -qzx "RANK=$1" "/proc/$pid/environ" && echo "$pid"
    done | head -n 1
}
parent() { awk '/^PPid/ { print $2 }' "/proc/$1/status"; }
step() { on_login squeue -h -s -o '%i %j' | awk '$2 ~ /^job\./ { print $1; exit }'; }

# A fault is a function; `again` if a later generation must follow it.
kill_replica() { kill -KILL "$(replica 3)"; }
kill_supervisor() { kill -KILL "$(parent "$(replica 2)")"; }
kill_srun() { kill -KILL "$(processes "job-name=job\.$(of job .generation)\.0" | head -n 1)"; }
kill_polluxd() { kill -KILL "$(polluxd_pid)"; }
cancel_step() { on_login scancel "$(step)"; }
kill_step() { on_login scancel -s KILL "$(step)"; }
kill_slurmctld() { sleep 5; slurmctld_kill; slurmctld_start; } # it forgets steps that are younger than some seconds
kill_slurmd() { slurmd_kill n1; sleep 1; slurmd_start n1; }
stop_munged() { munged_kill n0; sleep 2; munged_start n0; }
drain_node() { pollux drain n1 >/dev/null; }
resume_node() { pollux resume n1 >/dev/null; }
for fault in kill_replica:again cancel_step:again kill_supervisor:again kill_polluxd: kill_step:again drain_node:again stop_munged: \
    kill_srun:again kill_slurmctld: resume_node: kill_slurmd:; do
    generation=$(of job .generation) saved=$(newest)
    name=${fault%:*}
    "$name"
    [ -z "${fault#*:}" ] || generation=$((generation + 1))
    soon "after ${name/_/ of }: it trains on" trains "$generation" "$saved"
done

# ---- The end: all of it counts once -------------------------------------------------------------

pollux cancel job >/dev/null # it saves before it ends, so that all updates of its last generation count
soon "the job is stopped" is job '.phase == "cancelled"'

holds "every sample was trained once per pass, and no update is missing" trained_whole "$tmp/trace" 512
holds "no replica was started twice" [ -z "$(twice)" ]

# in_order: in every generation that started whole, ranks are 0 to 3 in the order of nodes, two on each, with both devices.
in_order()
{
    sort -k 2,2n -k 3,3n "$starts" | awk '
        { count[$2]++; line[$2] = line[$2] " " $3 ":" $8; node[$2, $3] = $5; if ($4 != 4) { print "world", $0; exit 1 } }
        END {
            for (g in count) {
                if (count[g] != 4) continue # it was stopped before all of it ran
                whole++
                if (line[g] != " 0:0/0,1 1:1/0,1 2:0/0,1 3:1/0,1" || node[g, 0] != node[g, 1] || node[g, 2] != node[g, 3] || node[g, 0] == node[g, 2]) {
                    print "generation", g ":" line[g]; exit 1
                }
            }
            exit whole < 6
        }'
}
holds "ranks, nodes and devices are in order in every generation" in_order
on_login scancel "$pilot"
soon "the allocation ends" nodes_are idle
journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
holds "no generation ran twice" [ -z "$(crowded "$journal")" ]
