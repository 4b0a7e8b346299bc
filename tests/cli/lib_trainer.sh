# SPDX-License-Identifier: Apache-2.0
# For tests with real training (examples/c): run the trainer and read its records.
#
#     . tests/cli/lib_trainer.sh
#     train 2 mlp --fixed 8,1 --trace DIR ...   with two replicas; sets $status, $out and $err
#     column DIR noise_scale                    one column of its updates.csv, a number per line
#
# Source lib.sh or lib_daemon.sh before it.  These tests do not depend on the flavour of the command: with
# POLLUX_BRIEF they are not run.
trainer=$(cd "${build-$(dirname "$POLLUX")}" && pwd)/examples/trainer
if [ -n "${POLLUX_BRIEF-}" ]; then
    exit 0
elif ! command -v mpirun >/dev/null || [ ! -x "$trainer" ]; then
    skip "no mpirun, or no $trainer: \`make examples\` builds it"
    exit 0
fi
# Session directories of Open MPI: an mpirun that ends removes the common folder, also if another one is about to use it.
export TMPDIR=$tmp
soak=${POLLUX_SOAK:+true}
# More replicas than cores: waiting replicas yield.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1

# train K WORDS...: run it with K replicas.
train()
{
    local replicas=$1
    shift
    if [ "$replicas" = 1 ]; then
        run "$trainer" "$@"
    else
        run mpirun -np "$replicas" "$trainer" "$@"
    fi
}

# column DIR NAME: one column of the recorded updates.
column()
{
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at[name] }' "$1/updates.csv"
}

# updates DIR: the number of recorded updates, plus one for the header.
updates() { wc -l 2>/dev/null <"$1/updates.csv" || echo 0; }

# weights DIR: the path of the weights in the newest checkpoint.
weights()
{
    local newest
    newest=$(ls "$1" | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1)
    echo "$1/checkpoint-$newest/weights"
}

# largest_difference FILE FILE: between their floats, as a part of the root mean square of the first.
largest_difference()
{
    paste <(od -An -v -w4 -tf4 "$1") <(od -An -v -w4 -tf4 "$2") | awk '
        { d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d; sum += $1 * $1 }
        END { print most / sqrt(sum / NR) }'
}

# alike FILE FILE TOLERANCE: the largest difference is smaller.
alike()
{
    local difference
    difference=$(largest_difference "$1" "$2")
    true_that "${difference:-1} < $3"
}

# true_that EXPRESSION: whether an awk expression is true.
true_that() { awk "BEGIN { exit !($1) }" || { echo "false: $1"; return 1; }; }

# seen_once_per_pass DIR: whether every one of the 8192 samples was trained once per pass; the last pass may be a part.
seen_once_per_pass()
{
    cat "$1"/samples.* | awk '
        { for (i = 2; i <= NF; i++) { seen[$i]++; all++ } }
        END {
            passes = int(all / 8192)
            for (i = 0; i < 8192; i++)
                if (seen[i] != passes && seen[i] != passes + 1) { print "sample", i, "was seen", seen[i] + 0, "times in", passes, "passes"; exit 1 }
            exit passes < 1
        }'
}

# trained_whole DIR SAMPLES: whether each of so many samples was trained once per pass, and no update is missing, over all
# generations, whose traces are DIR/GENERATION.  What counts of a generation are its updates before the first one of the next generation that has trained.
trained_whole()
{
    local generation next from list
    list=$(for i in "$1"/*; do [ "$(updates "$i")" -lt 2 ] || basename "$i"; done | sort -n)
    for generation in $list; do
        next=$(awk -v now="$generation" '$1 > now { print; exit }' <<<"$list")
        from=1000000000
        [ -z "$next" ] || from=$(column "$1/$next" update | head -n 1)
        awk -v from="$from" '$1 < from' "$1/$generation"/samples.*
    done | awk -v samples="$2" '
        { for (i = 2; i <= NF; i++) { seen[$i]++; all++ } updates[$1] = 1; if ($1 > last) last = $1 }
        END {
            passes = int(all / samples)
            for (i = 0; i < samples; i++)
                if (seen[i] != passes && seen[i] != passes + 1) { print "sample", i, "was seen", seen[i] + 0, "times in", passes, "passes"; exit 1 }
            for (u = 0; u <= last; u++) if (!(u in updates)) { print "update", u, "is missing"; exit 1 }
            print passes, "passes"
            exit passes < 2
        }'
}
