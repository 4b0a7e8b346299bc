# SPDX-License-Identifier: Apache-2.0
# Real training with the agent, without a daemon: its estimates are correct, a larger batch makes the
# progress that AdaScale predicts, and a run that is stopped again and again ends with the same result.
. tests/cli/lib.sh
. tests/cli/lib_trainer.sh

# ---- A known noise scale ----------------------------------------------------------------------

# |w - x|^2 / 2 with x ~ N(0, 1) in 256 dimensions and |w|^2 = 2: 128 samples (examples/c/network.c).
# M0 is the whole set, so an update makes progress 1.
for replicas in 1 2 4; do
    mkdir "$tmp/noise$replicas"
    train $replicas mean --rate 0 --batch 32 --fixed $((32 / replicas)),0 --total 200 --samples 65536 \
        --evaluate 1000 --trace "$tmp/noise$replicas"
    expect "200 updates with $replicas replicas of $((32 / replicas)) samples" status=0 out~'finished at progress 200.0 after 200 updates'
    noise=$(column "$tmp/noise$replicas" noise_scale | tail -n 1)
    check "their noise scale, 128, is found within 20 %: $noise" true_that "$noise > 0.8 * 128 && $noise < 1.2 * 128"
done
train 1 mean --rate 0 --batch 32 --fixed 8,3 --total 200 --samples 65536 --evaluate 1000 --trace "$tmp/noise1"
noise=$(column "$tmp/noise1" noise_scale | tail -n 1)
check "the same of four micro-steps of one replica: $noise" true_that "$noise > 0.8 * 128 && $noise < 1.2 * 128"

# ---- AdaScale's prediction --------------------------------------------------------------------

# Progress and updates until a loss is reached, means over some seeds: with M0, with 8 M0, and with the batch that the
# agent chooses when every micro-step has a fixed cost, so that larger batches are faster.  The cost is declared: a
# measured one would depend on what else the machine does.
seeds="1 2 3"
[ -z "$soak" ] || seeds="1 2 3 4 5 6 7 8"
reach()
{
    local name=$1 network=$2 target=$3 seed
    shift 3
    for seed in $seeds; do
        train 1 "$network" --seed "$seed" --batch 16 --total 20000 --target "$target" --samples "$samples" \
            --evaluate 20 --report 1 "$@"
        [ "$status" = 0 ] || not_ok "$network reaches its target, $name" "$err" "$out"
        sed -n 's/^finished at progress \([0-9.]*\) after \([0-9]*\) updates.*/\1 \2/p' <<<"$out"
    done | awk '{ progress += $1; updates += $2; n++ } END { print progress / n, updates / n }'
}
# Enough samples to avoid overfitting: the prediction is about the training loss.
# (With 2048 samples the cnn's held-out loss stays above 1.2 while that of training falls to 0.7; then 8 M0 takes up
# to 1.5 times the progress to a held-out loss of 1.5, while the training losses agree within some per cent.)
for case in mlp:1.2:0.02:2048 cnn:1.4:0.1:4096; do
    IFS=: read -r network target rate samples <<<"$case"
    read -r progress updates < <(reach "with M0" "$network" "$target" --rate "$rate" --fixed 16,0)
    read -r progress8 updates8 < <(reach "with 8 M0" "$network" "$target" --rate "$rate" --fixed 32,3)
    read -r progress_own updates_own < <(reach "with its own batch" "$network" "$target" --rate "$rate" --pace-step 0.02 --declared)
    check "$network with 8 M0: progress $progress8 instead of $progress" \
        true_that "$progress8 > 0 && $progress8 <= 1.1 * $progress"
    # The evidence remembers the smaller noise of the beginning, and adds the standard error: fewer updates are saved than the noise at the end allows.
    check "$network with 8 M0: $updates8 updates instead of $updates" true_that "$updates8 < 0.65 * $updates"
    check "$network with the batch it chooses: progress $progress_own" \
        true_that "$progress_own > 0 && $progress_own <= 1.1 * $progress"
    check "$network with the batch it chooses: $updates_own updates" true_that "$updates_own < 0.8 * $updates"
done

# ---- Stopped at random steps ------------------------------------------------------------------

# The same training four times: uninterrupted with two replicas and with four, which differ by rounding alone; stopped
# again and again with two replicas, and with 1, 4 and 2 replicas in turn.  Always with four micro-batches of 8.
stops=10 total=600
[ -z "$soak" ] || stops=100 total=4000
same=(mlp --batch 16 --total $total --samples 1000 --evaluate 100000 --pace-step 0.002)
fixed() { echo "8,$((4 / $1 - 1))"; }
mkdir "$tmp"/{whole,whole4,stopped,resized}
train 2 "${same[@]}" --fixed "$(fixed 2)" --checkpoints "$tmp/whole/saved" --trace "$tmp/whole"
expect "uninterrupted training" status=0 out~'finished at progress'
train 4 "${same[@]}" --fixed "$(fixed 4)" --checkpoints "$tmp/whole4/saved"
expect "the same with four replicas" status=0 out~'finished at progress'

# interrupt DIR REPLICAS...: run there with these replica counts in turn, stopped at a random update each time but the last.
# Two of these run at the same time, hence a TMPDIR for each (lib_trainer.sh).
interrupt()
{
    local dir=$1 turn=0 stopped=0 from until pid replicas
    shift
    while :; do
        replicas=${*:turn % $# + 1:1}
        turn=$((turn + 1))
        from=$(updates "$dir")
        until=$((from + 1 + RANDOM % 15))
        TMPDIR=$dir mpirun -np "$replicas" "$trainer" "${same[@]}" --fixed "$(fixed "$replicas")" --checkpoints "$dir/saved" \
            --trace "$dir" >"$dir/out" 2>"$dir/err" &
        pid=$!
        if [ $stopped -lt $stops ]; then
            while kill -0 $pid 2>/dev/null && [ "$(updates "$dir")" -lt $until ]; do sleep 0.01; done
            # Any replica: it passes the stop on to the others.
            is_descendant $pid && kill -TERM "$(children_of $pid | head -n 1)"
        fi
        wait $pid
        case $? in
        143) stopped=$((stopped + 1)) ;;
        0) break ;;
        *)
            tail -n 5 "$dir/out" "$dir/err"
            return 1
            ;;
        esac
        [ $turn -le $((2 * stops + 5)) ] || return 1
    done
    echo $stopped >"$dir/stops"
    [ $stopped -ge $stops ]
}
interrupt "$tmp/resized" 1 4 2 >"$tmp/resized/log" 2>&1 &
resizing=$!
check "the same, stopped $stops times at random updates" interrupt "$tmp/stopped" 2
wait $resizing
resized=$?
check "stopped: the same final weights, bit by bit" cmp "$(weights "$tmp/whole/saved")" "$(weights "$tmp/stopped/saved")"
check "stopped: the same updates, losses and factors" cmp \
    <(cut -d, -f 1,3-10 "$tmp/whole/updates.csv") <(cut -d, -f 1,3-10 "$tmp/stopped/updates.csv")
check "the same, stopped as often, with 1, 4 and 2 replicas in turn" eval 'cat "$tmp/resized/log"; [ $resized = 0 ]'
rounding=$(largest_difference "$(weights "$tmp/whole/saved")" "$(weights "$tmp/whole4/saved")")
check "resized: the same final weights, except for rounding" \
    alike "$(weights "$tmp/whole/saved")" "$(weights "$tmp/resized/saved")" "$(awk "BEGIN { print 4 * $rounding }")"
check "rounding changes little: $rounding" true_that "$rounding < 0.01"

# Every sample once per pass, on any replica.
covered()
{
    cat "$1"/samples.* | awk -v count="$2" '
        { for (i = 2; i <= NF; i++) { seen[$i]++; all++ } }
        END {
            passes = int(all / count)
            for (i = 0; i < count; i++)
                if (seen[i] != passes && seen[i] != passes + 1) { print "sample", i, "was seen", seen[i] + 0, "times in", passes, "passes"; exit 1 }
            exit passes < 2
        }'
}
check "every sample was seen once per pass" covered "$tmp/resized" 1000
check "the same samples in each update" cmp \
    <(cat "$tmp"/whole/samples.* | sort -n | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u) \
    <(cat "$tmp"/resized/samples.* | sort -n | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u)

# ---- Damaged checkpoints ----------------------------------------------------------------------

# Two checkpoints near the end: a run that resumes from the earlier one must end with the same result.
mkdir "$tmp/damaged"
train 1 "${same[@]}" --fixed 8,3 --checkpoints "$tmp/damaged/whole" --save 0.2
expect "training with many checkpoints" status=0
damage()
{
    local name=$1 what=$2 said=$3
    rm -rf "$tmp/damaged/now"
    cp -r "$tmp/damaged/whole" "$tmp/damaged/now"
    newest=$(dirname "$(weights "$tmp/damaged/now")")
    eval "$what"
    train 1 "${same[@]}" --fixed 8,3 --checkpoints "$tmp/damaged/now"
    expect "$name: reported, and it continues from the previous one" status=0 out~"$said" out~'resumed from checkpoint'
    check "$name: the same final weights" cmp "$(weights "$tmp/damaged/whole")" "$(weights "$tmp/damaged/now")"
}
damage "a byte is wrong" 'printf x | dd of="$newest/weights" bs=1 seek=999 conv=notrunc status=none' "$(basename "$(dirname "$(weights "$tmp/damaged/whole")")")"
damage "a file is truncated" 'truncate -s 1000 "$newest/weights"' checkpoint-
damage "the manifest is missing" 'rm "$newest/MANIFEST"' checkpoint-
damage "the newest checkpoint is missing" 'rm -r "$newest"' 'resumed'
mkdir "$tmp/damaged/none"
cp -r "$tmp/damaged/whole" "$tmp/damaged/all"
for file in "$tmp"/damaged/all/*/weights; do : >"$file"; done
train 1 "${same[@]}" --fixed 8,3 --checkpoints "$tmp/damaged/all"
check "if all are damaged it fails instead of starting again" [ "$status" != 0 ]
