# SPDX-License-Identifier: Apache-2.0
# A zombie: slurmd dies, Slurm gives the node up, but the replica there trains on and sees the shared file system.  The next
# generation starts elsewhere; the old one cannot publish a checkpoint or report, and the data stay whole.
. tests/slurm/lib_pilot.sh
. tests/slurm/lib_zombie.sh
if ! $separate; then
    skip "no namespaces: a node cannot be cut off"
    exit 0
fi

cluster_up 4 1
start_pilot -N4 --gpus-per-node=1 -- --interval 1 --restart-delay 0
soon "the nodes are known" eval "pollux nodes --json | jq -e '.nodes | length == 4'"
pollux drain n0 >/dev/null # polluxd's own node

# ---- The node is cut off: the zombie learns nothing ---------------------------------------------

submit job --adaptive --max 1 --launcher env --backoff 1 --checkpoint-dir "$tmp/saved/job" -- "$tmp/train" 5000
soon "a job trains" is job '.phase == "running" and .progress > 0'
node=$(of job '.placement | keys[0]')
soon "it saves" saved_more job ""
zombie=$(training job "$node")
check "its process is on $node" lives "$zombie"
slurmd_kill "$node"
node_cut "$node"
soon "Slurm gives the node up" node_is "$node" down
soon "the next generation trains elsewhere" is job ".phase == \"running\" and .generation == 2 and (.placement | has (\"$node\") | not)"
holds "the node's failure is not the job's" is job '.failures == 0'
soon "the next generation saves" saved_more job "$(newest job)"
check "the zombie lives" lives "$zombie"
soon "the zombie cannot save any more" grep -q 'generation 1 of this job was replaced by generation 2' "$state/run/job/1/0/out.log"
node_join "$node"
slurmd_start "$node"
soon "the zombie ends" eval "! lives $zombie"
PATIENCE=300 soon "the job finishes" is job '.phase == "finished" and .generation == 2 and .failures == 0'
check "no update was lost or made twice" one_line job 1 2

# ---- Only slurmd dies: the zombie's reports are refused -----------------------------------------

pollux drain "$node" >/dev/null
submit other --adaptive --max 1 --launcher env --backoff 1 --checkpoint-dir "$tmp/saved/other" -- "$tmp/train" 5000
soon "another job trains" is other '.phase == "running" and .progress > 0'
node=$(of other '.placement | keys[0]')
soon "it saves, too" saved_more other ""
zombie=$(training other "$node")
slurmd_kill "$node"
soon "the next generation of it trains elsewhere" is other ".phase == \"running\" and .generation == 2 and (.placement | has (\"$node\") | not)"
soon "a zombie whose reports are refused ends by itself" eval "! lives $zombie"
PATIENCE=300 soon "this job finishes, too" is other '.phase == "finished" and .generation == 2 and .failures == 0'
check "here, too, no update was lost or made twice" one_line other 1 2
holds "no replica was started twice" [ -z "$(twice)" ]
