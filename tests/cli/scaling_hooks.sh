# SPDX-License-Identifier: Apache-2.0
# The commands of groups of nodes: configurations that take them away too early, commands that hang or do nothing.
. tests/cli/lib_daemon.sh
. tests/cli/lib_scaling.sh

# fresh: no state, no nodes and no calls.
fresh()
{
    rm -rf "$state" "$tmp/nodes/"*
    : >"$calls"
    echo "hook_timeout: 60" >"$tmp/hooks.yaml"
}

# ---- Without commands ---------------------------------------------------------------------------

# with_hooks, without_hooks: the configuration; `reload` makes polluxd read it.
with_hooks()
{
    printf 'hook_timeout: 60\ncluster: %s\ngrow: [%s]\nshrink: [%s]\n' "$tmp/cluster.yaml" "$tmp/grow" "$tmp/shrink" >"$tmp/hooks.yaml"
}
without_hooks() { printf 'cluster: %s\n' "$tmp/cluster.yaml" >"$tmp/hooks.yaml"; }
reload() { kill -HUP "$daemon"; }
configured=(--config "$tmp/hooks.yaml" --interval 0.2)

with_hooks
cluster "name: w, nodes: 2, min: 0, max: 2"
start_daemon "${configured[@]}"
soon "two nodes come" up_are w-0 w-1
hook shrink-waits
regroup "name: w, nodes: 1, min: 0, max: 2"
soon "one is being returned" eval '[ "$(in_state stopping)" != "" ]'
going=$(in_state stopping)
without_hooks
cluster "name: w, nodes: 2"
reload
soon "a configuration without commands is not taken meanwhile" \
    grep -q "not reloaded.*node $going of group w is stopping: keep the commands --grow and --shrink until it is up or off" "$log"
stop_daemon KILL
run timeout 60 $POLLUXD --state "$state" --listen 127.0.0.1:0 "${root[@]}" "${configured[@]}"
expect "nor at the start" status=2 out= err~"node $going of group w is stopping: keep the commands"
with_hooks
start_daemon "${configured[@]}"
unhook shrink-waits
soon "with the commands it is returned, and ordered again" eval 'called shrink $going && up_are w-0 w-1'
without_hooks
reload
soon "then a fixed size needs none" eval '[ "$(grep -c "configuration reloaded" "$log")" -ge 2 ]'
stop_daemon
start_daemon "${configured[@]}"
holds "nor at the start" up_are w-0 w-1
stop_daemon

# ---- A command that returns nothing -------------------------------------------------------------

# polluxd believes the exit code; it learns that the node is there when the node says so, and returns it again, although
# there are no jobs.
fresh
cluster "name: l, nodes: 1, min: 0, max: 2"
start_daemon "${scaling[@]}"
soon "a node comes" up_are l-0
hook shrink-lies
regroup "name: l, nodes: 0, min: 0, max: 2"
soon "a shrink that does nothing makes it off" eval 'called shrink l-0 && node_is l-0 off'
holds "although it exists" [ "$(existing)" = l-0 ]
unhook shrink-lies
run pollux nodes up l-0:2
expect "it says that it is up" status=0
soon "the log warns of it" grep -q "a node is up that was returned, and that nobody ordered node=l-0" "$log"
soon "it is returned again" up_are
holds "by the command" [ "$(count_calls shrink l-0)" = 2 ]
stop_daemon

# ---- A maximum that is lowered ------------------------------------------------------------------

fresh
cluster "name: s, nodes: 4, min: 1, max: 4"
start_daemon "${scaling[@]}"
soon "four nodes come" up_are s-0 s-1 s-2 s-3
submit stays --replicas 8 --no-preemptible -- "$worker"
soon "a job uses them all" is stays '.replicas == 8'
regroup "name: s, nodes: 1, min: 1, max: 2"
soon "the maximum of a busy group can be lowered" groups '.groups[0] | .max == 2 and .wanted == 1 and .states.draining == 3'
holds "the job runs on" is stays '.restarts == 0 and .replicas == 8'
hook shrink-waits
end_jobs stays
soon "it ends: the nodes are returned" groups '.groups[0].states.stopping == 3'
stop_daemon KILL
start_daemon "${scaling[@]}"
holds "polluxd is killed: they are still known" groups '.groups[0].states.stopping == 3'
unhook shrink-waits
soon "one is left" up_count 1
regroup "name: s, nodes: 2, min: 1, max: 2"
soon "or two, of those below the maximum" eval 'up_count 2 && [ "$(comm -12 <(existing | tr " " "\n") <(printf "s-0\ns-1\n") | wc -l)" -ge 1 ]'
check_replay "a replay decides the same"
stop_daemon

# ---- A budget that pays nothing -----------------------------------------------------------------

too_small() { grep -c "the budget is below the price of every node: groups stay at their minimum budget=$1 least_price=3.6" "$log"; }
fresh
cluster "name: b, min: 0, max: 2"
start_daemon "${scaling[@]}" --goal budget:3
holds "the log warns of a budget below the price of every node" [ "$(too_small 3)" = 1 ]
stop_daemon
start_daemon "${scaling[@]}" --goal budget:3.6
holds "not of one that pays a node" [ "$(grep -c "the budget is below" "$log")" = 1 ]
stop_daemon
check_rest "at the end"
