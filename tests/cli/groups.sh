# SPDX-License-Identifier: Apache-2.0
# The commands about groups of nodes and costs, with a daemon: nodes come up by `pollux nodes up`, leave and are gone; what
# the commands print, also for the page and for scripts.
. tests/cli/lib_daemon.sh
export HOME=$tmp

# The command that orders nodes does nothing: here the test says when they exist.  Returning them succeeds at once.
cat >"$tmp/cluster.yaml" <<'END'
groups:
  - {name: spot, type: a100, gpus_per_node: 2, nodes: 2, min: 0, max: 4, boot_s: 1, price_per_node_hour: 3600,
     revocable: true, notice_s: 120}
  - {name: rack, type: a100, names: "gpu[01-02]", gpus_per_node: 1, min: 0, max: 2, nodes: 0}
END
usual=(--interval 1 --stop-jobs --cluster "$tmp/cluster.yaml" --goal fixed --grow true --shrink true)
ask() { curl -sS -H "Authorization: Bearer $(cat "$state/admin.token")" "$(cat "$state/address")$1"; }
groups() { pollux groups --json | jq -e "$1"; }
state_is() { pollux nodes --json | jq -e --arg name "$1" --arg state "$2" '.nodes[] | select(.name == $name) | .power == $state'; }

# ---- Without groups ----------------------------------------------------------------------------

start_daemon --node n0:2 --interval 1 --stop-jobs
run pollux groups
expect "no groups" status=0 out='The cluster has no groups of nodes: its size does not change by itself.' err=
run pollux cost
expect "the costs of slots without a price" status=0 out~'^month +owner +slot-hours +cost$' out~'^total +[0-9.]+ +0\.00$' err=
run pollux nodes up n9:2
expect "a node that is not configured" status=1 out= \
    err='pollux nodes: node n9 is not configured and belongs to no group: add it to the nodes of polluxd, or a group with nodes of such names to its cluster file'
run pollux nodes gone n0
expect "a node is gone" status=0 out='n0: gone' err=
run pollux resume n0
expect "it cannot be resumed" status=1 out= err~'node n0 has no slots: it takes replicas again when it has some'
run pollux nodes up n0:2
expect "and back" status=0 out='n0: available, 0 of 2 slots in use' err=
run pollux top --once
check "pollux top says nothing about groups" [ "$(grep -c '^nodes:' <<<"$out")" = 0 ]
stop_daemon

# ---- Wrong usage -------------------------------------------------------------------------------

while IFS='|' read -r words part; do
    # shellcheck disable=SC2086
    run pollux $words
    expect "pollux $words" status=2 out= err~"$part"
done <<'END'
groups now|now
cost --by day|expected owner, month or owner,month, got 'day'
cost --by owner,|expected owner, month
cost --csv --json|exclude each other
nodes down n0|expected nothing, 'up NAME:SLOTS\[:TYPE\]' or 'gone NAME', got 'down'
nodes up|expected nothing, 'up
nodes up spot-0|spot-0
nodes up spot-0:0|spot-0:0
nodes --quiet gone n0|--quiet
drain n0 --leaving -1|--leaving
drain n0 --leaving soon|--leaving
END

# ---- Nodes come --------------------------------------------------------------------------------

rm -rf "$state"
start_daemon "${usual[@]}"
soon "two nodes are ordered" state_is spot-1 starting
run pollux groups
expect "groups while nodes start" status=0 err= out~'^goal     fixed; a change of size is not complete$' \
    out~'^cost     0\.00 so far, 0\.00 per hour now$' \
    out~'^group +type +slots +nodes +wanted +limits +price +per hour +states$' \
    out~'^spot +a100 +2 +2 +2 +0-4 +3600\.00 +0\.00 +2 starting$' out~'^rack +a100 +1 +0 +0 +0-2 +0\.00 +0\.00 +none$' \
    out~'^spot-0 +starting +[0-9.]+ s +in .* min +0$'
run pollux nodes
expect "nodes that start" status=0 out~'^spot-0 .* starting '
run pollux nodes up spot-0:2:t4
expect "another type than the group's" status=1 out= err~'node spot-0 belongs to group spot, whose type is a100: omit the type t4'
run pollux nodes up spot-0:3
expect "too many slots" status=1 out= err~'whose nodes have 2 slots: 3 are too many'
run pollux nodes up spot-9:2
expect "a name that no group has" status=1 out= err~'belongs to no group'
run pollux nodes gone spot-3
expect "one that is not known is not gone" status=1 out= err~'there is no node spot-3; did you mean spot-[01]\?'
run pollux nodes up spot-0:2
expect "a node comes up" status=0 out='spot-0: available, 0 of 2 slots in use' err=
run pollux nodes up spot-0:2:a100
expect "which may be repeated" status=0 out='spot-0: available, 0 of 2 slots in use' err=
run pollux nodes up spot-1:2 --json
check "as JSON" jq -e '.power == "up" and .group == "spot" and .type == "a100"' <<<"$out"
soon "the size is complete" groups '.changing == false and .price_per_hour == 7200'

# ---- Costs -------------------------------------------------------------------------------------

submit worker --max 2 --replicas 2 -- sleep 1000
soon "a job runs on them" is worker '.replicas == 2 and .price_per_hour == 3600'
soon "it costs something" is worker '.cost >= 0.01'
run pollux list --cost
expect "a list with costs" status=0 err= out~' owner +cost$' out~'^worker .*[0-9]+\.[0-9][0-9]$'
run pollux list
check "a list without costs" [ "$(grep -c cost <<<"$out")" = 0 ]
run pollux show worker
expect "the cost of a job" status=0 out~'^cost         [0-9]+\.[0-9][0-9] so far, 3600\.00 per hour now$'
run pollux cost
expect "costs" status=0 err= out~'^20[0-9]{2}-[0-9]{2} +admin +[0-9.]+ +[0-9]+\.[0-9][0-9]$' out~'^20[0-9-]+ +\(idle\) +' out~'^total '
run pollux cost --by owner
expect "costs by owner" status=0 out~'^- +admin ' out~'^- +\(idle\) '
run pollux cost --by month --csv
expect "costs by month as CSV" status=0 err= out~'^month,kind,owner,slot_hours,cost$' out~'^20[0-9-]+,jobs,,[0-9.e-]+,[0-9.e-]+$' out~'^20[0-9-]+,idle,,[0-9.e-]+,[0-9.e-]+$'
check "CSV has as many digits as calculations need" [ "$(grep -cE ',[0-9]*[.][0-9]{3,}' <<<"$out")" -ge 1 ]
run pollux cost --json
check "costs as JSON: jobs and idle capacity make the total" \
    jq -e '(.jobs_total.cost + .idle_total.cost - .total.cost) | fabs < 1e-6' <<<"$out"
run pollux top --once
expect "pollux top shows sizes and costs" status=0 out~'^nodes: spot 2, rack 0   cost [0-9]+\.[0-9][0-9] so far, 7200\.00 per hour$'
before=$(groups .cost)
stop_daemon
start_daemon "${usual[@]}"
soon "costs survive a restart" groups ".cost >= $before"

# ---- Nodes leave -------------------------------------------------------------------------------

where() { pollux show worker --json | jq -r '.placement | keys[0]'; }
run pollux drain spot-0 --leaving 120
expect "a notice" status=0 out~'^spot-0: draining, ' err=
soon "its jobs move" eval '[ "$(where)" = spot-1 ]'
soon "and it is returned" state_is spot-0 off
run pollux nodes --quiet
expect "nodes that are off are not listed" status=0 out~'^spot-1$'
check "but are in the JSON" state_is spot-0 off
run pollux resume spot-1
expect "a node that is up can be resumed" status=0
check "the job ends" pollux cancel worker
run pollux nodes gone spot-1
expect "a node is gone" status=0 out~'^spot-1: stopping'
soon "and off" state_is spot-1 off
check "nothing is paid for" groups '.price_per_hour == 0 and .cost > 0'
stop_daemon
check "the daemon ends with 0" [ "$status" = 0 ]
