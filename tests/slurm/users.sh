#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The service for two users against each other, with a real Slurm and a real munge: jobs run as their owners with their
# groups, and neither user gets at the other's jobs, files, logs or environment.
#
# The users exist only here: the script runs with mounts of its own, in which /etc/passwd and /etc/group are copies.
# shellcheck disable=SC2086  # POLLUX and POLLUXD may have several words
if [ "$(id -u)" = 0 ] && [ -z "${POLLUX_OWN_MOUNTS-}" ] && unshare --mount true 2>/dev/null; then
    POLLUX_OWN_MOUNTS=1 exec unshare --mount -- bash "$0" "$@"
fi
. tests/slurm/lib_slurm.sh
if [ -z "${POLLUX_OWN_MOUNTS-}" ]; then
    skip "several users need root, and mounts of their own"
    exit 0
fi
separate=false # all nodes on the loopback address: this test is about users
export POLLUX_MUNGE_SOCKET=$cluster/munge/socket

# ---- Users ----------------------------------------------------------------------------------------

mkdir -m 755 "$tmp/home" "$tmp/bin"
cp /etc/passwd "$tmp/passwd"
cp /etc/group "$tmp/group"
uid=70001
for user in ann bob pollux; do
    echo "$user:x:$uid:$uid::$tmp/home/$user:/bin/sh" >>"$tmp/passwd"
    echo "$user:x:$uid:" >>"$tmp/group"
    install -d -m 700 -o $uid -g $uid "$tmp/home/$user"
    uid=$((uid + 1))
done
echo "team:x:70010:ann" >>"$tmp/group"
mount --bind "$tmp/passwd" /etc/passwd
mount --bind "$tmp/group" /etc/group
install -d -m 700 -o pollux -g pollux "$state"
# Users must reach the programs, wherever the repository is.
cp "${POLLUX%% *}" "$tmp/bin/pollux"
cp "${POLLUXD%% *}" "$tmp/bin/polluxd"
POLLUX=$tmp/bin/pollux POLLUXD=$tmp/bin/polluxd

# as USER COMMAND...
as()
{
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$user" --init-groups -- env -u POLLUX_STATE HOME="$tmp/home/$user" "$@"
}
# by USER COMMAND ARGUMENT...: pollux as that user, who has no token and signs with munge.
by()
{
    local user=$1
    shift
    (cd / && as "$user" "$POLLUX" "$@" --server "$(head -n 1 "$state/address")")
}
shows() { by "$1" show "$2" --json | jq -e "$3"; }
said() { by "$1" logs "$2" | grep -q "$3"; }

cat >"$tmp/worker" <<END
#!/bin/sh
trap 'exit 143' TERM
echo "ids \$(id -u):\$(id -g) groups \$(id -G | tr ' ' ,) rank \$RANK of \$WORLD_SIZE on \$POLLUX_NODE"
echo "home \$HOME user \$USER devices \$CUDA_VISIBLE_DEVICES checkpoints \$POLLUX_CHECKPOINT_DIR"
touch "\$POLLUX_CHECKPOINT_DIR/written"
while [ ! -e "$tmp/end/\$POLLUX_JOB" ]; do sleep 0.1; done
END
# job USER NAME REPLICAS [LINE...]
job()
{
    local user=$1 name=$2 replicas=$3
    shift 3
    { printf '%s\n' "name: $name" "command: [$worker]" "directory: /" "min_replicas: $replicas" "max_replicas: $replicas" \
        "preemptible: false" "backoff: 0" "environment: {SECRET: $user-secret}" "$@"; } >"$tmp/$name.yaml"
    chmod 644 "$tmp/$name.yaml"
    run by "$user" submit "$tmp/$name.yaml"
}
slurm_id() { squeue -h -n "$1" -o %i | head -n 1; }
runs_once() { [ "$(squeue -h -t R -n "$1" | wc -l)" = 1 ]; }

# ---- Start ----------------------------------------------------------------------------------------

cluster_up 3 4
root=(--run-as pollux)
service=(--backend slurm --partition main --auth munge --interval 1)
start_daemon "${service[@]}"
helper=$(pgrep -P "$daemon")
check "polluxd runs as an ordinary user" [ "$(stat -c %U "/proc/$daemon")" = pollux ]
check "one small process stays root" [ "$(stat -c %U "/proc/$helper")" = root ]

# ---- Owners ---------------------------------------------------------------------------------------

job ann a 6
expect "ann submits without a token" status=0 out=a
job bob b 2
expect "bob submits without a token" status=0 out=b
soon "ann's job runs" shows ann a '.replicas == 6'
soon "bob's job runs beside it" shows bob b '.replicas == 2'
soon "a replica has the uid, gid and groups of its owner" said ann a "ids 70001:70001 groups 70001,70010 rank 0 of 6"
soon "the other one, too" said bob b "ids 70002:70002 groups 70002 rank 0 of 2"
check "home, user and devices are the owner's" said ann a "home $tmp/home/ann user ann devices 0,1,2,3 checkpoints $tmp/home/ann/"
check "Slurm shows the jobs as theirs" [ "$(squeue -h -o '%j %u' | sort | tr '\n' ' ')" = "a.1.0 ann a.1.1 ann b.1.0 bob " ]
check "the comment tells people what it is" grep -q 'job a, generation 1, replicas 0 to 3 of 6' <(squeue -h -n a.1.0 -o %k)

# ---- What other users cannot do --------------------------------------------------------------------

run by bob logs a
expect "bob cannot read ann's log" status=1 out= err~'belongs to ann'
run by bob cancel a
expect "bob cannot cancel ann's job" status=1 err~'belongs to ann'
run by bob scale a --max 1
expect "bob cannot limit ann's job" status=1 err~'belongs to ann'
check "bob does not see its environment" shows bob a '.environment == null'
check "ann does" shows ann a '.environment.SECRET == "ann-secret"'
check "an admin's list has both" [ "$(by pollux list --quiet | sort | tr '\n' ' ')" = "a b " ]

# open_to_others DIRECTORY: files that more than their owner can use.
open_to_others() { find "$1" -perm /077 ! -type l ! -name written; }
check "ann's files are ann's alone" [ -z "$(open_to_others "$tmp/home/ann/.pollux")" ]
check "all of them belong to ann" [ -z "$(find "$tmp/home/ann" ! -user ann)" ]
run as bob cat "$tmp/home/ann/.pollux/run/a/1/0/out.log"
expect "bob cannot read ann's files" status=1 out=
run as pollux ls "$tmp/home/ann/.pollux"
expect "and neither can polluxd's user" status=2 out=
check "checkpoints are in the owner's directory" [ -e "$tmp/home/ann/.pollux/checkpoints/a/written" ]
check "no description is left" [ -z "$(find "$tmp/home" -name '*.json')" ]
run as bob cat "$state/admin.token"
expect "bob cannot read the administrator's token" status=1 out=

# request USER TARGET BODY: a signed POST; prints the HTTP status.
request()
{
    local credential
    credential=$(printf '%s\n' 'pollux-request 1' POST "$2" "$(date +%s)" "$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')" \
        "$(printf %s "$3" | sha256sum | cut -c 1-64)" | as "$1" munge --socket "$POLLUX_MUNGE_SOCKET" --restrict-uid 70003)
    curl -s -o "$tmp/answer" -w '%{http_code}' -H "Authorization: Munge $credential" -H 'Content-Type: application/json' \
        --data "$3" "$(head -n 1 "$state/address")$2"
}
news='{"generation":1,"rank":0,"state":"ended","status":{"version":1,"started":true,"code":0,"signal":0,"stopped":false,"killed":false,"at_us":1,"why":""}}'
check "bob cannot report for ann's job" [ "$(request bob /v1/jobs/a/runs "$news")" = 403 ]
check "ann's job goes on" shows ann a '.replicas == 6'

run as bob scancel "$(slurm_id a.1.0)"
check "bob cannot cancel ann's Slurm job" runs_once a.1.0
id=$(cat "$state/slurm.id")
(cd / && as bob sbatch -Q -J a.1.0 --comment "pollux-$id: job a" -o /dev/null --mem=1 --wrap 'exec sleep 1000') >/dev/null
forged=$(squeue -h -u bob -n a.1.0 -o %i)

# ---- Refusals -------------------------------------------------------------------------------------

run env -u POLLUX_STATE HOME=/nonexistent "$POLLUX" submit --name r --server "$(head -n 1 "$state/address")" -- true
expect "a job of root is refused" status=2 err~'root'
mkdir -m 755 "$tmp/home/daemon"
run as daemon sh -c "cd / && $POLLUX submit --name low --server $(head -n 1 "$state/address") -- true"
soon "a job of a low uid is not run" shows ann low '.phase == "pending" and .failures > 0 or .phase == "failed"'
pollux cancel low >/dev/null
job ann bad 1 "max_failures: 0" "slurm: {partition: nowhere}"
soon "what Slurm does not take fails, with Slurm's sentence" shows ann bad '.phase == "failed" and (.detail | test("partition"))'

# A program whose interpreter is missing: as if sbatch were missing, while Slurm is being upgraded.
printf '#!/no/such/program\n' >"$tmp/no-sbatch"
chmod 755 "$tmp/no-sbatch"
sbatch=$(readlink -f "$(command -v sbatch)")
mount --bind "$tmp/no-sbatch" "$sbatch"
job ann later 1 "max_failures: 0"
soon "without sbatch nothing starts" shows ann later '.detail | test("cannot run sbatch")'
check "which is not the job's failure" shows ann later '.failures == 0 and .phase != "failed"'
umount "$sbatch"
soon "it runs when sbatch is back" shows ann later '.replicas == 1'
by ann cancel later >/dev/null
soon "and is cancelled" shows ann later '.phase == "cancelled"'

# ---- Links ----------------------------------------------------------------------------------------

before=$(find "$tmp/home/bob" | sort)
as ann mkdir -p -m 700 "$tmp/home/ann/.pollux/run"
as ann ln -s "$tmp/home/bob/.pollux/run/b" "$tmp/home/ann/.pollux/run/link"
job ann link 1 "max_failures: 0"
soon "a planted link fails its own job only" shows ann link '.phase == "failed" and (.detail | test("link"))'
as ann ln -s /etc/shadow "$tmp/home/ann/.pollux/run/a/1/0/out.log.1"
run by ann logs a
expect "a log that is a link is not followed" status=0 out!root:
check "nothing of bob's has changed" [ "$(find "$tmp/home/bob" | sort)" = "$before" ]

# ---- polluxd killed -------------------------------------------------------------------------------

stop_daemon KILL
soon "the root process ends with polluxd" until_gone "$helper"
start_daemon "${service[@]}"
soon "the next polluxd adopts the jobs" shows ann a '.replicas == 6 and .generation == 1'
check "nothing was submitted twice" runs_once a.1.1

followed() { [ "$(grep -c 'rank 0 of 6' "$tmp/followed")" = "$1" ]; }
by ann logs -f a >"$tmp/followed" &
follower=$!
soon "a log is followed" followed 1
run as ann scancel "$(slurm_id a.1.1)"
soon "a job goes on after scancel by its owner" shows ann a '.generation == 2 and .replicas == 6'
soon "the log is followed into the next generation" followed 2
run by ann cancel a
soon "ann cancels her job" shows ann a '.phase == "cancelled"'
wait $follower
check "to its end" [ "$(tail -n 1 "$tmp/followed")" = "$(tail -n 1 "$tmp/home/ann/.pollux/run/a/2/0/out.log")" ]
check "bob's job with a stolen name lives" [ "$(squeue -h -j "$forged" -o %T)" = RUNNING ]
end b
soon "bob's job finishes" shows bob b '.phase == "finished"'
as bob scancel "$forged"
stop_daemon
