# SPDX-License-Identifier: Apache-2.0
# The pilot when nodes fail: a node crashes, slurmd is killed, a node is cut off during training, a start and a stop.
# Jobs go on, on other nodes or on the same, and no replica of a later generation runs beside one of an earlier.
. tests/slurm/lib_slurm.sh
$separate || { skip "no namespaces"; exit 0; }
cluster_up 4 4

pollux() { node_exec login "$POLLUX" "$@"; }
slurm() { node_exec login "$@"; }
pilot()
{
    rm -f "$state/address"
    run pollux slurm-pilot --state "$state" "$@"
    expect "a pilot is submitted" status=0 out~'^Submitted batch job [0-9]+$'
    allocation=${out##* } log=$state/pilot-${out##* }.log
    until_true answers || { not_ok "polluxd answers in its allocation" "$(tell)" "$(cat "$log")"; exit 1; }
}
started() { grep "^$1 $2 " "$starts" | sort -n -k 3; }
# later N: job `job` runs with all its replicas in a generation after N.
later() { is job ".phase == \"running\" and .generation > $1" && [ "$(started job "$(of job .generation)" | wc -l)" = "$replicas" ]; }
nodes_are_slots() { pollux nodes --json | jq -e ".nodes | map (.slots) == $1"; }

pilot -N4 --gpus-per-node=4 -t 60 -- --interval 1 --restart-delay 0
replicas=12
submit job --min 4 --max 12 --backoff 1 -- "$worker"
soon "a job runs on three nodes" later 0

# ---- Cut off for a short time -------------------------------------------------------------------

generation=$(of job .generation)
victim=$(of job '.placement | keys | map (select (. != "n0")) | first')
node_cut "$victim"
sleep 4 # shorter than SlurmdTimeout
node_join "$victim"
soon "Slurm has the node" node_is "$victim" mixed
holds "after 4 s without network: the same generation runs" is job ".phase == \"running\" and .generation == $generation and .failures == 0"

node_cut "$victim"
pollux scale job --min 4 --max 4 >/dev/null # it cannot be stopped there now
replicas=4
sleep 3
node_join "$victim"
soon "a stop that was sent during a cut arrives later" later "$generation"
holds "that is no failure" is job '.failures == 0'

# One direction only, while a generation starts there.
replicas=12
generation=$(of job .generation)
node_cut "$victim" in
pollux scale job --min 12 --max 12 >/dev/null
sleep 4
node_join "$victim"
soon "a start during a cut of one direction succeeds in the end" later "$generation"
holds "that is no failure, either" is job '.failures == 0'
generation=$(of job .generation)
pollux scale job --min 4 --max 4 >/dev/null
replicas=4
soon "it shrinks again" later "$generation"

# ---- munged stops on the node of polluxd --------------------------------------------------------

generation=$(of job .generation)
munged_kill n0
pollux scale job --min 8 --max 8 >/dev/null
sleep 3
holds "without munged polluxd answers" answers
munged_start n0
replicas=8
soon "with munged again the job goes on" later "$generation"
holds "all that is no failure of the job" is job '.failures == 0'

# ---- A node dies --------------------------------------------------------------------------------

replicas=12
generation=$(of job .generation)
pollux scale job --min 4 --max 12 >/dev/null
soon "it runs on three nodes again" later "$generation"
generation=$(of job .generation)
victim=$(of job '.placement | keys | map (select (. != "n0")) | first')
node_crash "$victim"
soon "a node that crashed is not used any more" nodes_are_slots "$(pollux nodes --json | jq -c ".nodes | map (if .name == \"$victim\" then 0 else 4 end)")"
replicas=12; soon "after a crash the job goes on" later "$generation"
holds "that is not its failure" is job '.failures == 0'
check "the crashed node has no replica" [ -z "$(started job "$(of job .generation)" | awk -v n="$victim" '$5 == n')" ]

# ---- slurmd dies, its replicas live on ----------------------------------------------------------

generation=$(of job .generation) replicas=8
victim=$(of job '.placement | keys | map (select (. != "n0")) | first')
slurmd_kill "$victim"
soon "after the end of a slurmd the job goes on" later "$generation"
holds "that is not its failure, either" is job '.failures == 0'

# ---- Cut off for longer than Slurm waits --------------------------------------------------------

# Slurm gives the node up; its replicas live, and end when they hear that their generation was given up.
generation=$(of job .generation) replicas=$(of job .replicas)
victim=$(of job '.placement | keys | map (select (. != "n0")) | first // ""')
check "the job uses a second node" [ -n "$victim" ]
old=$(node_pids "$victim" "$worker")
check "replicas run on the node" [ -n "$old" ]
node_cut "$victim"
replicas=4
soon "after a long cut the job goes on elsewhere" later "$generation"
check "the old replicas live" lives "$(head -n 1 <<<"$old")"
node_join "$victim"
none_lives() { local pid; for pid in $old; do ! lives "$pid" || return 1; done; }
soon "they end when their node is back" none_lives
holds "all that is not the job's failure" is job '.failures == 0'

end_jobs job
holds "the job finishes" is job '.phase == "finished"'
slurm scancel "$allocation"
journal=$(printf '%s\n' "$state"/epochs/*/journal.db | tail -n 1)
holds "no generation ran twice" [ -z "$(crowded "$journal")" ]
holds "no replica was started twice" [ -z "$(twice)" ]
