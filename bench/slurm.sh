#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Times of the pilot on a private Slurm cluster, beside bare srun and sbatch on the same cluster:
#
#   srun               srun in an allocation, until its task runs on one node
#   sbatch             sbatch of a job with one node, until it runs
#   pilot_start_1      a plan with one replica, until that runs
#   pilot_start_8      the same with eight replicas on two nodes
#   pilot_stop_8       the request to stop eight replicas, until their slots are free
#   daemon_cpu         polluxd's share of a processor with 1,000 waiting jobs (BENCH_JOBS=N: with N), rounds every second
#
# Medians of five.  Both ends of an interval are times of one machine.
cd "$(dirname "$0")/.." || exit 1
POLLUX=${POLLUX-$PWD/build/pollux}
. tests/slurm/lib_pilot.sh
$separate || { skip "no namespaces"; exit 0; }
PAUSE=0.02
cluster_up 4 4 >&2
start_pilot -N3 -w n0,n1,n2 --gpus-per-node=4 -- --interval 1 --restart-delay 0 >&2
until_true eval "pollux nodes --json | jq -e '.nodes | length == 3'"
pollux drain n0 >/dev/null

median() { sort -g | awk '{ a[NR] = $1 } END { printf "%.3f", a[int((NR + 1) / 2)] }'; }
minus() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f\n", a - b }'; }
say() { echo "$1 $2 $3"; }

for i in 1 2 3 4 5; do
    from=$EPOCHREALTIME
    minus "$(on_login srun --jobid="$pilot" --overlap -w n1 -N1 -n1 --mem=0 date +%s.%N)" "$from"
done | { say srun "$(median)" s; }
for i in 1 2 3 4 5; do
    rm -f "$tmp/runs"
    from=$EPOCHREALTIME
    on_login sbatch -Q -w n3 -o /dev/null --wrap "date +%s.%N >$tmp/runs.new; mv $tmp/runs.new $tmp/runs" >&2
    until_true [ -e "$tmp/runs" ]
    minus "$(cat "$tmp/runs")" "$from"
done | { say sbatch "$(median)" s; }

# Each replica writes the time at which it runs.
cat >"$tmp/timed" <<END
#!/bin/sh
date +%s.%N >"$tmp/ran.\$POLLUX_JOB.\$RANK"
trap 'exit 143' TERM
while :; do sleep 0.05; done
END
chmod 755 "$tmp/timed"
# event JOB TYPE: when the journal got it.
event() { pollux events --json | jq -r "select (.job == \"$1\" and .type == \"$2\") | .at" | tail -n 1; }
ran() { [ "$(ls "$tmp"/ran."$1".* 2>/dev/null | wc -l)" = "$2" ]; }
for count in 1 8; do
    : >"$tmp/starts.$count"
    : >"$tmp/stops.$count"
    for i in 1 2 3 4 5; do
        job=timed-$count-$i
        submit "$job" --replicas $count --preemptible -- "$tmp/timed"
        until_true ran "$job" $count
        minus "$(cat "$tmp"/ran."$job".* | sort -g | tail -n 1)" "$(event "$job" START)" >>"$tmp/starts.$count"
        from=$EPOCHREALTIME
        pollux cancel "$job" >/dev/null
        until_true has_ended "$job"
        minus "$(event "$job" EXIT)" "$from" >>"$tmp/stops.$count"
    done
    say "pilot_start_$count" "$(median <"$tmp/starts.$count")" s
    say "pilot_stop_$count" "$(median <"$tmp/stops.$count")" s
done

# cpu: seconds of a processor that polluxd has used.
cpu() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$(polluxd_pid)/stat"; }
jobs=${BENCH_JOBS-1000}
on_login bash -c "for ((i = 0; i < $jobs; i++)); do '$POLLUX' submit --name wait-\$i --replicas 8 -- true >/dev/null || exit; done" >&2
used=$(cpu) from=$EPOCHREALTIME
sleep 20
say daemon_cpu "$(awk -v used="$(minus "$(cpu)" "$used")" -v time="$(minus "$EPOCHREALTIME" "$from")" 'BEGIN { printf "%.1f", 100 * used / time }')" %
