# SPDX-License-Identifier: Apache-2.0
# For tests of the pilot: polluxd inside an allocation of the private cluster (lib_slurm.sh), jobs submitted from its login
# node.
#
#     . tests/slurm/lib_pilot.sh
#     cluster_up 4 4
#     start_pilot -N4 --gpus-per-node=4 -- --interval 1      sets $pilot, the Slurm job
#     submit job --max 2 -- "$worker"                         and all else of tests/cli/lib_daemon.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib_slurm.sh"
[ -z "${POLLUX_BRIEF-}" ] || exit 0 # the flavour of the command makes no difference here
pilot=
export SLURM_CONF

on_login() { node_exec login "$@"; }
# shellcheck disable=SC2086
pollux() { on_login $POLLUX "$@"; }

# start_pilot OPTION...: submit it and wait until its polluxd answers.
start_pilot()
{
    run pollux slurm-pilot --state "$state" "$@"
    pilot=$(grep -oE '[0-9]+' <<<"$out" | head -n 1)
    [ "$status" = 0 ] && [ -n "$pilot" ] || expect "the pilot is submitted" status=0 out~'[0-9]'
    log=$state/pilot-$pilot.log
    until_true answers && return 0
    not_ok "polluxd starts in the allocation" "$(tell)"
    exit 1
}

# The node of the batch script, and the processes of polluxd and of a job's supervisors and replicas there.
batch_node() { on_login squeue -h -j "$pilot" -o %B; }
polluxd_pid() { node_pids "$(batch_node)" "polluxd --backend" | head -n 1; }

# pilot_is STATE: whether the allocation is RUNNING, COMPLETED, ...
pilot_is() { [ "$(on_login squeue -h -t all -j "$pilot" -o %T)" = "$1" ]; }

# placed JOB NODE:REPLICAS...: whether it runs with this placement.
placed()
{
    local job=$1
    shift
    [ "$(of "$job" '.placement | to_entries | map ("\(.key):\(.value)") | sort | join (" ")')" = "$*" ]
}
