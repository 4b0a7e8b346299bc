# SPDX-License-Identifier: Apache-2.0
# polluxd with the fake backend: the whole daemon, its API and its journal, without a process per
# replica.
. tests/cli/lib_daemon.sh

run $POLLUXD --backend nosuch --check
expect "an unknown backend" status=2 out= err~"no backend is called 'nosuch'; there are local, slurm-steps, slurm, fake"
run $POLLUXD --help
expect "--help lists all backends" status=0 out~'^  local  .* machine' out~'^  slurm-steps  ' out~'^  slurm  ' out~'^  fake  ' err=
printf 'backend: nosuch\n' >"$tmp/bad.yaml"
run $POLLUXD --config "$tmp/bad.yaml" --check
expect "an unknown backend in the configuration" status=2 out= err~'bad.yaml:1:10: backend: expected "local", "slurm-steps", "slurm" or "fake", got .nosuch'

run $POLLUXD --backend fake --check $(printf -- '--node n%d:1:t%d ' $(for i in {1..65}; do echo $i $i; done))
expect "more types than there may be" status=2 err~'node n65, type t65: expected at most 64 types of nodes'

start_daemon --backend fake --node a:2 --node b:2 --interval 0.4
run pollux status
expect "status names the backend" status=0 out~'backend fake$' out~'0 of 4 slots in use'
submit good -- true
soon "true finishes" is good '.phase == "finished"'
submit bad --max-failures 0 -- false
soon "false fails" is bad '.phase == "failed"'
submit long --max 3 -- anything
soon "another command runs" is long '.phase == "running" and .replicas == 3'
run pollux logs long
expect "it has a log" status=0 out='the fake backend runs no program'
stop_daemon
holds "the daemon ends" [ "$status" = 0 ]
start_daemon --backend fake --node a:2 --node b:2 --interval 0.4
soon "it still runs after a restart" is long '.phase == "running" and .generation == 1'
run pollux cancel long
soon "cancel ends it" is long '.phase == "cancelled"'
stop_daemon
holds "no process is left" nothing_left

# ---- A policy that fails ------------------------------------------------------------------------

# A reload cannot change nodes, so pollux-ga, which knows one type, meets nodes of two.
# configure POLICY TYPE: the type of node b in the file.
configure() { printf 'backend: fake\npolicy: %s\ninterval: 0.3\nnodes:\n  - {name: a, slots: 2, type: x}\n  - {name: b, slots: 2, type: %s}\n' "$1" "$2" >"$tmp/types.yaml"; }
logged() { grep -q "$1" "$log"; }
configure pollux y
start_daemon --config "$tmp/types.yaml"
soon "the log has the types of nodes" logged 'node changed node=b type=y slots=2'
run pollux submit --name typo --types x,yy --speeds x=1,zz=2 -- true
expect "types that no node has: a warning" status=0 out=typo err~'warning: job typo: no node has the type yy, zz; there are x, y$'
submit stays --max 1 -- anything
soon "a job runs" is stays '.phase == "running"'
: >"$log"
configure pollux-ga x
kill -HUP "$daemon"
soon "the daemon says what failed, and what stays" logged 'the policy found no plan: running jobs go on, others wait, the next round tries again.*policy.*pollux-ga.*why.*nodes a (type .x.) and b (type .y.): it knows one type of nodes'
submit waits -- anything
rounds_are() { [ "$(pollux events --json | grep -c '"ROUND"')" -ge "$1" ]; }
rounds=$(pollux events --json | grep -c '"ROUND"')
soon "rounds go on" rounds_are $((rounds + 3))
holds "it is said once" [ "$(grep -c 'found no plan' "$log")" = 1 ]
holds "the running job goes on" is stays '.phase == "running" and .generation == 1'
holds "the other one waits" is waits '.phase == "pending"'
run pollux replay "$state/journal.db"
expect "a replay takes rounds without a plan" status=0 out~'plans are the same'
configure pollux y
kill -HUP "$daemon"
soon "with another policy it runs" is waits '.phase == "running"'
soon "which is said" logged 'the policy finds plans again'
stop_daemon
holds "the daemon ends well" [ "$status" = 0 ]
