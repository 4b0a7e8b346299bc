#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The service on nodes with GPUs of two types, one named by Slurm's AutoDetect: the first type is used, under a short name, and the
# log names the others.
. tests/slurm/lib_service.sh
gpu_types=nvidia_a100-sxm4-80gb:2,v100:1
cluster_up 1 3
start_daemon
soon "the node has slots of its first type" slots_are '[2]'
check "by its short name" [ "$(pollux nodes --json | jq -r '.nodes[].type')" = a100 ]
holds "the log names the GPUs that are not used" \
    grep -q 'node n0 has gpu of several types: 2 nvidia_a100-sxm4-80gb are used, 1 of other types is not' "$log"
check "once" [ "$(grep -c 'of several types' "$log")" = 1 ]
submit job --types a100 --max 1 -- "$worker"
soon "a job for this type runs" all_started job 0
check "with a GPU of this type in Slurm" eval \
    "slurm scontrol -o show job $(share job 0) | grep -q 'gres[:/]gpu:nvidia_a100-sxm4-80gb:1'"
end_jobs job
stop_daemon
