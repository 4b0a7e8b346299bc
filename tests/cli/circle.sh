# SPDX-License-Identifier: Apache-2.0
# Real training under polluxd, end to end: a job measures, reports, is resized, resumes with other batches
# and learning rates, and ends with the loss of an uninterrupted run; training continues without the
# daemon.  Times are measured by tests/soak/times.sh, because this machine may be busy.
. tests/cli/lib_daemon.sh
. tests/cli/lib_trainer.sh

pace=(--pace 0.0002 --pace-step 0.004 --pace-sync 0.002)
adaptive=(--adaptive --launcher mpi --grace 60 --backoff 1 --env OMPI_MCA_mpi_yield_when_idle=1)
train_for=5000

# ---- One job, 1 -> 4 -> 3 replicas --------------------------------------------------------------

# On two nodes of two slots each of these counts has one placement, apart from the order of the nodes.  Two replicas would
# have two, and measured times on a busy machine could make the policy move the job from one to the other.

mkdir "$tmp/trace"
start_daemon --node left:2 --node right:2 --interval 1
submit job "${adaptive[@]}" --max 1 --checkpoint-dir "$tmp/saved" -- "$trainer" mlp --total $train_for --rate 0.05 \
    --report 1 --trace "$tmp/trace" "${pace[@]}"
# more N: wait for N more updates.
more()
{
    local until=$(($(updates "$tmp/trace") + $1))
    until_true reached $until
}
reached() { [ "$(updates "$tmp/trace")" -ge "$1" ]; } # from the trace: there may be no daemon
trained() { has_ended job || [ "$(column "$tmp/trace" replicas | tail -n 100 | grep -c "^$1\$")" = 100 ]; }
soon "with one replica it reports how it trains" is job '.noise_scale > 0 and .goodput > 0 and .progress > 0 and .eta_s > 0'
holds "it reports its total and its batch" is job '.total == '$train_for' and .hints.init_batch == 32 and .hints.max_profiled_replicas == 1'
pollux scale job --min 4 --max 4 >/dev/null
soon "it continues with four replicas" trained 4
holds "the daemon has its report with four replicas" is job '.replicas == 4 and .hints.max_profiled_replicas == 4 and .batch.total >= 32'
run pollux explain job
expect "pollux explain gives its useful samples with four replicas" status=0 out~'^Job job has 4 replicas: [0-9.]+ useful samples' err=
pollux scale job --min 3 --max 3 >/dev/null
soon "it continues with three replicas" trained 3

# ---- The daemon is halted, killed and restarted -------------------------------------------------

# A halted daemon (SIGSTOP) does not answer: supervisors wait for it, training continues.
generation=$(of job .generation)
kill -STOP "$daemon"
holds "training continues while the daemon hangs" more 60
kill -CONT "$daemon"
stop_daemon KILL
daemon=
holds "training continues while the daemon is dead" more 60
start_daemon --node left:2 --node right:2 --interval 1
holds "the next daemon finds the same generation" is job ".generation == $generation and .restarts == 2"
before=$(of job '.progress // 0')
soon "the next daemon gets reports of progress" is job ".progress > $before"
PATIENCE=600 soon "the job finishes" is job '.phase == "finished"'
holds "the job has no failure" is job '.failures == 0 and .restarts == 2'

# ---- The trace of its updates -------------------------------------------------------------------

check "1, 4 and 3 replicas in turn" [ "$(column "$tmp/trace" replicas | uniq | tr '\n' ' ')" = "1 4 3 " ]
check "no update is missing or made twice" cmp <(column "$tmp/trace" update) <(seq 0 $(($(updates "$tmp/trace") - 2)))
check "every sample was seen once per pass" seen_once_per_pass "$tmp/trace"
# The factor is the gain: 1 until the noise of 16 updates was measured, and for M0 and less; never more than M / M0.  Unit tests compare it with the formula.
check "the learning rate follows the gain at every update" awk -F, '
    NR > 1 {
        scale = $3 * $4 * ($5 + 1) / 32
        if ($7 != $8 || $7 < 1 || $7 > (scale > 1 ? scale * 1.0001 : 1) || (NR <= 17 && $7 != 1)) { print; bad = 1 }
        if (NR > 100 && scale > 1 && $7 > 1.1) larger++
    }
    END { print larger + 0, "updates with a gain"; exit bad || larger < 100 }' "$tmp/trace/updates.csv"
check "progress is the sum of the gains" awk -F, '
    NR > 1 { sum += $8; if ($9 / sum > 1.00001 || $9 / sum < 0.99999) { print; exit 1 } }' "$tmp/trace/updates.csv"
check "as noise grew, so did the batch" awk -F, '
    NR == 301 { noise = $10; batch = $3 * $4 * ($5 + 1) }
    END { print "noise", noise, "->", $10, "batch", batch, "->", $3 * $4 * ($5 + 1)
          exit !($10 > noise && $3 * $4 * ($5 + 1) > 32 && NR > 301) }' "$tmp/trace/updates.csv"
# Losses of single batches vary: the means of fifty before and after a resize differ by at most five
# standard errors.
check "the loss is continuous over resizes" awk -F, '
    NR > 1 { loss[NR] = $6; replicas[NR] = $3 }
    END {
        for (i = 52; i <= NR - 50; i++) {
            if (replicas[i] == replicas[i - 1]) continue
            changes++
            for (j = 0; j < 2; j++) { sum[j] = square[j] = 0 }
            for (k = 1; k <= 50; k++) {
                sum[0] += loss[i - k]; square[0] += loss[i - k] ^ 2
                sum[1] += loss[i + k - 1]; square[1] += loss[i + k - 1] ^ 2
            }
            variance = (square[0] / 50 - (sum[0] / 50) ^ 2 + square[1] / 50 - (sum[1] / 50) ^ 2) / 50
            jump = (sum[1] - sum[0]) / 50
            if (jump > 5 * sqrt(variance)) { print "at update", i - 2, "by", jump, "with", sqrt(variance); exit 1 }
        }
        exit changes != 2
    }' "$tmp/trace/updates.csv"
run pollux logs job
held=$(sed -n 's/^finished at .*held-out loss \([0-9.]*\)$/\1/p' <<<"$out")
check "the final loss is low: $held" true_that "$held > 0 && $held < 1.1"
check_replay "a replay of the journal gives the same plans"
stop_daemon

check_rest "at the end"
