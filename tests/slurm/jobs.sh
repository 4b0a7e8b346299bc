#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The service with a real Slurm: a PyTorch job through 1, 8, uneven 8 and 3 replicas, placed as planned, beside Slurm jobs of
# others and a drained node; then jobs that Slurm or people end from outside.
. tests/slurm/lib_service.sh
. tests/cli/lib_torch.sh
nodes_are() { [ "$(node_exec login sinfo -h -N -p main -o %T | grep -c "^$1\$")" = ${#nodes[@]} ]; } # there are two partitions
mode=REQUEUE
[ -z "${POLLUX_SOAK-}" ] || mode=CANCEL
cluster_up 4 4 PreemptType=preempt/partition_prio PreemptMode=$mode \
    "PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=off State=UP"

run slurm "$POLLUXD" --backend slurm --partition main --auth munge --run-as pollux --state "$state" --listen 0.0.0.0:7467
expect "an address that jobs cannot report to is refused" status=2 err~'0\.0\.0\.0.*jobs'

# ---- Placements, ranks and devices, with a PyTorch job --------------------------------------------

# Others have some GPUs of n1 and n2, so that eight replicas without n3 are uneven.
others=("$(foreign -w n1 --gres=gpu:3)" "$(foreign -w n2 --gres=gpu:1)")
start_daemon
soon "slots are what other Slurm jobs leave" slots_are '[4, 1, 3, 4]'

if python=$(tools/find-python torch numpy 2>"$tmp/why"); then
    mkdir -m 777 "$tmp/torch"
    cp -r bindings/python tests/cli/pytorch_train.py "$build"/libpollux.so* "$tmp/bin"
    train="exec $python $tmp/bin/pytorch_train.py $tmp/torch $tmp/bin"
else
    skip "$(cat "$tmp/why"): ranks only"
    train="exec $worker"
fi
cat >"$tmp/rank" <<END
#!/bin/sh
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$LOCAL_RANK \$LOCAL_WORLD_SIZE \$CUDA_VISIBLE_DEVICES \$MASTER_ADDR:\$MASTER_PORT" >>"$starts"
$train
END
chmod 755 "$tmp/rank"
# lists GENERATION WORD...: whether these are node/local rank/devices of its ranks.
lists() { local number=$1; shift; [ "$(started ranks "$number" | awk '{ print $5 "/" $6 "/" $8 }' | tr '\n' ' ')" = "$* " ]; }
is_placed() { is ranks ".phase == \"running\" and .placement == $1"; }
# trains GENERATION REPLICAS: the last 15 updates were those of this generation.
trains() { [ ! -d "$tmp/torch" ] || [ "$(tail -n 15 "$tmp/torch/updates.0" | awk -v g="$1" -v n="$2" '$2 == g && $3 == n' | wc -l)" = 15 ]; }

submit ranks --adaptive --launcher env --max 1 --grace 60 --backoff 1 --env "PYTHONPATH=$tmp/bin/python" --env OMP_NUM_THREADS=1 --env WORKERS=0 \
    --env PYTHONDONTWRITEBYTECODE=1 -- "$tmp/rank"
soon "a PyTorch job trains with one replica" trains 1 1
soon "it runs where one slot is" is_placed '{"n1": 1}'
pollux scale ranks --min 8 --max 8 >/dev/null
soon "eight run on two nodes" is_placed '{"n0": 4, "n3": 4}'
soon "their ranks are in order, with their devices" lists 2 n0/{0,1,2,3}/0,1,2,3 n3/{0,1,2,3}/0,1,2,3
soon "it trains with eight" trains 2 8
slurm scontrol update NodeName=n3 State=drain Reason=test
soon "after a drain it runs on three nodes, unevenly" is_placed '{"n0": 4, "n1": 1, "n2": 3}'
soon "all its ranks have begun" all_started ranks 2
expected=$(of ranks '.placement | to_entries[] | .key as $node | range (.value) | "\($node)/\(.)"' | tr '\n' ' ')
check "its ranks are in order" [ "$(started ranks 3 | awk '{ print $5 "/" $6 }' | tr '\n' ' ')" = "$expected" ]
# Slurm chooses the devices of n1 and n2: those that others do not have.
check "every replica has one device for each replica of its node" [ -z "$(started ranks 3 | awk '{ if (split($8, list, ",") != $7) print }')" ]
check "all ranks have the same rendezvous, on the first node" [ "$(started ranks 3 | cut -d ' ' -f 9 | cut -d : -f 1 | sort -u)" = "$(address "$(started ranks 3 | head -n 1 | cut -d ' ' -f 5)")" ]
soon "it trains unevenly" trains 3 8
pollux scale ranks --min 3 --max 3 >/dev/null
soon "three run on one node" all_started ranks 3
soon "it trains with three" trains 4 3
touch "$tmp/torch/end" "$tmp/end/ranks" 2>/dev/null
soon "it finishes" is ranks '.phase == "finished"'
holds "without a failure" is ranks '.failures == 0 and .restarts == 3'
if [ -d "$tmp/torch" ]; then
    check "1, 8, 8 and 3 replicas in turn" [ "$(cut -d ' ' -f 2,3 "$tmp/torch/updates.0" | uniq | tr '\n' ' ')" = "1 1 2 8 3 8 4 3 " ]
    check "every sample was seen once per pass" seen_once "$tmp/torch" 3
    check "the loss does not jump at a change of replicas" loss_is_smooth "$tmp/torch" 2 15 3
fi

# ---- Ends from outside ----------------------------------------------------------------------------

slurm scancel "${others[@]}"
slurm scontrol update NodeName=n3 State=resume
soon "GPUs that others gave back, and the node, are used again" slots_are '[4, 4, 4, 4]'

# Each job is ended in another way, all at the same time.  Together they need twelve of the 16 GPUs: a node less is enough.
ways=(owner suspend kill limit priority requeue)
for way in "${ways[@]}"; do submit $way --min 2 --max 2 --grace 5 --backoff 1 -- "$counter"; done
for way in "${ways[@]}"; do soon "job $way runs" all_started $way 0; done
counts() { [ "$(wc -l <"$tmp/counts/$1")" -gt "$2" ]; }
for way in "${ways[@]}"; do until_true counts $way 7; done
declare -A id
for way in "${ways[@]}"; do id[$way]=$(share $way 0); done
as ann scancel "${id[owner]}"
# A suspended job takes no signal; it is cancelled when the grace is over.
slurm scontrol suspend "${id[suspend]}"
pollux scale suspend --min 1 --max 1 >/dev/null
slurm scancel --full -s KILL "${id[kill]}"
until_true slurm scontrol update JobId="${id[limit]}" EndTime=now
slurm scontrol update JobId="${id[requeue]}" Requeue=1
slurm scontrol requeue "${id[requeue]}"
# Its own node is full for a moment: the preemption takes the GPUs of job priority, or of another one there.
high=$(foreign -p high --exclusive -w "$(slurm squeue -h -j "${id[priority]}" -o %N)")
declare -A after=([owner]="scancel by the owner" [suspend]="a change of a suspended share" [kill]="scancel -s KILL"
    [limit]="the time limit" [priority]="preemption" [requeue]="requeue")
for way in "${ways[@]}"; do soon "after ${after[$way]} the job goes on" all_started $way 1; done
check "the job with the higher priority runs" [ "$(slurm squeue -h -j "$high" -o %T)" = RUNNING ]
slurm scancel "$high"
for way in "${ways[@]}"; do
    holds "after ${after[$way]}: it is not the job's failure" is $way '.failures == 0 and .phase == "running"'
    check "after ${after[$way]}: it was not called finished or failed" eval "pollux events --json | jq -e -s '[.[] | select (.type == \"EXIT\" and .job == \"$way\") | .body.kind] | length > 0 and all (. == \"stopped\" or . == \"again\")'"
    lines=$(wc -l <"$tmp/counts/$way")
    until_true counts $way $((lines + 3))
done
end_jobs "${ways[@]}"
for way in "${ways[@]}"; do
    holds "after ${after[$way]}: the job finishes" is $way '.phase == "finished" and .failures == 0'
    check "after ${after[$way]}: all samples are counted" exact $way
done
# ---- Others are faster ----------------------------------------------------------------------------

# GPUs are taken before polluxd has seen it.
soon "all slots are free" slots_are '[4, 4, 4, 4]'
others=("$(foreign -w n0 --gres=gpu:4)" "$(foreign -w n2 --gres=gpu:4)" "$(foreign -w n3 --gres=gpu:4)")
submit late --min 4 --max 8 --preemptible --backoff 1 -- "$counter"
placed_late() { all_started late 0 && is late ".placement == $1"; }
soon "a job runs on the node that others left" placed_late '{"n1": 4}'
slurm scancel "${others[@]}"
soon "it grows when they give their GPUs back" all_started late 1 8
holds "it was not the job's failure" is late '.failures == 0'
end_jobs late
check "no sample was lost" exact late

soon "nothing of ours is left in Slurm" eval '[ -z "$(slurm squeue -h -u ann)" ]'
check_rest "at the end"
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
