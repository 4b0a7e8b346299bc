# SPDX-License-Identifier: Apache-2.0
# A chain of pilots: the node of polluxd crashes, after one of the nodes that watch it, a person cancels the allocation, or
# Slurm puts it into its queue again, or forgets the next one.  The next allocation continues with the same state directory, and no job is
# lost; without jobs none follows.
. tests/slurm/lib_slurm.sh
kill_wait_s=30 # as Slurm's default
$separate || { skip "no namespaces"; exit 0; }
cluster_up 5 4

pollux() { node_exec login "$POLLUX" "$@"; }
slurm() { node_exec login "$@"; }
one_waits() { [ "$(slurm squeue -h -t PD -o %E)" = "afterany:$(slurm squeue -h -t R -o %i)(unfulfilled)" ]; }
# After `rmdir forgotten` the next script that submits a next allocation gets a number that Slurm does not know, as after a crash
# of slurmctld.
mkdir -p "$tmp/double/forgotten"
cat >"$tmp/double/sbatch" <<END
#!/bin/bash
[ -z "\$SLURM_JOB_ID" ] || ! mkdir "$tmp/double/forgotten" 2>/dev/null || { echo 900000; exit; }
exec $(command -v sbatch) "\$@"
END
# The script looks for the next allocation after 20 s; here sooner, or much later while there is a file `late`.
cat >"$tmp/double/sleep" <<END
#!/bin/bash
[ "\$1" != 20 ] || if [ -e "$tmp/double/late" ]; then set -- 200; else set -- 3.25; fi
exec $(command -v sleep) "\$@"
END
# While there is a file `silent`, Slurm does not answer the script; it gets a line for each request.
cat >"$tmp/double/squeue" <<END
#!/bin/bash
[ ! -e "$tmp/double/silent" ] || { echo "\$*" >>"$tmp/double/silent"; exit 1; }
exec $(command -v squeue) "\$@"
END
chmod 755 "$tmp/double/sbatch" "$tmp/double/sleep" "$tmp/double/squeue"
rm -f "$state/address"
PATH=$tmp/double:$PATH run pollux slurm-pilot --state "$state" -N3 --gpus-per-node=4 -t 60 --chain -- --interval 1 --restart-delay 0
expect "a chain is submitted" status=0 out~'^Submitted batch job [0-9]+$'
log=$state/pilot-${out##* }.log
until_true answers || { not_ok "polluxd answers in its allocation" "$(tell)" "$(cat "$log")"; exit 1; }
submit job --min 6 --max 6 --backoff 1 -- "$worker"
started() { [ "$(grep -c "^job $1 " "$starts")" = 6 ] && is job ".phase == \"running\" and .generation == $1"; }
soon "a job runs" started 1

# ---- The node of polluxd crashes ----------------------------------------------------------------

# Before that a node that watches it: the others do the same.
first=$(slurm squeue -h -t R -o %i)
guards() { node_pids n1 'bash.-c.pause' && node_pids n2 'bash.-c.pause'; }
watch() { [ "$(guards | wc -l)" = 2 ]; }
soon "both other nodes watch" watch
node_crash n1
leaves() { [ "$(slurm squeue -h -j "$first" -o %D)" = 2 ]; }
soon "a node that watches leaves the allocation" leaves
node_crash n0
rm -f "$state/address"
other() { [ -n "$(slurm squeue -h -t R -o %i)" ] && [ "$(slurm squeue -h -t R -o %i)" != "$first" ]; }
soon "the next allocation starts" other
soon "its polluxd answers" answers
soon "the job continues there" started 2
holds "that is not its failure" is job '.failures == 0'

# ---- Slurm puts the allocation into its queue again ---------------------------------------------

# As after a failure to start the script, by the daemon of its first node.
first=$(slurm squeue -h -t R -o %i)
rm -f "$state/address"
slurm scontrol requeue "$first"
# Slurm would start it in two minutes.  If the script has ended before Slurm could queue it, the next allocation starts.
goes_on()
{
    [ "$(slurm squeue -h -j "$first" -o %r)" != BeginTime ] || slurm scontrol update JobId="$first" StartTime=now
    answers
}
soon "polluxd answers again" goes_on
soon "the job continues there again" started 3
holds "that is no failure" is job '.failures == 0'
holds "one next allocation waits for the one that runs" one_waits

# ---- A person cancels the allocation ------------------------------------------------------------

first=$(slurm squeue -h -t R -o %i)
rmdir "$tmp/double/forgotten"
rm -f "$state/address"
slurm scancel "$first"
soon "the next allocation starts after scancel" other
soon "its polluxd answers, too" answers
soon "the job continues there, too" started 4
holds "that is no failure, either" is job '.failures == 0'
first=$(slurm squeue -h -t R -o %i)
soon "a next allocation that Slurm has forgotten is submitted again" grep -qs 'does not know the next allocation' "$state/pilot-$first.log"

# ---- Slurm has forgotten the next allocation, and does not answer when this one ends --------------

soon "the next allocation is known" one_waits
touch "$tmp/double/late"
rmdir "$tmp/double/forgotten"
slurm scancel "$(slurm squeue -h -t R -o %i)"
soon "an allocation starts whose next one is forgotten" started 5
first=$(slurm squeue -h -t R -o %i)
rm "$tmp/double/late"
: >"$tmp/double/silent"
rm -f "$state/address"
slurm scancel "$first"
soon "its script asks Slurm at its end" grep -q -e '-t all' "$tmp/double/silent"
rm "$tmp/double/silent"
soon "it asks again, and submits the next one" grep -qs 'does not know the next allocation' "$state/pilot-$first.log"
soon "the job continues there" started 6
holds "without a failure" is job '.failures == 0'

# ---- The chain ends ----------------------------------------------------------------------------

first=$(slurm squeue -h -t R -o %i) batch=$(slurm squeue -h -t R -o %B)
soon "the next allocation waits for the one that runs" one_waits
soon "the script has confirmed it" eval '[ -z "$(node_pids "$batch" "sleep 3.25")" ]'
slurm sbatch -Q -J post -o /dev/null -d "afterany:$first" --wrap 'sleep 1000'
end_jobs job
holds "the job finishes" is job '.phase == "finished"'
kill -TERM "$(node_pids "$batch" 'polluxd --backend' | head -n 1)"
soon "without jobs no allocation follows, and another job that waits for the last one does" \
    eval '[ "$(slurm squeue -h -t R,PD,CG -o "%j %T")" = "post RUNNING" ]'
holds "no replica was started twice" [ -z "$(twice)" ]
