# SPDX-License-Identifier: Apache-2.0
# polluxd end to end, with real processes on virtual nodes: successful and refused starts, jobs of every
# kind, replicas that change while jobs run, drains, limits, signals, and a replay of the journal that
# gives the same plans.
. tests/cli/lib_daemon.sh
nodes=(--node a:2 --node b:2)
usual=("${nodes[@]}" --interval 0.4)

# ---- Refused starts -----------------------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
    run $POLLUXD --state "$tmp/r" --listen 127.0.0.1:0
    expect "root needs --allow-root" status=2 out= err~'--run-as USER.*--allow-root'
    holds "no state directory is made" [ ! -e "$tmp/r" ]
else
    skip "root needs --allow-root (this user is not root)"
fi
run $POLLUXD --state "$tmp/r" --listen 127.0.0.1:0 --policy nosuch
expect "an unknown policy" status=2 out= err~nosuch
echo 'groups: [{name: gpu, gpus_per_node: 4, max: 2}]' >"$tmp/free.yaml"
run $POLLUXD --check --cluster "$tmp/free.yaml" --goal budget:3 --grow true --shrink true
expect "a budget without a price" status=2 out= err~'group gpu has no price: a budget needs price_per_node_hour'
run $POLLUXD --check --fairness=-inf --state "$tmp/r" "${root[@]}"
expect "the least fairness" status=0 out~'good'
run $POLLUXD --policy srtf --check
expect "a policy that needs a simulation" status=2 out= err~'srtf needs the true remaining times'
run $POLLUXD --state "$tmp/r" --listen 127.0.0.1:0 "${root[@]}" --node a:0
expect "a node without slots" status=2 out= err~'a:0'
run $POLLUXD --state "$tmp/r" --listen nosuch "${root[@]}"
expect "an invalid address" status=2 out= err~nosuch
printf 'interval: 0\nlisten: here\n' >"$tmp/bad.yaml"
run $POLLUXD --check --config "$tmp/bad.yaml" --listen 127.0.0.1 --interval 0 --nod a --policy nosuch --log-level loud x
expect "--check names all errors" status=2 out= err~"^polluxd: .*bad.yaml.*interval: expected a number from 0.01 to 86400, got '0'" \
    err~"^polluxd: .*bad.yaml.*listen: expected ADDRESS:PORT" err~"^polluxd: --listen: expected ADDRESS:PORT.* got '127.0.0.1'" \
    err~"^polluxd: --interval: expected a number from 0.01 to 86400, got '0'" err~"^polluxd: .*'?a'?" \
    err~'^polluxd: --log-level: expected' err~"^polluxd: unexpected argument 'x'" err~"^polluxd: .*nosuch"
run $POLLUXD --check --intervall 1 --nodes a:1 --interval 0.5
expect "--check continues after unknown options" status=2 out= err~'intervall' err~'nodes' err!'--interval: '
run $POLLUXD --config "$tmp/nosuch.yaml"
expect "a missing configuration" status=2 out= err~'nosuch\.yaml'

start_daemon "${usual[@]}"
port=$(sed 's/.*://' "$state/address")
run $POLLUXD --state "$state" --listen 127.0.0.1:0 "${root[@]}"
expect "a second daemon on the same state refuses" status=1 out= err~"another polluxd uses .*$state"
run $POLLUXD --state "$tmp/s2" --listen "127.0.0.1:$port" "${root[@]}"
expect "a port in use is named" status=1 out= err~"127.0.0.1:$port.*in use"
run pollux status
expect "the first daemon still answers" status=0 out~'0 of 4 slots in use'
run $POLLUXD --check "${usual[@]}"
expect "--check changes nothing" status=0 out~'good' err=

# ---- One job ------------------------------------------------------------------------------------

# Jobs start at once, although the next full round is an hour away.
stop_daemon
holds "a daemon ends with 0 at SIGTERM" [ "$status" = 0 ]
start_daemon "${nodes[@]}" --interval 3600
submit first -- sh -c 'echo before; sleep 0.2'
soon "a full round comes at once after the start" is first '.phase == "finished"'
submit prompt -- "$worker"
soon "on a free machine a job starts at once, without a full round" is prompt '.phase == "running"'
submit prompt2 --max 3 -- "$worker"
soon "another job starts on the free slots" is prompt2 '.phase == "running" and .replicas == 3'
holds "the first job was not moved" is prompt '.generation == 1 and .replicas == 1'
submit waits -- true
soon "a third job waits, with a reason" is waits '.phase == "pending" and (.waits_for | length) > 0'
run pollux cancel waits
expect "cancel a pending job" status=0
holds "the pending job is cancelled" is waits '.phase == "cancelled" and .generation == 0'
run pollux cancel waits
expect "a second cancel is refused" status=1 err~'waits'
end_jobs prompt prompt2
holds "both finish without a restart" is prompt2 '.phase == "finished" and .restarts == 0 and .failures == 0'

# ---- Environment --------------------------------------------------------------------------------

cat >"$tmp/tell" <<END
#!/bin/sh
{ env | sort; echo "ARGS \$*"; echo "PWD \$(pwd)"; grep Cpus_allowed_list /proc/self/status; } >"$tmp/env.\$POLLUX_JOB.\$RANK.new"
mv "$tmp/env.\$POLLUX_JOB.\$RANK.new" "$tmp/env.\$POLLUX_JOB.\$RANK"
exec "$worker"
END
chmod 755 "$tmp/tell"
secrets=$(cat "$state/admin.token")
submit env --replicas 4 --env GREETING='a b=c' --directory "$tmp" --checkpoint-dir "$tmp/ck" -- "$tmp/tell" one 'two  words'
soon "four replicas on two nodes" is env '.placement == {a: 2, b: 2}'
for rank in 0 1 2 3; do
    until_true [ -e "$tmp/env.env.$rank" ]
    run cat "$tmp/env.env.$rank"
    node=a
    [ $rank -lt 2 ] || node=b
    expect "variables of rank $rank" status=0 out~"^RANK=$rank\$" out~'^WORLD_SIZE=4$' \
        out~"^LOCAL_RANK=$((rank % 2))\$" out~'^LOCAL_WORLD_SIZE=2$' out~'^MASTER_ADDR=127.0.0.1$' \
        out~'^MASTER_PORT=[0-9]+$' out~'^POLLUX_JOB=env$' out~'^POLLUX_GENERATION=1$' out~"^POLLUX_NODE=$node\$" \
        out~'^POLLUX_NODES=2$' out~"^POLLUX_SOCKET=." out~"^POLLUX_CHECKPOINT_DIR=$tmp/ck\$" out~'^POLLUX_RUN=env\.1\.' \
        out~'^OMP_NUM_THREADS=[1-9]' out~'^GREETING=a b=c$' out~'^ARGS one two  words$' out~"^PWD $tmp\$" \
        out~"^TMPDIR=$TMPDIR\$" out!TOKEN out!"$secrets" out!POLLUX_STATE out!CUDA_VISIBLE_DEVICES
done
holds "all replicas have the same port" [ "$(cat "$tmp"/env.env.* | grep MASTER_PORT | sort -u | wc -l)" = 1 ]
holds "the socket exists" [ -S "$(sed -n 's/^POLLUX_SOCKET=//p' "$tmp/env.env.3")" ]
holds "the checkpoint directory exists" [ -d "$tmp/ck" ]
words=$(for pid in $(left_over) $daemon; do cat "/proc/$pid/cmdline" "/proc/$pid/environ" 2>/dev/null | tr '\0' ' '; done)
holds "no process has a token in its arguments or environment" [ -z "$(grep -F -e "$secrets" -e '"token"' <<<"$words")" ]
end_jobs env

# ---- Failures -----------------------------------------------------------------------------------

submit fails --max-failures 2 --backoff 0.1 -- sh -c 'echo "attempt $POLLUX_GENERATION"; echo "and why" >&2; exit 7'
soon "a job that fails too often has failed" is fails '.phase == "failed"'
run pollux show fails
expect "show has the reason and the last lines" status=0 out~'gave up after 3 failures' out~'exit code 7' out~'attempt 3' out~'and why'
holds "it was tried three times, none of them a restart" is fails '.generation == 3 and .failures == 3 and .restarts == 0'
run pollux logs fails --generation 1
expect "the log of an earlier attempt" status=0 out~'attempt 1'
submit signal --max-failures 0 -- sh -c 'kill -SEGV $$'
soon "death by a signal is a failure" is signal '.phase == "failed"'
holds "the detail names the signal" is signal '.detail | test ("signal 11")'
submit missing --max-failures 0 -- "$tmp/no-such-program"
soon "a missing command fails" is missing '.phase == "failed"'
holds "the detail names the missing command" is missing '.detail | test ("no-such-program")'
submit other --replicas 2 --max-failures 0 -- sh -c '[ $RANK = 0 ] && exec sleep 1000; exit 3'
soon "one replica's failure stops the others" is other '.phase == "failed"'
holds "the detail names the replica that failed first" is other '.detail | test ("replica 1.*3")'
submit again --max-failures 5 --backoff 0.1 -- sh -c '[ $POLLUX_GENERATION = 3 ]'
soon "a job finishes after two failures" is again '.phase == "finished" and .generation == 3 and .failures == 2'
submit patient --max-failures 5 --backoff 600 -- false
soon "a failed job waits for its back-off" is patient '.phase == "pending" and .failures == 1 and .generation == 1'
run pollux cancel patient
expect "cancel a job that waits for its next attempt" status=0
holds "the waiting job is cancelled" is patient '.phase == "cancelled"'

# ---- Cancelling ---------------------------------------------------------------------------------

submit long --replicas 2 -- "$worker"
soon "a job with two replicas runs" is long '.replicas == 2'
run pollux cancel long
expect "cancel a running job" status=0
soon "the running job is stopped and cancelled" is long '.phase == "cancelled"'
submit stubborn --grace 0.3 -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
until_true eval 'pollux logs stubborn | grep -q deaf'
run pollux cancel stubborn
soon "a job that ignores SIGTERM is killed after its grace" is stubborn '.phase == "cancelled"'
submit finisher -- sh -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.1; done'
until_true eval 'pollux logs finisher | grep -q ready'
run pollux cancel finisher
soon "a job that exits with 0 when cancelled" has_ended finisher
check_rest "after failures and cancels"

# ---- Elastic jobs -------------------------------------------------------------------------------

stop_daemon
start_daemon "${usual[@]}"
submit big --max 4 -- "$worker"
soon "an elastic job has the whole machine" is big '.replicas == 4'
all_began() { [ "$(grep -c '^big 1 ' "$starts")" = 4 ]; }
soon "all of its replicas have started" all_began
submit small --max 4 -- "$worker"
soon "a second job gets half of the slots" is small '.replicas == 2'
soon "both jobs run with two replicas" is big '.replicas == 2'
holds "a restart by a plan is not a failure" is big '.restarts >= 1 and .failures == 0 and .warning == null'
soon "its replicas have the new number of replicas" grep -q '^big [2-9][0-9]* 1 2 ' "$starts"
end_jobs small
soon "it grows when the other has ended" is big '.replicas == 4'
submit stay --replicas 2 --no-preemptible -- "$worker"
soon "a job of two replicas gets them" is stay '.replicas == 2 and .generation == 1'
soon "the elastic job has the other slots" is big '.replicas == 2'
submit third --max 4 -- "$worker"
soon "three jobs share four slots" is third '.replicas == 1'
soon "both elastic jobs have one replica" is big '.replicas == 1'
holds "the job that is not preemptible was not moved" is stay '.replicas == 2 and .generation == 1'
end_jobs stay third

# Lost work is reported.
submit careless --max 2 -- sh -c 'echo started; sleep 1000'
soon "a job that saves nothing runs" is careless '.phase == "running"'
run pollux cancel big
soon "it grows into the free slots" is careless '.replicas == 2'
both_started() { pollux logs careless --rank 0 | grep started && pollux logs careless --rank 1 | grep started; }
soon "both of its replicas have started" both_started
submit mover --min 3 --max 3 -- "$worker"
until_true eval 'is careless ".restarts >= 1 or .replicas == 1" || is mover ".replicas == 3"'
soon "it is stopped for another job" is mover '.phase == "running"'
soon "its warning says how much work is lost" is careless '(.warning // .detail // "") | test ("since the last checkpoint is lost")'
run pollux cancel careless
end_jobs mover
until_true has_ended careless

# ---- Limits -------------------------------------------------------------------------------------

stop_daemon
start_daemon --node a:4 --node b:3 --interval 0.4
submit pow --max 7 --allowed pow2 -- "$worker"
soon "powers of two: four of seven" is pow '.replicas == 4'
end_jobs pow
cat >"$tmp/multiple.yaml" <<END
name: multiple
command: ["$worker"]
max_replicas: 7
allowed: {multiple_of: 3}
END
run pollux submit "$tmp/multiple.yaml"
expect "a job file" status=0 out=multiple
soon "multiples of three: six of seven" is multiple '.replicas == 6'
end_jobs multiple
submit least --min 5 --max 7 -- "$worker"
soon "a job has all slots" is least '.replicas == 7'
submit one -- "$worker"
soon "another job gets one slot" is one '.replicas == 1'
soon "the first job shrinks, not below its minimum" is least '.replicas >= 5 and .replicas <= 6'
submit two --min 2 --max 2 -- "$worker"
run pollux scale one --max 2
expect "scale a job that is not elastic" status=0
run pollux scale two --min 1 --max 1
expect "scale" status=0
soon "limits can be changed" is two '.replicas == 1'
run pollux scale least --max 2
soon "minimum above maximum is refused" [ "$status" != 0 ]
run pollux scale least --min 1 --max 2
expect "minimum and maximum are changed together" status=0
soon "the job shrinks to its new maximum" is least '.replicas == 2'
run pollux submit --name bad --min 3 --max 2 -- true
expect "limits that contradict each other" status=2 err~min_replicas
end_jobs least one two
stop_daemon
start_daemon --node a:6 --interval 0.4
submit light --max 6 --allowed 2,4 -- "$worker"
submit heavy --max 6 --allowed 2,4 --weight 50 -- "$worker"
soon "the job with more weight gets more slots" is heavy '.replicas == 4'
soon "the job with less weight gets fewer slots" is light '.replicas == 2'
run pollux scale light --weight 5000
expect "a weight can be changed" status=0
soon "after the change the other job gets more slots" is light '.replicas == 4'
end_jobs light heavy

# ---- Draining -----------------------------------------------------------------------------------

stop_daemon
start_daemon "${usual[@]}"
submit fixed --replicas 2 --no-preemptible -- "$worker"
soon "a job that is not preemptible runs" is fixed '.replicas == 2'
fixed_node=$(of fixed '.placement | keys[0]')
submit moves --max 2 -- "$worker"
soon "a preemptible job runs" is moves '.replicas == 2'
moves_node=$(of moves '.placement | keys[0]')
holds "each job has its own node" [ "$fixed_node" != "$moves_node" ]
end_jobs fixed
run pollux drain "$moves_node"
expect "drain" status=0
soon "the preemptible job moves to the other node" is moves ".placement == {\"$fixed_node\": 2}"
end_jobs moves
run pollux nodes
expect "pollux nodes shows the drained node" status=0 out~"^$moves_node .* drain"
run pollux resume "$moves_node"
expect "resume" status=0

# Only prompt rounds, and no preemptible job.
stop_daemon
start_daemon "${nodes[@]}" --interval 3600
submit full --replicas 2 --no-preemptible -- "$worker"
soon "one node is full" is full '.replicas == 2'
other=$(of full '.placement | if has ("a") then "b" else "a" end')
submit early -- "$worker"
soon "a job runs on the other node" is early ".placement == {\"$other\": 1}"
run pollux drain "$other"
expect "drain the other node" status=0
submit late -- "$worker"
soon "no job starts on a drained node" is late '.phase == "pending"'
run pollux resume "$other"
soon "a resumed node gets jobs at once" is late ".placement == {\"$other\": 1}"
run pollux drain "$other"
stop_daemon
start_daemon "${usual[@]}"
rounds() { sqlite3 "$state/journal.db" "SELECT count(*) FROM events WHERE type = 'ROUND'"; }
before=$(rounds)
some_rounds() { [ "$(rounds)" -gt $((before + 3)) ]; }
soon "more full rounds are held" some_rounds
for job in early late full; do
    holds "jobs that are not preemptible finish where they are: $job" is $job '.phase == "running" and .generation == 1'
done
run pollux nodes --json
holds "a node stays drained after a restart of the daemon" jq -e ".nodes[] | select (.name == \"$other\") | .available == false" <<<"$out"
run pollux resume "$other"
end_jobs full early late

# ---- Other nodes --------------------------------------------------------------------------------

submit wanders --max 4 -- "$worker"
soon "a job on both nodes" is wanders '.placement == {a: 2, b: 2}'
stop_daemon
start_daemon --node a:2 --interval 0.4
soon "a job leaves a node that the next daemon does not have" is wanders '.placement == {a: 2}'
stop_daemon
start_daemon --node c:3 --interval 0.4
soon "a job moves to a new node of the next daemon" is wanders '.placement == {c: 3} and .failures == 0'
end_jobs wanders
stop_daemon
start_daemon "${usual[@]}"

# ---- mpirun -------------------------------------------------------------------------------------

if command -v mpirun >/dev/null; then
    cat >"$tmp/rank" <<END
#!/bin/sh
trap 'echo saved; exit 143' TERM
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN \$OMPI_COMM_WORLD_RANK \$OMPI_COMM_WORLD_SIZE" >>"$starts"
while [ ! -e "$tmp/end/\$POLLUX_JOB" ]; do sleep 0.1; done
END
    chmod 755 "$tmp/rank"
    submit mpi --max 4 --launcher mpi -- "$tmp/rank"
    soon "a job under mpirun" is mpi '.replicas == 4'
    all_ranks() { [ "$(grep -c "^mpi $(of mpi .generation) " "$starts")" = "$1" ]; }
    soon "all of its ranks have started" all_ranks 4
    holds "ranks are those of mpirun" [ -z "$(awk '$1 == "mpi" && ($3 != $8 || $4 != $9)' "$starts")" ]
    submit rival --replicas 2 -- "$worker"
    soon "the job under mpirun shrinks" is mpi '.replicas == 2 and .failures == 0'
    soon "two ranks have started" all_ranks 2
    holds "all ranks had time to save" is mpi '.warning == null'
    end_jobs mpi rival
    holds "the job under mpirun finishes" is mpi '.phase == "finished" and .failures == 0'
    submit mpibad --replicas 2 --max-failures 0 --launcher mpi -- sh -c '[ $RANK = 1 ] && exit 5; sleep 1000'
    soon "a job with a failing rank fails" is mpibad '.phase == "failed"'
    holds "the detail has the rank's exit code" is mpibad '.detail | test ("replica 1.*5")'
    mkdir "$tmp/broken" "$tmp/idle"
    printf '#!/bin/sh\necho "no such network"; exit 9\n' >"$tmp/broken/mpirun"
    printf '#!/bin/sh\nexec sleep 1000\n' >"$tmp/idle/mpirun"
    chmod 755 "$tmp/broken/mpirun" "$tmp/idle/mpirun"
    submit mpibroken --replicas 2 --max-failures 2 --backoff 0.1 --launcher mpi --env PATH="$tmp/broken:$PATH" -- true
    soon "an mpirun that exits before its ranks start is a failure" is mpibroken '.phase == "failed" and .failures == 3 and .restarts == 0'
    holds "the detail names mpirun" is mpibroken '.detail | test ("mpirun.*9")'
    if [ -n "${POLLUX_SOAK-}" ]; then
        submit mpiidle --replicas 2 --max-failures 0 --launcher mpi --env PATH="$tmp/idle:$PATH" -- true
        soon "an mpirun that never starts its ranks is a failure" is mpiidle '.phase == "failed"'
    fi
else
    skip "mpirun is not installed"
fi

# ---- Signals ------------------------------------------------------------------------------------

stop_daemon
cat >"$tmp/config.yaml" <<END
interval: 1
job_log_limit: 1048576
keep_events: 100000
END
start_daemon --config "$tmp/config.yaml" "${nodes[@]}"
# A generation of one replica has 8 or 9 files, which count as 16 KiB each: 1 MiB is room for 7 or 8.
submit often --max-failures 14 --backoff 0 -- sh -c 'echo run $POLLUX_GENERATION; exit 1'
soon "a job fails often" is often '.phase == "failed" and .generation == 15'
kept() { find "$POLLUX_STATE/run/often" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | tr '\n' ' '; }
holds "its newest logs are kept, up to the limit, and no older ones" eval '[[ " 8 9 10 11 12 13 14 15 " == *" $(kept)" ]] && [[ $(kept) == *"13 14 15 " ]]'
holds "the command says which are removed, and why" eval 'pollux logs --all often | grep -qE "^==> job often, generations 1 to [0-9]+: its logs were removed: those of a job may have 1 MiB"'
holds "the last one can be read" eval '[ "$(pollux logs often)" = "run 15" ]'
sed -i 's/interval: 1/interval: 2/' "$tmp/config.yaml"
kill -HUP "$daemon"
reloaded() { pollux status --json | jq -e '.interval_s == 2'; }
soon "SIGHUP reads the configuration again" reloaded
echo 'intervall: 7' >>"$tmp/config.yaml"
kill -HUP "$daemon"
soon "an invalid configuration is logged" grep -q 'not reloaded.*intervall' "$log"
holds "an invalid configuration changes nothing" reloaded
sed -i '$d' "$tmp/config.yaml"
printf 'policy: srtf\nrate: 999\nslurm: {partition: other}\n' >>"$tmp/config.yaml"
kill -HUP "$daemon"
soon "a policy that needs a simulation is logged" grep -q 'not reloaded.*srtf needs the true remaining times' "$log"
sed -i '/srtf/d' "$tmp/config.yaml"
kill -HUP "$daemon"
soon "fields that need a restart are logged" grep -q 'only a restart.*field=rate' "$log"
soon "those of the section slurm, too" grep -q 'only a restart.*field=slurm.partition' "$log"
holds "and no others" [ "$(grep -c 'only a restart' "$log")" = 2 ]
sed -i '$d' "$tmp/config.yaml"
sed -i '$d' "$tmp/config.yaml"
submit stays --max 4 -- "$worker"
soon "a job with four replicas runs" is stays '.replicas == 4'
before=$(of stays .generation)
stop_daemon
holds "SIGTERM ends the daemon with 0" [ "$status" = 0 ]
holds "the job runs on without a daemon" [ "$(left_over | wc -l)" -ge 8 ]
run pollux list
expect "pollux status without a daemon" status=3 err~'is polluxd running'
start_daemon --config "$tmp/config.yaml" "${nodes[@]}" --stop-jobs
holds "the next daemon adopts it" is stays ".phase == \"running\" and .generation == $before and .replicas == 4"
stop_daemon
holds "--stop-jobs ends the daemon with 0" [ "$status" = 0 ]
holds "--stop-jobs leaves no process" [ -z "$(left_over)" ]
start_daemon --config "$tmp/config.yaml" "${nodes[@]}"
soon "the next daemon starts the job again" is stays ".phase == \"running\" and .generation > $before and .failures == 0"
end_jobs stays
holds "the job finishes" is stays '.phase == "finished"'
check_rest "after signals"

# ---- The journal --------------------------------------------------------------------------------

check_replay "a replay of the journal of a running daemon, across restarts, gives the same plans"
stop_daemon
check_replay "a replay after the end of the daemon gives the same plans"
holds "no node ever had more replicas than slots" [ -z "$(crowded "$state/journal.db")" ]
echo "keep_events: 1000" >"$tmp/config.yaml"
# Short rounds, so that there are many events to compact.
compacted() { [ "$(sqlite3 "$state/journal.db" 'SELECT min(seq) FROM events')" -gt 1 ]; }
for i in 1 2 3; do
    start_daemon --config "$tmp/config.yaml" "${nodes[@]}" --interval 0.01
    submit "keep$i" --max 4 -- "$worker"
    submit "kept$i" --max 3 --max-failures 1 --backoff 0 -- sh -c 'sleep 0.2; [ $POLLUX_GENERATION != 1 ]'
    until_true has_ended "kept$i"
    until_true compacted
    end_jobs "keep$i"
    stop_daemon "$([ $i = 2 ] && echo KILL || echo TERM)"
done
holds "old events are in a snapshot" compacted
check_replay "a replay of a compacted journal of several daemons gives the same plans"
start_daemon --config "$tmp/config.yaml" "${nodes[@]}"
holds "jobs from before the snapshot are known" is fails '.phase == "failed" and .failures == 3'
holds "jobs from before the snapshot have their last lines" is fails '.last_lines | length > 0'
history() { curl -sS -H "Authorization: Bearer $(cat "$state/admin.token")" "$(cat "$state/address")/v1/$1" | jq -e "$2" >/dev/null; }
holds "the cluster has a history from before the snapshot" history history '.minutes.used | max > 0'
for i in 1 2 3; do
    holds "job kept$i has a history from before the snapshot" history "jobs/kept$i/history" \
        '[.generations[].kind] == ["failed", "finished"] and (.points.replicas | max) > 0'
    holds "job keep$i has finished" is "keep$i" '.phase == "finished"'
    holds "job kept$i ran twice" is "kept$i" '.phase == "finished" and .failures == 1'
done
stop_daemon

# ---- GPUs and CPUs ------------------------------------------------------------------------------

cpus=$(nproc)
if [ "$cpus" -ge 2 ]; then
    start_daemon --node c:2 --interval 0.4
    submit pinned --replicas 2 -- "$tmp/tell"
    until_true [ -e "$tmp/env.pinned.0" ] && until_true [ -e "$tmp/env.pinned.1" ]
    lists=$(sed -n 's/^Cpus_allowed_list:\s*//p' "$tmp/env.pinned.0" "$tmp/env.pinned.1")
    holds "slots have CPUs of their own" [ "$(sort -u <<<"$lists" | wc -l)" = 2 ]
    holds "OMP_NUM_THREADS is the number of CPUs" grep -q "^OMP_NUM_THREADS=$((cpus / 2))\$" "$tmp/env.pinned.0"
    end_jobs pinned
    stop_daemon
else
    skip "slots have CPUs of their own (there is only one CPU)"
fi
mkdir "$tmp/bin"
cat >"$tmp/bin/nvidia-smi" <<'END'
#!/bin/sh
# The output of the real program for --query-gpu=index,name.
case "$*" in
*query-gpu*) printf '0, Stand-in GPU\n1, Stand-in GPU\n2, Stand-in GPU\n' ;;
*) printf 'GPU 0: Stand-in GPU\nGPU 1: Stand-in GPU\nGPU 2: Stand-in GPU\n' ;;
esac
END
chmod 755 "$tmp/bin/nvidia-smi"
rm -rf "$state"
path=$PATH
PATH=$tmp/bin:$PATH start_daemon --interval 1
PATH=$path
run pollux status --json
holds "nvidia-smi's GPUs are the slots (stand-in program)" jq -e '.slots == 3 and .nodes == 1' <<<"$out"
submit gpu1 -- "$tmp/tell"
submit gpu2 --replicas 2 -- "$tmp/tell"
for file in gpu1.0 gpu2.0 gpu2.1; do
    until_true [ -e "$tmp/env.$file" ]
done
devices() { sed -n 's/^CUDA_VISIBLE_DEVICES=//p' "$tmp/env.$1"; }
holds "a replica sees one GPU" [ "$(devices gpu1.0 | tr ',' '\n' | wc -l)" = 1 ]
holds "two replicas see the same two GPUs" [ "$(devices gpu2.0 | tr ',' '\n' | wc -l),$(devices gpu2.0)" = "2,$(devices gpu2.1)" ]
holds "no GPU is given twice" [ -z "$(printf '%s\n' "$(devices gpu1.0)" "$(devices gpu2.0)" | tr ',' '\n' | sort | uniq -d)" ]
end_jobs gpu1 gpu2
stop_daemon

# ---- Long paths ---------------------------------------------------------------------------------

# Lengths of the path of the state directory: a socket fits but its URL does not, and a socket does not fit.
for length in 93 150; do
    state=$tmp/$(printf "%0$((length - ${#tmp} - 1))d" 0)
    export POLLUX_STATE=$state
    start_daemon "${usual[@]}"
    submit far -- true
    soon "a state directory whose path has $length bytes" is far '.phase == "finished"'
    stop_daemon
done

# ---- Another user -------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
    state=$tmp/nobody/state
    mkdir -m 755 "$tmp/nobody"
    chmod 711 "$tmp"
    export POLLUX_STATE=$state
    root=(--run-as nobody)
    cp "$POLLUX" "$tmp/bin/pollux"
    cp "$POLLUXD" "$tmp/bin/polluxd"
    chmod 755 "$tmp/bin"
    POLLUXD=$tmp/bin/polluxd
    start_daemon "${usual[@]}"
    holds "--run-as: the daemon runs as that user" [ "$(stat -c %U "/proc/$daemon")" = nobody ]
    holds "--run-as: the state directory belongs to that user" [ "$(stat -c '%U %a' "$state")" = 'nobody 700' ]
    submit who --directory / -- sh -c 'id -un; id -G; umask'
    soon "a job runs as that user" is who '.phase == "finished"'
    run pollux logs who
    expect "the job has only the name and groups of that user" out~'^nobody$' out!'^0 | 0 | 0$'
    stop_daemon
    start_daemon "${usual[@]}"
    holds "the next daemon knows the job" is who '.phase == "finished"'
    stop_daemon
    # As systemd makes it (StateDirectory=), or an administrator.
    state=$tmp/nobody/made
    export POLLUX_STATE=$state
    mkdir -m 700 "$state"
    start_daemon "${usual[@]}"
    holds "--run-as: an empty state directory of root becomes that user's" [ "$(stat -c '%U %a' "$state")" = 'nobody 700' ]
    submit made --directory / -- true
    soon "a job runs there" is made '.phase == "finished"'
    stop_daemon
    mkdir -m 700 "$tmp/nobody/full"
    touch "$tmp/nobody/full/file"
    run "$POLLUXD" --run-as nobody --state "$tmp/nobody/full"
    expect "--run-as: a directory of root with files is refused" status=1 out= err~'belongs to root, and is not empty: .*chown -R.*--state'
    check "and stays root's" [ "$(stat -c %U "$tmp/nobody/full")" = root ]
else
    skip "--run-as (not root)"
fi
check_rest "at the end"
