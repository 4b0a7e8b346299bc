# SPDX-License-Identifier: Apache-2.0
# A PyTorch script under polluxd: the scheduler gives it a second replica and takes it back, every sample is seen once per
# epoch all the same, and the loss goes on where it was; behind a shell, too; and whatever becomes of the daemon.
. tests/cli/lib_daemon.sh
# The same with any flavour of the command, so that with POLLUX_BRIEF it is left to another run.
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

# updates JOB: how many its replica 0 has made; reached JOB N; more JOB N: so many more than there are.
updates() { wc -l 2>/dev/null <"$tmp/$1/updates.0" || echo 0; }
reached() { [ "$(updates "$1")" -ge "$2" ]; } # asks nobody: there may be no daemon
more() { until_true reached "$1" $(($(updates "$1") + $2)); }
# trains JOB REPLICAS: it has made updates with so many, as the last ones.
trains() { [ "$(tail -n 15 "$tmp/$1/updates.0" | awk -v n="$2" '$3 == n' | wc -l)" = 15 ]; }

# ---- One replica, two, one ----------------------------------------------------------------------

start_daemon --node here:4 --interval 1
PATH=$(dirname "$python"):$PATH submit plain "${options[@]}" --checkpoint-dir "$tmp/saved" "$program" -- "$tmp/plain" "$build"
submit wrapped "${options[@]}" --launcher env --checkpoint-dir "$tmp/saved too" -- \
    sh -c "$python $program $tmp/wrapped $build; code=\$?; echo the shell saw \$code; exit \$code"
soon "a script is a job: it trains" trains plain 1
soon "and reports its noise and its speed" is plain '.noise_scale > 0 and .goodput > 0 and .progress > 0 and .hints.init_batch == 12'
holds "and what it may be given" is plain '.hints.max_batch == 48 and .hints.max_profiled_replicas == 1'
soon "behind a shell, too" trains wrapped 1
for job in plain wrapped; do
    pollux scale $job --min 2 --max 2 >/dev/null
done
soon "it goes on with two replicas" trains plain 2
soon "of which the daemon hears" is plain '.replicas == 2 and .hints.max_profiled_replicas == 2'
soon "behind a shell, too" trains wrapped 2
for job in plain wrapped; do
    pollux scale $job --min 1 --max 1 >/dev/null
done
soon "and with one again" trains plain 1
soon "behind a shell, too" trains wrapped 1

# ---- Whatever becomes of the daemon -------------------------------------------------------------

stop_daemon KILL
daemon=
from=$(updates plain)
holds "training goes on without a daemon" more plain 100
to=$(updates plain)
check "and without a pause of half a minute" awk -v from="$from" -v to="$to" '
    NR > from && NR <= to { if (last && $1 - last > 30) { print "a pause of", $1 - last; exit 1 } last = $1 }' "$tmp/plain/updates.0"
start_daemon --node here:4 --interval 1
holds "a daemon that comes back finds it as it was" is plain '.generation == 3 and .restarts == 2 and .failures == 0'
before=$(of plain '.progress // 0')
soon "and hears of its progress again" is plain ".progress > $before and .hints != null"
touch "$tmp"/{plain,wrapped}/end
soon "it comes to its end" is plain '.phase == "finished"'
soon "and the shell to its own" has_ended wrapped

# ---- What the records say -----------------------------------------------------------------------

# Without a detail, a stop means 143 of all replicas, and an end 0.
pollux events --json >"$tmp/events"
exits() { jq -c --arg job "$1" 'select (.type == "EXIT" and .job == $job) | .body' "$tmp/events"; }
for job in plain wrapped; do
    check "$job: two stops with 143, and an end with 0" [ "$(exits $job)" = '{"generation":1,"kind":"stopped"}
{"generation":2,"kind":"stopped"}
{"generation":3,"kind":"finished"}' ]
    check "$job: 1, 2 and 1 replicas in turn" [ "$(cut -d ' ' -f 3 "$tmp/$job/updates.0" | uniq | tr '\n' ' ')" = "1 2 1 " ]
    check "$job: every sample was seen once per epoch" awk '
        { for (i = 3; i <= NF; i++) { seen[$2, $i]++; all++ } if ($2 > last) last = $2 }
        END {
            for (epoch = 0; epoch <= last; epoch++)
                for (i = 0; i < 300; i++)
                    if (seen[epoch, i] != 1) { print "sample", i, "was seen", seen[epoch, i] + 0, "times in epoch", epoch; exit 1 }
            exit all != 300 * (last + 1) || last < 3
        }' "$tmp/$job"/samples.*
    # Losses of single batches vary: the means before and after a change of replicas differ by no more than five times
    # what that explains.
    check "$job: the loss goes on where it was, and down" awk '
        { loss[NR] = $6; replicas[NR] = $3 }
        function mean (from,    k, sum, square) {
            for (k = 0; k < 15; k++) { sum += loss[from + k]; square += loss[from + k] ^ 2 }
            variance = (square / 15 - (sum / 15) ^ 2) / 15
            return sum / 15
        }
        END {
            for (i = 16; i <= NR - 14; i++) {
                if (replicas[i] == replicas[i - 1]) continue
                before = mean(i - 15); spread = variance; after = mean(i); spread += variance
                changes++
                print "from", before, "to", after, "with", sqrt (spread)
                if (after - before > 5 * sqrt (spread)) exit 1
            }
            print "from", mean(1), "to", mean(NR - 14)
            exit changes != 2 || mean(NR - 14) > 0.7 * mean(1)
        }' "$tmp/$job/updates.0"
done
run pollux logs plain
expect "logs are what it said" status=0 out~'^ended after epoch [0-9]+$'
run pollux logs wrapped
expect "and the shell around it" status=0 out~'^the shell saw 0$'
stop_daemon

check_rest "at the end"
