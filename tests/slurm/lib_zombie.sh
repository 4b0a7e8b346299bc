# SPDX-License-Identifier: Apache-2.0
# For tests of zombies, replicas that Slurm has given up and that live: a trainer whose generations write traces of their own.
#
#     pollux submit --name job ... --checkpoint-dir "$tmp/saved/job" -- "$tmp/train" UPDATES
. tests/cli/lib_trainer.sh
mkdir -m 1777 "$tmp/session"
# Each generation has its own trace: two may train at the same time.
cat >"$tmp/train" <<END
#!/bin/sh
mkdir -p "$tmp/trace/\$POLLUX_JOB.\$POLLUX_GENERATION"
echo "\$POLLUX_JOB \$POLLUX_GENERATION \$RANK \$WORLD_SIZE \$POLLUX_NODE \$\$ \$POLLUX_RUN" >>"$starts"
export TMPDIR="$tmp/session" # of Open MPI, which a killed replica leaves behind
exec "$trainer" mlp --total \$1 --rate 0.05 --max-batch 32 --samples 512 --report 1 --save 0.5 --pace-step 0.02 --trace "$tmp/trace/\$POLLUX_JOB.\$POLLUX_GENERATION"
END
chmod 755 "$tmp/train"
# training JOB NODE: the trainer of a job on a node.
training() { node_pids "$2" "trainer mlp .*trace/$1\\." | head -n 1; }
newest() { ls "$tmp/saved/$1" 2>/dev/null | sed -n 's/^checkpoint-//p' | sort -n | tail -n 1; }
saved_more() { [ "$(newest "$1")" != "$2" ]; }

# one_line JOB FIRST SECOND: generation SECOND has continued a checkpoint of FIRST: the updates of FIRST before it and all of
# SECOND are one sequence, in which every sample is trained once per pass.
one_line()
{
    local job=$1 first=$tmp/trace/$1.$2 second=$tmp/trace/$1.$3 from
    from=$(column "$second" update | head -n 1)
    { awk -v from="$from" '$1 < from' "$first"/samples.*; cat "$second"/samples.*; } | awk '
        { for (i = 2; i <= NF; i++) { seen[$i]++; all++ } updates[$1]++ }
        END {
            passes = int(all / 512)
            for (i = 0; i < 512; i++)
                if (seen[i] != passes && seen[i] != passes + 1) { print "sample", i, "was seen", seen[i] + 0, "times in", passes, "passes"; exit 1 }
            for (u = 0; u in updates; u++) if (updates[u] != 1) { print "update", u, updates[u], "times"; exit 1 }
            exit passes < 1 || length(updates) != u
        }'
}
