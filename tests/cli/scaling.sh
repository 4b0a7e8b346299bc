# SPDX-License-Identifier: Apache-2.0
# Groups of nodes with a real polluxd: commands order and return nodes, whatever happens to polluxd and to the commands.
# At every moment each node that exists is known to polluxd; at the end none is left that is not wanted.
. tests/cli/lib_daemon.sh
. tests/cli/lib_scaling.sh

# ---- What is wrong ------------------------------------------------------------------------------

cluster "name: v, min: 0, max: 2"
wrong() { run $POLLUXD --check --state "$state" "${@:2}"; expect "$1" status=2 out=; }
wrong "a goal without groups is refused" --goal band:0.3,0.6
holds "and the message says what is missing" grep -q -- "--cluster" <<<"$err"
wrong "groups that change their size need commands" --cluster "$tmp/cluster.yaml"
holds "and the message names them" grep -q -- "--grow and --shrink" <<<"$err"
wrong "a goal that is none" --cluster "$tmp/cluster.yaml" --goal bend:1 --grow true --shrink true
wrong "a cluster file that is missing" --cluster "$tmp/none.yaml"
wrong "a backend without groups" --cluster "$tmp/cluster.yaml" --grow true --shrink true --backend slurm-steps
run $POLLUXD --check --state "$state" "${scaling[@]}"
expect "a good configuration" status=0 err=
cluster "name: v, nodes: 2"
run $POLLUXD --check --state "$state" --cluster "$tmp/cluster.yaml"
expect "groups of a fixed size need no commands" status=0 err=

# ---- A size that is given -----------------------------------------------------------------------

cluster "name: v, nodes: 1, min: 0, max: 4"
start_daemon "${scaling[@]}"
soon "the first node comes" up_are v-0
holds "the output of a command is in the log" grep -q "grow is called for 1 nodes of v" "$log"
submit one --max 1 -- "$worker"
submit two --max 1 -- "$worker"
submit three --replicas 2 --no-preemptible -- "$worker"
soon "jobs run on it" is one '.replicas == 1'
soon "as many as there is room for" is two '.replicas == 1'
holds "another one waits" is three '.replicas == 0'
regroup "name: v, nodes: 3, min: 0, max: 4"
soon "a burst gets more nodes" up_are v-0 v-1 v-2
soon "on which the job runs that waited" is three '.replicas == 2'
regroup "name: v, nodes: 1, min: 0, max: 4"
soon "the node without a job that may not move is returned" eval '[ "$(wc -w <<<"$(existing)")" -le 2 ]'
end_jobs one two three
soon "at the end one is left" eval '[ "$(wc -w <<<"$(existing)")" = 1 ] && is_quiet'
holds "it was returned by the command" called shrink v-2
printf 'groups: [{name: 17' >"$tmp/cluster.yaml"
kill -HUP "$daemon"
soon "a wrong file is not taken" grep -q "not reloaded" "$log"
holds "and nothing changes" groups '.groups | length == 1'

# ---- Another group, and none --------------------------------------------------------------------

regroup "name: w, nodes: 2"
soon "nodes of a group that is not configured any more are returned" up_are w-0 w-1
soon "and the group is forgotten" groups '[.groups[].name] == ["w"]'
regroup "name: w, nodes: 0, max: 4"
soon "no node at all" up_are

# ---- Every state, and polluxd is killed ---------------------------------------------------------

crash() { stop_daemon KILL; start_daemon "${scaling[@]}"; }

hook grow-waits
: >"$calls"
regroup "name: w, nodes: 2, min: 0, max: 4"
soon "two nodes are ordered" called grow w-1
# It has written its output: a command that writes after the end of polluxd ends by itself.
soon "the command waits" called grow waits
soon "the process of the command is recorded" [ -s "$state/hook.grow" ]
crash
soon "polluxd is killed: the order is there" node_is w-0 starting
soon "and the command is called again" eval '[ "$(count_calls grow w-0)" -ge 2 ]'
holds "the one that was left is killed" grep -q "a hook of an earlier polluxd was killed hook=grow" "$log"
soon "so that one runs" eval '[ "$(pgrep -fc "bash $tmp/grow")" = 1 ]'
unhook grow-waits
soon "the nodes come" up_are w-0 w-1
submit keeps --replicas 2 --no-preemptible -- "$worker"
soon "a job runs there" is keeps '.replicas == 2'
crash
soon "polluxd is killed: nodes stay up" up_are w-0 w-1
holds "and the job runs on" is keeps '.restarts == 0 and .replicas == 2'
where=$(of keeps '.placement | keys[0]')
regroup "name: w, nodes: 0, max: 4"
soon "its node waits for the job" node_is "$where" draining
soon "the other one is returned" eval '[ "$(existing)" = "$where" ]'
crash
soon "polluxd is killed: it still waits" node_is "$where" draining
holds "and the job runs on" is keeps '.restarts == 0 and .replicas == 2'
hook shrink-waits
end_jobs keeps
soon "the job ends: its node is returned" node_is "$where" stopping
soon "by the command" called shrink "$where"
crash
soon "polluxd is killed: it is still being returned" node_is "$where" stopping
before=$(count_calls shrink "$where")
unhook shrink-waits
soon "the command succeeds" up_are
holds "it was called at least twice" [ "$(count_calls shrink "$where")" -ge 2 ]
echo "# $before calls before the end"

# Faults: polluxd dies at every point of the way up and down.
round_trip() # POINT
{
    POLLUX_FAULT=$1 launch_daemon "${scaling[@]}"
    until_true answers
    until_gone "$daemon" || not_ok "$1: polluxd dies" "$(tell)"
    wait "$daemon" 2>/dev/null
    daemon=
}
if strings "$POLLUXD" 2>/dev/null | grep -q POLLUX_FAULT; then
    stop_daemon
    for fault in append:2 commit:3 committed:2 committed:3 hook:1 hooked:1; do
        cluster "name: w, nodes: 3, min: 0, max: 4"
        round_trip $fault
        start_daemon "${scaling[@]}"
        soon "$fault on the way up: the nodes come" up_are w-0 w-1 w-2
        stop_daemon
        cluster "name: w, nodes: 0, min: 0, max: 4"
        round_trip $fault
        start_daemon "${scaling[@]}"
        soon "$fault on the way down: they are returned" up_are
        stop_daemon
    done
    start_daemon "${scaling[@]}"
fi

# ---- Commands that do not work ------------------------------------------------------------------

echo "hook_timeout: 1" >"$tmp/hooks.yaml"
hook grow-waits
regroup "name: w, nodes: 1, min: 0, max: 4"
soon "a command that hangs is killed" grep -q "a hook failed hook=grow.*why=\"grow did not end within 1.0 s and was killed" "$log"
unhook grow-waits
hook grow-fails
kill -HUP "$daemon" # failed commands are called again at once
soon "one that fails is in the log, with what it says" grep -q "grow does not work today" "$log"
unhook grow-fails
kill -HUP "$daemon"
soon "then the node comes" up_are w-0
hook shrink-fails
regroup "name: w, nodes: 0, min: 0, max: 4"
soon "a node whose return fails is not forgotten" grep -q "a hook failed hook=shrink" "$log"
holds "it is still being returned" node_is w-0 stopping
unhook shrink-fails
kill -HUP "$daemon"
soon "and off as soon as the command works" up_are

# ---- A node that does not come ------------------------------------------------------------------

cost=$(groups .cost)
hook grow-lies
regroup "name: x, nodes: 1, min: 1, max: 4, boot_limit_s: 1"
soon "a node that does not come has failed" node_is x-0 failed
soon "and is returned, as it may come later" called shrink x-0
holds "nobody pays for it" eval '[ "$(groups .cost)" = "$cost" ]'
crash
soon "polluxd is killed: it has failed" node_is x-0 failed
unhook grow-lies
soon "it is ordered again after a minute" up_are x-0

# ---- A node that goes ---------------------------------------------------------------------------

submit moves --max 1 --max-failures 0 -- "$worker"
soon "a job runs" is moves '.replicas == 1'
run pollux nodes gone x-0
expect "its node is gone" status=0
soon "it continues on the one that is ordered in its place" is moves '.generation == 2 and .replicas == 1 and .failures == 0'
soon "the one that is gone was given to shrink" up_are x-1
holds "the log has the reason" grep -q "how=again detail=\"node x-0 is gone\"" "$log"
end_jobs moves

# ---- Many ---------------------------------------------------------------------------------------

regroup "name: m, nodes: 300, min: 0, max: 1000"
PATIENCE=300 soon "300 nodes" groups '.groups[] | select (.name == "m") | .states.up == 300'
regroup "name: m, nodes: 0, min: 0, max: 1000"
PATIENCE=300 soon "and none" up_are
holds "every node that exists is known" [ -z "$(accounted)" ]
check_replay "a replay decides the same"
stop_daemon
check_rest "at the end"
