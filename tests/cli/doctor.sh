# SPDX-License-Identifier: Apache-2.0
# pollux doctor: this machine, and a Slurm whose commands hang, fail or write garbage.  (With a real Slurm:
# tests/slurm/doctor.sh.)
. tests/cli/lib.sh
unset POLLUX_SERVER POLLUX_TOKEN_FILE SLURM_CONF PYTHONPATH PYTHONHOME VIRTUAL_ENV
export POLLUX_STATE=$tmp/state HOME=$tmp POLLUX_SERVER=127.0.0.1:1
mkdir -m 700 "$POLLUX_STATE" "$tmp/bin" "$tmp/none"
program=$(realpath "$POLLUX")
finding() { jq -r --arg check "$1" '[.checks[] | select(.check == $check) | .finding] | join(" ")' <<<"$out"; }
text() { jq -r --arg check "$1" '.checks[] | select(.check == $check) | .text' <<<"$out"; }

# ---- This machine -------------------------------------------------------------------------------

run pollux doctor --local
expect "this machine" status=0 err= out~"^ok: state directory $POLLUX_STATE$" out~'^warning: no daemon answers at 127\.0\.0\.1:1$' \
    out~'^    Start polluxd' out~'^0 problems, [0-9]+ warnings?$' out!'[Ss]lurm-wlm'
run pollux doctor --local --json
expect "as JSON" status=0 err=
check "every finding has a name and a text, and a repair if it is not ok" jq -e '.complete and .problems == 0 and
    ([.checks[] | .check != "" and .text != "" and ((.finding == "ok") == (.repair == null))] | all)' <<<"$out"
check "the counts are those of the findings" jq -e \
    '.warnings == ([.checks[] | select(.finding == "warning")] | length)' <<<"$out"
chmod 755 "$POLLUX_STATE"
run pollux doctor --local
expect "a state directory that others can enter" status=1 out~'^problem: state directory .* other users can enter it \(mode 755\)' \
    out~'chmod 700' out~'^1 problem,'
chmod 700 "$POLLUX_STATE"
run pollux doctor --local --state "$tmp/new/state"
expect "a state directory that is not there" status=0 out~'^ok: state directory .*/new/state is not there yet'
: >"$tmp/file"
run pollux doctor --local --state "$tmp/file"
expect "a file in its place" status=1 out~'^problem: state directory .* is not a directory'
run pollux doctor --local --state "$tmp/file/below"
expect "a file above it" status=1 out~'^problem: state directory .* cannot be made'

run env PATH="$tmp/none" "$program" doctor
expect "neither Slurm nor Python" status=0 err= out~'^ok: Slurm was not found in PATH' out~'^warning: python3 is not in PATH'
cat >"$tmp/bin/python3" <<'END'
#!/bin/sh
case $2 in
*torch*) echo 2.9.1 ;;
*) printf 'Traceback:\n  File\nModuleNotFoundError: \033[31mnone\n' >&2; exit 1 ;;
esac
END
chmod 755 "$tmp/bin/python3"
PATH=$tmp/bin:/bin run "$program" doctor --local --json
expect "one of two Python modules" status=0
check "the version of the one" [ "$(text python-torch)" = "Python imports torch 2.9.1" ]
check "the reason of the other, without control characters" [ "$(text python-pollux)" = \
    "Python does not import pollux: 'ModuleNotFoundError: ?[31mnone'" ]

# ---- Usage --------------------------------------------------------------------------------------

run pollux doctor now
expect "an operand" status=2 out= err~"unexpected argument 'now'"
run pollux doctor --wait 0
expect "no time to wait" status=2 out= err~'--wait'
run pollux doctor --timeout x
expect "not a time" status=2 out= err~'--timeout'
run pollux doctor --probe "$tmp/nosuch"
expect "the probe without its files" status=43 out=

# ---- A broken Slurm -----------------------------------------------------------------------------

# stub NAME SCRIPT: a command of Slurm.
stub()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
    chmod 755 "$tmp/bin/$1"
}
config='echo "AuthType = auth/munge"; echo "SelectType = select/cons_tres"; echo "GresTypes = gpu"'
fast='echo "SchedulerParameters = batch_sched_delay=0,sched_min_interval=50000"'
good()
{
    stub sinfo 'case $* in
        *--version*) echo slurm-wlm 22.05.8 ;;
        *-N*) echo "n0|idle|gpu:a100:4|gpu:a100:1(IDX:0)|10.0.0.1|0/8/0/8|1000|0|up|" ;;
        *) echo "main|up" ;; esac'
    stub scontrol "$config; $fast"
    stub squeue :
    stub scancel :
    stub srun 'echo pmix'
    stub sbatch 'echo 17'
    stub munge 'echo credential'
    stub unmunge 'grep -q credential && echo "STATUS: Success (0)"'
}
doctor() { PATH=$tmp/bin:$PATH run "$program" doctor --json --timeout 1 "$@"; }

good
doctor --no-job
expect "a good Slurm" status=0 err=
check "all of it is ok" [ "$(jq -r '[.checks[] | select(.check | test("slurm|munge")) | .finding] | unique | join(" ")' <<<"$out")" = ok ]
check "GPUs are counted" [ "$(text slurm-partition)" = "partition main: nodes 1 (usable 1, closed 0, lost 0), GPUs 4 a100 (1 in use)" ]
doctor --no-job --partition other
expect "a partition that is not there" status=1
check "is a problem" [ "$(text slurm-partition)" = "Slurm has no partition 'other'" ]

rm "$tmp/bin/sbatch"
run env PATH="$tmp/bin" "$program" doctor
expect "a command is missing" status=1 out~'^problem: sbatch of Slurm is not in PATH$'
good
SLURM_CONF=$tmp/nosuch doctor --no-job
expect "a wrong SLURM_CONF" status=1 out~'SLURM_CONF names .*/nosuch: No such file'

# NAME OF THE CHECK, THE COMMAND, ITS SCRIPT, WHAT IS SAID
while IFS='#' read -r check name script expected; do
    good
    stub "$name" "$script"
    doctor --no-job --partition main
    expect "$name: ${script:0:40}: exit status" status=1
    check "$name: ${script:0:40}: $check is a problem" [ "$(finding "$check")" = problem ]
    check "$name: ${script:0:40}: the reason" grep -q -- "$expected" <<<"$(text "$check")"
done <<'END'
slurm-commands#sinfo#exec sleep 1000#sinfo did not end within 1
slurm-commands#sinfo#echo nonsense#answers 'nonsense'
slurm-commands#sinfo#echo slurm 19.05.2#is too old
slurm-commands#sinfo#echo cannot >&2; exit 1#sinfo exited with 1: 'cannot'
slurm-commands#sinfo#exec yes#wrote more than
slurm-controller#scontrol#exec sleep 1000#scontrol did not end within 1
slurm-controller#scontrol#echo garbage#scontrol wrote something else
slurm-controller#scontrol#kill -9 $$#scontrol was ended by signal 9
slurm-select#scontrol#echo "AuthType = auth/munge"; echo "SelectType = select/linear"#SelectType is select/linear
munge#munge#echo "no socket" >&2; exit 1#munged does not sign: munge exited with 1: 'no socket'
munge#munge#exec sleep 1000#munge did not end within 1
munge#unmunge#echo "STATUS: Replayed"#does not check its own signature
slurm-partition#sinfo#case $* in *--version*) echo slurm 22.05 ;; *-N*) echo garbage ;; *) echo "main|up" ;; esac#line 1: expected 9 fields
slurm-partition#sinfo#case $* in *--version*) echo slurm 22.05 ;; *-N*) echo "n0|down*|gpu:4|gpu:0|a|0/0/8/8|1|0|up|" ;; *) echo "main|up" ;; esac#usable 0, closed 0, lost 1
slurm-partition#sinfo#case $* in *--version*) echo slurm 22.05 ;; *) echo "main|inact" ;; esac#partition main is inact
END

good
stub scontrol "$config; echo 'SchedulerParameters = bf_interval=2'; echo 'SelectTypeParameters = CR_CORE_MEMORY'; echo 'MinJobAge = 5 sec'"
doctor --no-job
expect "settings that are slow, but work" status=0
check "the two settings are named" [ "$(text slurm-scheduler)" = \
    "SchedulerParameters: each start takes seconds because of batch_sched_delay and sched_min_interval" ]
check "they, the memory and the age are warnings" \
    [ "$(finding slurm-scheduler) $(finding slurm-memory) $(finding slurm-age)" = "warning warning warning" ]

# SETTINGS#THE CHECK, FINDING AND TEXT
while IFS='#' read -r settings expected; do
    good
    stub scontrol "$config; $fast; $settings"
    doctor --no-job
    check "$settings: $expected" [ "$(jq -r '.checks[] | select(.check == "slurm-private" or .check == "slurm-kill-wait") |
        .check + " " + .finding + ": " + .text' <<<"$out")" = "$expected" ]
done <<'END'
echo "PrivateData = none"; echo "KillWait = 60 sec"#
echo "PrivateData = accounts,users"; echo "KillWait = 300 sec"#
echo "PrivateData = accounts,jobs"#slurm-private warning: PrivateData is accounts,jobs: the service does not see all jobs
echo "PrivateData = reservations"#slurm-private warning: PrivateData is reservations: the service does not see all reservations
echo "KillWait = 30 sec"#slurm-kill-wait warning: KillWait is 30 sec: a job that Slurm stops has only this time for its checkpoint
END

# ---- A job that does not run --------------------------------------------------------------------

good
stub sbatch 'echo "sbatch: error: Invalid account" >&2; exit 1'
doctor
expect "no job is taken" status=1 out~"Slurm takes no job of yours: sbatch exited with 1: 'sbatch: error: Invalid account'"
stub sbatch 'echo Submitted'
doctor
expect "an answer without an id" status=1 out~"sbatch answered 'Submitted"
stub sbatch 'echo 17'
stub scontrol "case \$* in *job*) echo JobId=17 JobState=PENDING Reason=Resources ;; *) $config; $fast ;; esac"
stub scancel "echo \$* >>$tmp/cancelled"
doctor --wait 2
expect "a job that waits" status=0
check "is a warning with the reason" [ "$(text node-job)" = "the job on a node is PENDING (Resources) after 2 s: nothing was checked on a node" ]
check "the job is cancelled" [ "$(cat "$tmp/cancelled")" = 17 ]
for case in '41 does not see' '42 cannot run' '127 cannot run' '43 cannot read and write' '9 ended as FAILED with exit code 9'; do
    stub scontrol "case \$* in *job*) echo JobId=17 JobState=FAILED Reason=x ExitCode=${case%% *}:0 ;; *) $config; $fast ;; esac"
    doctor
    expect "a job that ended with ${case%% *}" status=1 out~"${case#* }"
done
check "no file is left" [ -z "$(ls -A "$POLLUX_STATE")" ]
# A directory that others can write, and as root one of another user.
mkdir -m 1777 "$tmp/scratch"
chmod 1777 "$tmp/scratch"
[ "$(id -u)" != 0 ] || chown daemon "$tmp/scratch"
doctor --shared "$tmp/scratch"
expect "a shared directory of others" status=1 out~'ended as FAILED'
check "no file is left there" [ -z "$(ls -A "$tmp/scratch")" ]

# Ctrl-C while it waits: the job is cancelled, the files are removed.
rm "$tmp/cancelled"
stub scontrol "case \$* in *job*) echo JobId=17 JobState=PENDING Reason=Resources ;; *) $config; $fast ;; esac"
stub sbatch "echo 17; : >$tmp/submitted"
PATH=$tmp/bin:$PATH "$program" doctor >"$tmp/out" 2>"$tmp/err" &
pid=$!
until_seconds=60
while [ ! -e "$tmp/submitted" ] && [ $until_seconds -gt 0 ]; do
    sleep 1
    until_seconds=$((until_seconds - 1))
done
kill -TERM $pid
wait $pid
check "interrupted: exit status" [ $? = 1 ]
check "interrupted: says so" grep -q 'not everything was checked' "$tmp/err"
check "interrupted: the job is cancelled" [ "$(cat "$tmp/cancelled")" = 17 ]
check "interrupted: no file is left" [ -z "$(ls -A "$POLLUX_STATE")" ]
