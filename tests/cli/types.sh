# SPDX-License-Identifier: Apache-2.0
# Real training on nodes of two types, one of which is four times as fast: the job moves to it when that pays, and what it
# measured on both survives restarts of the job and of the daemon.
. tests/cli/lib_daemon.sh
. tests/cli/lib_trainer.sh

pace=(--pace 0.0004 --pace-step 0.008 --pace-sync 0.001 --faster quick=4)
nodes=(--node tortoise:2:slow --node hare:2:quick --interval 1)
adaptive=(--adaptive --launcher mpi --grace 60 --backoff 1 --env OMPI_MCA_mpi_yield_when_idle=1)

# trained_on TYPE: it runs there, and its newest report has a model of that type.
trained_on() { is job '.replicas > 0 and .hints.type == "'"$1"'" and .hints.model != null'; }
# has_model TYPE: its newest report has a model of another type.
has_model() { is job '[.hints.models[]? | select (.type == "'"$1"'" and .max_profiled_replicas >= 1)] | length == 1'; }
on() { is job '.placement | keys == ["'"$1"'"]'; }

# ---- A type that its owner knows to be faster ---------------------------------------------------

start_daemon "${nodes[@]}"
pollux drain hare >/dev/null
submit job "${adaptive[@]}" --max 1 --speeds slow=1,quick=3 --checkpoint-dir "$tmp/saved" -- \
    "$trainer" mlp --total 100000 --rate 0.05 --report 1 "${pace[@]}"
run pollux show job
expect "its speeds are shown" status=0 out~'^speeds +slow 1.00, quick 3.00 '
soon "it trains on the slow node" trained_on slow
holds "it is there" on tortoise
slow=$(of job .goodput)
pollux resume hare >/dev/null
soon "it moves to the fast node, by its owner's speeds" trained_on quick
holds "it is there" on hare
holds "the model of the slow node is kept" has_model slow
quick=$(of job .goodput)
run pollux explain job
expect "explain compares the types, as measured" status=0 out~'On 1 slow it would train [0-9.]+ % slower than on its 1 quick\.'
check "it is faster there: $quick useful samples per second instead of $slow" true_that "$quick > 2 * $slow"

# ---- Both models last -------------------------------------------------------------------------

stop_daemon KILL
daemon=
start_daemon "${nodes[@]}"
soon "after a restart of the daemon, both models are known" is job '.hints.type == "quick" and .hints.models[0].type == "slow"'
pollux drain hare >/dev/null
soon "back on the slow node" on tortoise
soon "it reports from there" trained_on slow
holds "with the model of the fast node" has_model quick
pollux resume hare >/dev/null
soon "it returns to the fast node, by what it measured" on hare
soon "it reports from there" trained_on quick

# ---- What another job has measured ----------------------------------------------------------------

pollux drain hare >/dev/null
soon "on the slow node again" on tortoise
submit second "${adaptive[@]}" --max 1 --application other --checkpoint-dir "$tmp/second" -- \
    "$trainer" mlp --total 100000 --rate 0.05 --report 1 "${pace[@]}"
soon "a job of another application, without speeds, trains there" is second \
    '.replicas > 0 and .hints.type == "slow" and .hints.model != null'
pollux resume hare >/dev/null
soon "it moves to the fast node, by the ratio of the first job" is second \
    '(.placement | keys == ["hare"]) and .hints.type == "quick" and .hints.model != null'
pollux cancel second >/dev/null
soon "it is cancelled" has_ended second
soon "the first job is on the fast node, too" on hare

# ---- Limits of types ------------------------------------------------------------------------------

run pollux submit --name elsewhere --types a100,h100 -- true
expect "a job for types that no node has is accepted, with a warning" status=0 out=elsewhere \
    err~'pollux submit: warning: job elsewhere: no node has the type a100, h100; there are slow, quick$'
run pollux show elsewhere
expect "it says what it waits for" status=0 out~"^why +needs 1 slot of one of its types \(a100, h100\), and the nodes that take replicas have 0"
run pollux submit --name only --types slow -- sh -c 'echo "$POLLUX_NODE $POLLUX_NODE_TYPE"'
soon "a job for one type ends" has_ended only
run pollux logs only
expect "it was there, and knew the type" status=0 out~'^tortoise slow$'
run pollux submit --name not --not-types slow -- sh -c 'echo "$POLLUX_NODE $POLLUX_NODE_TYPE"'
soon "a job for all types but one ends" has_ended not
run pollux logs not
expect "it was on the other" status=0 out~'^hare quick$'
run pollux submit --name everywhere --types any -- true
expect "any type: no warning" status=0 out=everywhere err=
check "it is the word of job files" is everywhere '.types == "any"'
run pollux submit --types 'a b' -- true
expect "a type that cannot be one" status=2 err~"types\[0\]: expected a type of 1 to 63 letters"
run pollux submit --types slow --not-types quick -- true
expect "both kinds of limits" status=2 err~'--types and --not-types exclude each other'
run pollux submit --speeds slow=1,slow=2 -- true
expect "a type twice" status=2 err~"--speeds: type 'slow' twice"
run pollux submit --speeds slow -- true
expect "a speed without a number" status=2 err~'--speeds: expected TYPE=NUMBER, such as a100=4.5'
run pollux submit --speeds slow=-1 -- true
expect "a negative speed" status=2 err~'speeds.slow: expected a number from 0.001 to 1000'

run $POLLUXD --state "$tmp/other" --policy pollux-ga --node a:1:x --node b:1:y --check
expect "a policy for one type and nodes of two" status=2 err~'policy pollux-ga knows one type of nodes, and a and b have two'

# ---- A node that changes its type ---------------------------------------------------------------

stop_daemon
start_daemon --node tortoise:2:slow --node hare:2:other --interval 1
soon "its node has another type now: it continues" is job '.replicas == 1 and .phase == "running"'
holds "nothing measured is lost" is job '[.hints.type, (.hints.models[]? | .type)] | sort | (contains (["quick"]) and contains (["slow"]))'
pollux cancel job elsewhere >/dev/null
soon "it is cancelled" has_ended job
