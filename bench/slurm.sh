#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Times of Pollux on Slurm, beside plain srun and sbatch of the same shape in the same run, and the processor time of
# polluxd with 1,000 jobs.  It has its own cluster (tests/slurm/lib_slurm.sh), and needs root for users of its own.
#
#     tools/bench bench/slurm.sh
#
# A job has eight replicas on two nodes of four GPUs.  Each replica writes the time when it begins.  Medians of:
#
#     WAY_srun_start_s, WAY_sbatch_start_s   from the command to the last replica, without Pollux: two steps in an allocation, or
#                                            two jobs of one node each
#     WAY_start_s                            from `pollux submit` to the last replica
#     WAY_plan_s                             from the plan of polluxd to the last replica
#     WAY_divide_s                           from a plan that changes the job from 8 to 4 replicas, or from 4 to 8, to the last replica
#                                            of the new generation: it includes the stop of the old one
#     WAY_srun_stop_s, WAY_sbatch_stop_s     from scancel until squeue does not list it any more
#     WAY_stop_s                             from `pollux cancel` until polluxd knows that the slots are free; both after a second of
#                                            running, since a step that has just begun is stopped later
#
#     WAY_cpu_s_per_min                      processor time of polluxd (and of the service's root process) with 1,000 jobs: 16 run, the
#                                            others wait.  WAY_commands_cpu_s_per_min: of the commands of Slurm that it started
#
# WAY is pilot (steps) or service (batch jobs).  *_ratio is Pollux over plain Slurm.
#
# BENCH_ROUNDS: of the times (5).  BENCH_JOBS: known jobs (1000).  BENCH_SECONDS: of measured processor time (60).
# shellcheck disable=SC2086  # POLLUX and POLLUXD may have several words
if [ "$(id -u)" = 0 ] && [ -z "${POLLUX_OWN_MOUNTS-}" ] && unshare --mount true 2>/dev/null; then
    POLLUX_OWN_MOUNTS=1 exec unshare --mount -- bash "$0" "$@"
fi
. "$(dirname "$0")/../tests/slurm/lib_slurm.sh"
if [ -z "${POLLUX_OWN_MOUNTS-}" ]; then
    skip "it needs root, and mounts of its own"
    exit 0
fi
rounds=${BENCH_ROUNDS-5} jobs=${BENCH_JOBS-1000} seconds=${BENCH_SECONDS-60}
separate=false # all nodes on the loopback address
PAUSE=0.02
export POLLUX_MUNGE_SOCKET=$cluster/munge/socket

fail()
{
    printf '%s\n' "bench/slurm.sh: $*" "$(tell)" >&2
    exit 1
}
# must COMMAND...: wait until it succeeds; the program ends if it does not.
must() { until_true "$@" || fail "did not become true: $*"; }

# Two accounts that exist only here: one of the service, one that owns its jobs.
cp /etc/passwd "$tmp/passwd"
cp /etc/group "$tmp/group"
for user in ann:70001 pollux:70002; do
    echo "${user%:*}:x:${user#*:}:${user#*:}::$tmp/home/${user%:*}:/bin/sh" >>"$tmp/passwd"
    echo "${user%:*}:x:${user#*:}:" >>"$tmp/group"
    install -d -m 700 -o "${user#*:}" -g "${user#*:}" "$tmp/home/${user%:*}"
done
chmod 755 "$tmp/home"
mount --bind "$tmp/passwd" /etc/passwd
mount --bind "$tmp/group" /etc/group
mkdir -m 755 "$tmp/bin"
cp "${POLLUX%% *}" "$tmp/bin/pollux"
cp "${POLLUXD%% *}" "$tmp/bin/polluxd"
POLLUX=$tmp/bin/pollux POLLUXD=$tmp/bin/polluxd

# A replica: writes "LABEL TIME" and waits for a signal.
cat >"$tmp/replica" <<END
#!/bin/bash
echo "\${LABEL-\$POLLUX_JOB.\$POLLUX_GENERATION} \$EPOCHREALTIME" >>$starts
exec sleep 100000
END
# The four replicas of a step or batch job without Pollux.
cat >"$tmp/four" <<END
#!/bin/bash
for i in 1 2 3 4; do $tmp/replica & done
wait
END
chmod 755 "$tmp/replica" "$tmp/four"

# ---- Measuring ----------------------------------------------------------------------------------

declare -A values=() # by name: all measured values
note() { values[$1]+="$2 "; }
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f\n", a - b }'; }
median() { printf '%s\n' ${values[$1]} | sort -n | awk '{ v[NR] = $1 } END { printf "%.3g\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
print_median() { echo "$1 $(median "$1") s"; }
print_ratio() { awk -v name="$1" -v a="$(median "$2")" -v b="$(median "$3")" 'BEGIN { printf "%s %.2f times\n", name, a / b }'; }
# with_target LIMIT: repeat a line NAME VALUE UNIT as a target, see bench/bench.h.
with_target() { awk -v limit="$1" '{ print; print "target", $1, $2, limit, $2 <= limit ? "met" : "missed" }'; }

all_begun() { [ "$(grep -c "^$1 " "$starts")" = "$2" ]; }
# wait_begun LABEL REPLICAS: waits for them; sets begun to the time of the last one.
wait_begun()
{
    must all_begun "$1" "$2"
    begun=$(awk -v label="$1" '$1 == label && $2 > last { last = $2 } END { print last }' "$starts")
}

as_ann() { setpriv --reuid=ann --regid=ann --init-groups -- env -u POLLUX_STATE HOME="$tmp/home/ann" "$@"; }
# The commands of the two ways: of the pilot's user, and of a user of the service, who signs with munge.
user=()
pollux() { "${user[@]}" "$POLLUX" "$1" ${server:+--server "$server"} "${@:2}"; }

# begin_plain WAY LABEL: start the two shares without Pollux; sets plain to the processes of srun or to job ids.
begin_plain()
{
    local node
    plain=()
    for node in n0 n1; do
        if [ "$1" = pilot ]; then
            LABEL=$2 srun --jobid="$allocation" --overlap -N1 -n1 -w $node -J "$2" --cpu-bind=none --mem=0 --gres=gpu:4 "$tmp/four" \
                </dev/null >/dev/null 2>&1 &
            plain+=($!)
        else
            as_ann env LABEL="$2" sbatch -Q -N1 -n1 -w $node -J "$2" --gres=gpu:4 --mem=100 -o /dev/null "$tmp/four" >/dev/null
        fi
    done
}
# end_plain WAY LABEL: cancel them and wait until Slurm has none of them.
end_plain()
{
    if [ "$1" = pilot ]; then
        scancel $(squeue -h -s -o '%i %j' | awk -v name="$2" '$2 == name { print $1 }')
        must no_step "$2"
    else
        as_ann scancel -n "$2"
        must no_job "$2"
    fi
}
no_step() { ! squeue -h -s -o %j | grep -qx "$1"; }
no_job() { [ -z "$(squeue -h -t all -n "$1" -o %T | grep -v -e CANCELLED -e COMPLETED -e FAILED)" ]; }
# ask PATH: with the administrator's token.
ask() { curl -sSk -H "Authorization: Bearer $(cat "$state/admin.token")" "${@:2}" "$(head -n 1 "$state/address")$1"; }
# divided_at SINCE: when the first plan after that time which stops a job was made.
divided_at() { ask /v1/rounds?limit=1000 | jq "[.rounds[] | select (.at > $1 and .restarts > 0)] | last.at"; }
shown() { pollux show "$1" --json | jq -r "$2"; }
ended() { [ "$(shown "$1" .phase)" = cancelled ]; }

# times WAY PLAIN: all rounds; PLAIN is srun or sbatch.
times()
{
    local way=$1 plain_way=$2 round begun since job to generation
    for ((round = 0; round < rounds; round++)); do
        job=$way$round
        since=$EPOCHREALTIME
        begin_plain "$way" "plain$job"
        wait_begun "plain$job" 8
        note "${way}_${plain_way}_start_s" "$(minus "$begun" "$since")"
        sleep 1
        since=$EPOCHREALTIME
        end_plain "$way" "plain$job"
        note "${way}_${plain_way}_stop_s" "$(minus "$EPOCHREALTIME" "$since")"
        [ "$way" != pilot ] || wait "${plain[@]}" 2>/dev/null

        since=$EPOCHREALTIME
        pollux submit --name "$job" --min 8 --max 8 --preemptible --grace 10 --directory / -- "$tmp/replica" >/dev/null || fail "submit"
        wait_begun "$job.1" 8
        note "${way}_start_s" "$(minus "$begun" "$since")"
        note "${way}_plan_s" "$(minus "$begun" "$(shown "$job" .started_at)")"
        generation=1
        for to in 4 8; do
            generation=$((generation + 1))
            since=$EPOCHREALTIME
            pollux scale "$job" --min $to --max $to >/dev/null
            wait_begun "$job.$generation" $to
            note "${way}_divide_s" "$(minus "$begun" "$(divided_at "$since")")"
        done
        sleep 1
        since=$EPOCHREALTIME
        pollux cancel "$job" >/dev/null
        must ended "$job"
        note "${way}_stop_s" "$(minus "$(shown "$job" .ended_at)" "$since")"
    done
    print_median "${way}_${plain_way}_start_s"
    print_median "${way}_start_s"
    print_median "${way}_plan_s"
    print_median "${way}_divide_s"
    print_median "${way}_${plain_way}_stop_s"
    print_median "${way}_stop_s"
    print_ratio "${way}_start_ratio" "${way}_start_s" "${way}_${plain_way}_start_s"
    print_ratio "${way}_plan_ratio" "${way}_plan_s" "${way}_${plain_way}_start_s" | with_target 3
    print_ratio "${way}_stop_ratio" "${way}_stop_s" "${way}_${plain_way}_stop_s"
}

# ---- Processor time -----------------------------------------------------------------------------

# cpu PID...: the seconds that they, and their children that have ended, took: two numbers.
cpu()
{
    local pid
    for pid; do cat "/proc/$pid/stat"; done | awk -v tick="$(getconf CLK_TCK)" '
        { sub(/.*\) /, ""); own += $12 + $13; children += $14 + $15 } END { print own / tick, children / tick }'
}

# many_jobs TOKEN: submit the jobs with one connection; as many as there is room for run, the others wait.
many_jobs()
{
    local i address
    address=$(head -n 1 "$state/address")
    for ((i = 0; i < jobs; i++)); do
        echo "{\"name\": \"many$i\", \"command\": [\"sleep\", \"100000\"], \"directory\": \"/\", \"min_replicas\": 1, \"max_replicas\": 2, \"preemptible\": true}" \
            >"$tmp/many$i.json"
        [ $i = 0 ] || echo next
        printf '%s\n' "url = $address/v1/jobs" "data-binary = @$tmp/many$i.json" "header = \"Content-Type: application/json\"" \
            "header = \"Authorization: Bearer $1\"" "output = /dev/null" "insecure" "silent" "fail"
    done >"$tmp/curl"
    curl -K "$tmp/curl" || fail "the jobs are not accepted"
    rm "$tmp"/many*.json
}
all_known() { [ "$(pollux status --json | jq ".slots == .used_slots and .jobs.running + .jobs.pending == $jobs")" = true ]; }

# with_many_jobs WAY TOKEN PID...: processor time of polluxd with many jobs.
with_many_jobs()
{
    local way=$1 before after
    many_jobs "$2"
    shift 2
    must all_known
    sleep 5
    read -ra before <<<"$(cpu "$@")"
    sleep "$seconds"
    read -ra after <<<"$(cpu "$@")"
    per_minute "${way}_cpu_s_per_min" "${before[0]}" "${after[0]}" | with_target 1
    per_minute "${way}_commands_cpu_s_per_min" "${before[1]}" "${after[1]}"
}
per_minute() { awk -v name="$1" -v before="$2" -v after="$3" -v seconds="$seconds" 'BEGIN { printf "%s %.3g s\n", name, (after - before) * 60 / seconds }'; }

# ---- The pilot ----------------------------------------------------------------------------------

# pilot OPTION...: start one, with options of polluxd.
pilot()
{
    rm -f "$state/address"
    "$POLLUX" slurm-pilot --state "$state" -N4 --gpus-per-node=4 -t 60 -- "$@" >"$tmp/pilot" || fail "no pilot"
    read -r _ _ _ allocation <"$tmp/pilot"
    log=$state/pilot-$allocation.log
    must answers
}
end_pilot()
{
    scancel "$allocation"
    must nodes_are idle
}
pilot_pid() { node_pids n0 slurm-steps | while read -r pid; do [ "$(readlink "/proc/$pid/exe")" != "$POLLUXD" ] || echo "$pid"; done; }

cluster_up 4 4
server=
pilot --interval 1
times pilot srun
end_pilot
pilot
with_many_jobs pilot "$(cat "$state/admin.token")" $(pilot_pid)
end_pilot

# ---- The service --------------------------------------------------------------------------------

state=$tmp/service
export POLLUX_STATE=$state
install -d -m 700 -o pollux -g pollux "$state"
log=$tmp/polluxd.log root=(--run-as pollux)
cd /
service()
{
    server= user=()
    start_daemon --backend slurm --partition main --auth munge "$@"
    server=$(head -n 1 "$state/address") user=(as_ann)
}
service --interval 1
times service sbatch
stop_daemon
service
token=$(ask /v1/tokens -H 'Content-Type: application/json' --data '{"name": "ann", "role": "user"}' | jq -r .token)
with_many_jobs service "$token" "$daemon" $(pgrep -x -P "$daemon" polluxd)
stop_daemon
