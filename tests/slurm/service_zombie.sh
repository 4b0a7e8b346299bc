#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A zombie of the service: slurmd dies and the node is cut off, Slurm gives its job up, but the replica there trains on and sees
# the shared file system.  The next generation starts elsewhere; the old one cannot publish a checkpoint, and the data stay whole.
. tests/slurm/lib_service.sh
# The owner of the job may have no access to the folder of the build.
mkdir "$tmp/bin/examples"
cp "$build/examples/trainer" "$tmp/bin/examples" 2>/dev/null
build=$tmp/bin . tests/slurm/lib_zombie.sh
install -d -m 700 -o ann "$tmp/saved"
mkdir -m 777 "$tmp/trace"
cluster_up 3 1
start_daemon
soon "the nodes are known" slots_are '[1, 1, 1]'

submit job --adaptive --max 1 --launcher env --backoff 1 --checkpoint-dir "$tmp/saved/job" -- "$tmp/train" 5000
soon "a job trains" is job '.phase == "running" and .progress > 0'
node=$(of job '.placement | keys[0]')
soon "it saves" saved_more job ""
zombie=$(training job "$node")
check "its process is on $node" lives "$zombie"
check "and runs as its owner" [ "$(stat -c %U "/proc/$zombie")" = ann ]
slurmd_kill "$node"
node_cut "$node"
soon "Slurm gives the node up" node_is "$node" down
# A generation that was sent to the lost node before polluxd knew it never starts.
soon "a later generation trains elsewhere" eval 'all_started job 1 && is job ".placement | has (\"$node\") | not"'
later=$(of job .generation)
holds "the node's failure is not the job's" is job '.failures == 0'
soon "it saves, too" saved_more job "$(newest job)"
check "the zombie lives" lives "$zombie"
# It sees that its checkpoint is not wanted before it ends: nothing else tells it while its node is cut off.
soon "the zombie cannot save any more" grep -q 'generation 1 of this job was replaced by generation' "$tmp/home/ann/.pollux/run/job/1/0/out.log"
node_join "$node"
slurmd_start "$node"
soon "the zombie ends" eval "! lives $zombie"
soon "the node is used again" slots_are '[1, 1, 1]'
holds "no later generation was needed" is job ".generation == $later"
PATIENCE=300 soon "the job finishes" is job '.phase == "finished" and .failures == 0'
check "no update was lost or made twice" one_line job 1 "$later"
holds "no replica was started twice" [ -z "$(twice)" ]
soon "nothing of ours is left in Slurm" eval '[ -z "$(slurm squeue -h -u ann)" ]'
check_rest "at the end"
stop_daemon
