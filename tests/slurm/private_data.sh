# SPDX-License-Identifier: Apache-2.0
# PrivateData=jobs in slurm.conf, and polluxd's user is no operator: Slurm does not show the jobs that it takes from the service.
# They are cancelled by their ids, and the job starts again after pauses only.
. tests/slurm/lib_service.sh
cluster_up 2 2 PrivateData=jobs
start_daemon
submit job --max 2 --backoff 0 -- "$worker"
soon "the log has the reason" grep -q 'Slurm does not show our jobs: is PrivateData set?' "$log"
soon "the job waits for a pause" grep -q 'job job starts again in 10 s: .*PrivateData' "$log"
soon "nothing is left in Slurm" eval '[ -z "$(slurm squeue -h -t R,PD,CG)" ]'
holds "that is not the job's failure" is job '.failures == 0 and .phase != "failed"'
check "the reason is said once" [ "$(grep -c 'Slurm does not show our jobs' "$log")" = 1 ]
