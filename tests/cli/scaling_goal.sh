# SPDX-License-Identifier: Apache-2.0
# The size of a cluster follows its jobs: a burst makes it grow from no node at all, quiet makes it shrink to its minimum, and
# then polluxd sleeps.  Whatever happens, every node that was ordered is up or was returned.
. tests/cli/lib_daemon.sh
. tests/cli/lib_scaling.sh

events() { sqlite3 "$state/journal.db" "SELECT count(*) FROM events WHERE type = '$1'"; }
cluster "name: v, min: 0, max: 4, boot_s: 0.1"
start_daemon "${scaling[@]}" --goal band:0.35,0.65
holds "without jobs there is no node" up_are
for job in a b c d e f; do
    submit $job --replicas 1 --no-preemptible -- "$worker"
done
soon "a burst makes the cluster grow" groups '.groups[0].states.up >= 3'
for job in a b c d e f; do
    soon "job $job runs" is $job '.replicas == 1'
done
holds "a sentence says why" groups '.reason | length > 10'
stop_daemon KILL
start_daemon "${scaling[@]}" --goal band:0.35,0.65
holds "polluxd is killed: all jobs run on" [ "$(pollux list --json | jq '[.jobs[] | select (.replicas == 1 and .restarts == 0)] | length')" = 6 ]
end_jobs a b c d e f
soon "quiet makes it shrink to its minimum" up_are
holds "every node that was ordered was returned" [ -z "$(comm -23 <(sed -n 's/^grow //p' "$calls" | sort -u) <(sed -n 's/^shrink //p' "$calls" | sort -u))" ]
asleep() { local before; before=$(events ROUND); sleep 1; [ "$(events ROUND)" = "$before" ]; }
soon "then polluxd makes no more rounds" asleep
check_replay "a replay decides the same"
stop_daemon

# The boot time of a node begins with its order, so no more are ordered than one call of grow takes.
rm -rf "$state"
hook grow-waits
cluster "name: v, nodes: 70, max: 70, boot_s: 1"
start_daemon "${scaling[@]}"
soon "as many nodes are ordered as grow takes" groups '.groups[0].states.starting == 64'

unhook grow-waits
soon "then the others follow" up_count 70
stop_daemon
check_rest "at the end"
