# SPDX-License-Identifier: Apache-2.0
# A PyTorch script under polluxd, directly and started by a shell: the scheduler gives it a second replica and takes it
# away; every sample is still seen once per pass; the loss continues at its level; training survives a killed daemon.
. tests/cli/lib_daemon.sh
. tests/cli/lib_torch.sh
# The flavour of the command makes no difference here: POLLUX_BRIEF skips this test, another run has it.
[ -z "${POLLUX_BRIEF-}" ] || exit 0
if ! python=$(tools/find-python torch numpy 2>"$tmp/why"); then
    skip "$(cat "$tmp/why")"
    exit 0
fi
program=$PWD/tests/cli/pytorch_train.py
options=(--adaptive --max 1 --grace 60 --backoff 1 --env "PYTHONPATH=$PWD/bindings/python" --env OMP_NUM_THREADS=1
    --env PYTHONDONTWRITEBYTECODE=1)
build=$PWD/$(dirname "$POLLUX")
mkdir "$tmp"/{plain,wrapped}

# updates JOB: the number of updates of its replica 0.  reached JOB N: at least N.  more JOB N: wait for N more.
updates() { wc -l 2>/dev/null <"$tmp/$1/updates.0" || echo 0; }
reached() { [ "$(updates "$1")" -ge "$2" ]; } # works without a daemon
more() { until_true reached "$1" $(($(updates "$1") + $2)); }
# trains JOB REPLICAS: its last 15 updates had this number of replicas.
trains() { [ "$(tail -n 15 "$tmp/$1/updates.0" | awk -v n="$2" '$3 == n' | wc -l)" = 15 ]; }

# ---- One replica, two, one ----------------------------------------------------------------------

start_daemon --node here:4 --interval 1
PATH=$(dirname "$python"):$PATH submit plain "${options[@]}" --checkpoint-dir "$tmp/saved" "$program" -- "$tmp/plain" "$build"
submit wrapped "${options[@]}" --launcher env --checkpoint-dir "$tmp/saved too" -- \
    sh -c "$python $program $tmp/wrapped $build; code=\$?; echo the shell saw \$code; exit \$code"
soon "a script is submitted as a job and trains" trains plain 1
soon "it reports its noise scale and goodput" is plain '.noise_scale > 0 and .goodput > 0 and .progress > 0 and .hints.init_batch == 12'
holds "it reports its limits" is plain '.hints.max_batch == 48 and .hints.max_profiled_replicas == 1'
soon "a script started by a shell trains, too" trains wrapped 1
for job in plain wrapped; do
    pollux scale $job --min 2 --max 2 >/dev/null
done
soon "it continues with two replicas" trains plain 2
soon "the daemon gets reports of two replicas" is plain '.replicas == 2 and .hints.max_profiled_replicas == 2'
soon "started by a shell, it continues with two replicas, too" trains wrapped 2
for job in plain wrapped; do
    pollux scale $job --min 1 --max 1 >/dev/null
done
soon "it continues with one replica again" trains plain 1
soon "started by a shell, it continues with one replica, too" trains wrapped 1

# ---- Without a daemon ---------------------------------------------------------------------------

stop_daemon KILL
daemon=
from=$(updates plain)
holds "training continues without a daemon" more plain 100
to=$(updates plain)
check "it does not pause for 30 s" awk -v from="$from" -v to="$to" '
    NR > from && NR <= to { if (last && $1 - last > 30) { print "a pause of", $1 - last; exit 1 } last = $1 }' "$tmp/plain/updates.0"
start_daemon --node here:4 --interval 1
holds "a new daemon finds the running job" is plain '.generation == 3 and .restarts == 2 and .failures == 0'
before=$(of plain '.progress // 0')
soon "the new daemon gets its reports" is plain ".progress > $before and .hints != null"
touch "$tmp"/{plain,wrapped}/end
soon "the job finishes" is plain '.phase == "finished"'
soon "the job started by a shell ends" has_ended wrapped

# ---- Events and records of the training ---------------------------------------------------------

# An EXIT event without a detail: all replicas ended with status 143 (stopped) or 0 (finished).
pollux events --json >"$tmp/events"
exits() { jq -c --arg job "$1" 'select (.type == "EXIT" and .job == $job) | .body' "$tmp/events"; }
for job in plain wrapped; do
    check "$job: two stops with status 143, then an end with status 0" [ "$(exits $job)" = '{"generation":1,"kind":"stopped"}
{"generation":2,"kind":"stopped"}
{"generation":3,"kind":"finished"}' ]
    check "$job: 1, then 2, then 1 replicas" [ "$(cut -d ' ' -f 3 "$tmp/$job/updates.0" | uniq | tr '\n' ' ')" = "1 2 1 " ]
    check "$job: every sample was seen once per pass" seen_once "$tmp/$job" 3
    check "$job: the loss does not jump at a change of replicas" loss_is_smooth "$tmp/$job" 3 15 2
    check "$job: the loss falls" loss_falls "$tmp/$job"
done
run pollux logs plain
expect "pollux logs shows the output of the job" status=0 out~'^ended after epoch [0-9]+$'
run pollux logs wrapped
expect "pollux logs shows the output of the shell" status=0 out~'^the shell saw 0$'
stop_daemon

check_rest "at the end"
