#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The service while a node is cut off from all others for 5 s: both ways, only to it and only from it; during training, during a stop
# and during a start.  Every job goes on, and no generation runs twice.  tests/soak/slurm_cuts.sh has cuts of minutes.
. tests/slurm/lib_service.sh
. tests/slurm/lib_cuts.sh

# Slurm must not give the node up because of cuts of 5 s in a row, between which it may not have asked the node.
slurmd_timeout_s=20
cluster_up 2 2
start_daemon
other_node() { [ "$1" = n0 ] && echo n1 || echo n0; }
for way in both in out; do
    for moment in training stop start; do cut_during $moment $way 5 "short-$way-$moment"; done
done
check_rest "after cuts of 5 s"
stop_daemon
check "no generation ran twice, no node had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
