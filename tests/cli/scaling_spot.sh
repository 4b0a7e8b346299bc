# SPDX-License-Identifier: Apache-2.0
# A provider takes nodes away in the middle of real training: with a notice the job saves and moves, without one it continues
# from its last checkpoint.  No update is lost after a notice, and none is made twice.
. tests/cli/lib_daemon.sh
. tests/cli/lib_scaling.sh
. tests/cli/lib_trainer.sh

mkdir "$tmp/trace"
cluster "name: spot, nodes: 2, min: 0, max: 4, revocable: true, notice_s: 120, revocations_per_day: 1"
start_daemon "${scaling[@]}" --interval 1
soon "two nodes" up_are spot-0 spot-1
submit job --adaptive --launcher mpi --grace 60 --backoff 1 --max-failures 0 --min 2 --max 2 --checkpoint-dir "$tmp/saved" \
    --env OMPI_MCA_mpi_yield_when_idle=1 -- "$trainer" mlp --total 10000 --rate 0.05 --report 1 --trace "$tmp/trace" \
    --pace 0.0002 --pace-step 0.004 --pace-sync 0.002
reached() { has_ended job || [ "$(updates "$tmp/trace")" -ge "$1" ]; }
soon "a job trains" reached 200

leaving=$(of job '.placement | keys[0]')
run pollux drain "$leaving" --leaving 120
expect "a notice" status=0
soon "the job moves" is job ".phase == \"running\" and .restarts == 1 and (.placement | has (\"$leaving\") | not)"
soon "its node is returned" called shrink "$leaving"
soon "and another one takes its place" up_count 2
before=$(updates "$tmp/trace")
soon "training continues" reached $((before + 200))

# The notice comes again, and polluxd dies before it can do anything.
leaving=$(of job '.placement | keys[0]')
run pollux drain "$leaving" --leaving 120
stop_daemon KILL
start_daemon "${scaling[@]}" --interval 1
soon "polluxd is killed after a notice: the job moves" is job ".phase == \"running\" and .restarts == 2 and (.placement | has (\"$leaving\") | not)"
soon "two nodes are up again" up_count 2
check "no update is missing or made twice" cmp <(column "$tmp/trace" update) <(seq 0 $(($(updates "$tmp/trace") - 2)))

# The time of a notice is over before the job has ended.
before=$(updates "$tmp/trace")
soon "training continues after that" reached $((before + 100))
leaving=$(of job '.placement | keys[0]')
run pollux drain "$leaving" --leaving 0
soon "without time the job is stopped, and continues elsewhere" is job '.phase == "running" and .restarts == 3 or .phase == "finished"'
PATIENCE=600 soon "the job finishes" is job '.phase == "finished"'
holds "without a failure" is job '.failures == 0'
check "its progress is complete" awk -F, 'END { exit !($9 >= 10000) }' "$tmp/trace/updates.csv"
holds "somebody pays for its slots" groups '.cost > 0'

# A job that may not be moved stays, and has its grace before its node is taken away: it saves for 2 s, and its node is returned then.
cat >"$tmp/saver" <<END
#!/bin/bash
trap 'sleep 2; date +%s%N >"$tmp/saved_at"; exit 0' TERM
while :; do sleep 0.1; done
END
chmod 755 "$tmp/saver"
submit saver --replicas 1 --no-preemptible --grace 10 -- "$tmp/saver"
soon "a job that may not be moved runs" is saver '.replicas == 1'
leaving=$(of saver '.placement | keys[0]')
hook shrink-waits
: >"$calls"
run pollux drain "$leaving" --leaving 14
expect "a notice" status=0
holds "it stays" node_is "$leaving" draining
soon "it is stopped before the deadline" node_is "$leaving" stopping
holds "its node is not returned yet" eval '! called shrink "$leaving" || [ -e "$tmp/saved_at" ]'
soon "it saves" [ -e "$tmp/saved_at" ]
soon "then its node is returned" called shrink "$leaving"
holds "before the deadline" groups "[.groups[].nodes[] | select (.name == \"$leaving\")] | .[0].deadline_at > now"
unhook shrink-waits
end_jobs saver
regroup "name: spot, nodes: 0, max: 4, revocable: true"
soon "at the end no node is left" up_are
stop_daemon
check_rest "at the end"
