# SPDX-License-Identifier: Apache-2.0
# A zombie: slurmd dies, Slurm gives the node up, but the replica there trains on and sees the shared file system.  The next
# generation starts elsewhere; the old one cannot publish a checkpoint or report, and the data stay whole.
. tests/slurm/lib_pilot.sh
. tests/cli/lib_trainer.sh
if ! $separate; then
    skip "no namespaces: a node cannot be cut off"
    exit 0
fi

cluster_up 4 1
start_pilot -N4 --gpus-per-node=1 -- --interval 1 --restart-delay 0
soon "the nodes are known" eval "pollux nodes --json | jq -e '.nodes | length == 4'"
pollux drain n0 >/dev/null # polluxd's own node

# Each generation has its own trace: two may train at the same time.
cat >"$tmp/train" <<END
#!/bin/sh
mkdir -p "$tmp/trace/\$POLLUX_JOB.\$POLLUX_GENERATION"
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
exec "$trainer" mlp --total \$1 --rate 0.05 --max-batch 32 --samples 512 --report 1 --save 0.5 --pace-step 0.02 --trace "$tmp/trace/\$POLLUX_JOB.\$POLLUX_GENERATION"
END
chmod 755 "$tmp/train"
# training JOB NODE: the trainer of a job on a node.
training() { node_pids "$2" "trainer mlp .*trace/$1\\." | head -n 1; }
newest() { ls "$tmp/saved/$1" 2>/dev/null | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1; }
saved_more() { [ "$(newest "$1")" != "$2" ]; }

# one_line JOB FIRST SECOND: generation SECOND has continued a checkpoint of FIRST: the updates of FIRST before it and all of
# SECOND are one sequence, in which every sample is trained once per pass.
one_line()
{
    local job=$1 first=$tmp/trace/$1.$2 second=$tmp/trace/$1.$3 from
    from=$(column "$second" update | head -n 1)
    { awk -v from="$from" '$1 < from' "$first"/samples.*; cat "$second"/samples.*; } | awk '
        { for (i = 2; i <= NF; i++) { seen[$i]++; all++ } updates[$1]++ }
        END {
            passes = int(all / 512)
            for (i = 0; i < 512; i++)
                if (seen[i] != passes && seen[i] != passes + 1) { print "sample", i, "was seen", seen[i] + 0, "times in", passes, "passes"; exit 1 }
            for (u = 0; u in updates; u++) if (updates[u] != 1) { print "update", u, updates[u], "times"; exit 1 }
            exit passes < 1 || length(updates) != u
        }'
}

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
