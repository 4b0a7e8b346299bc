# SPDX-License-Identifier: Apache-2.0
# The pilot: jobs replace, open or remove their run directories and kill their supervisors.  Their generations end all the same.
. tests/slurm/lib_pilot.sh
runs=$state/run
. tests/slurm/lib_damage.sh
cluster_up 2 4
start_pilot -N2 --gpus-per-node=4 -- --interval 1 --restart-delay 0
damage_runs
on_login scancel "$pilot"
soon "the allocation ends" nodes_are idle
