# SPDX-License-Identifier: Apache-2.0
# The supervisor of a replica, with real processes: exit, stop, output, processes that are left
# behind, and messages of the agent.  No test waits for a fixed time: `until_true` waits for a
# condition.
. tests/cli/lib.sh
. tests/cli/lib_exec.sh

# ---- Exits --------------------------------------------------------------------------------------

begin zero '' true
end
ended "exit 0" 0 0 false false
check "the supervisor printed nothing" [ ! -s "$tmp/zero.err" ]
check "the log exists and is empty" [ -f "$dir/out.log" ]
check "only log, info and status are left" \
    [ "$(ls -A "$dir" | tr '\n' ' ')" = "info lock out.log replica status " ]
check "other users cannot read the files" [ "$(stat -c %a "$dir" "$dir/status" "$dir/out.log" | tr '\n' ' ')" = "700 600 600 " ]
begin seven '' sh -c 'echo out; echo err >&2; exit 7'
end
ended "exit 7" 7 0 false false
check "both outputs are in the log" [ "$(cat "$dir/out.log")" = $'out\nerr' ]
begin segv '' sh -c 'kill -SEGV $$'
end
ended "a signal" 0 11 false false
begin term '' sh -c 'kill -TERM $$'
end
ended "a SIGTERM from outside" 0 15 false false
begin stdin '' cat
end
ended "nothing on the standard input" 0 0 false false

# ---- Commands that cannot be run ----------------------------------------------------------------

begin nocommand '' no-such-command-anywhere
end
ended "a missing command" 127 0 false false
check "a missing command: the status says why" grep -q "cannot run 'no-such-command-anywhere'.*PATH" "$dir/status"
check "a missing command: in the log" grep -q "^pollux: cannot run 'no-such-command-anywhere'" "$dir/out.log"
check "a missing command: not started" [ "$(field started)" = false ]
begin noprogram '' /no/such/program
end
ended "a missing program" 127 0 false false
begin directory '' /
end
ended "a directory as command" 126 0 false false
printf '#!/no/such/interpreter\n' >"$tmp/script" && chmod +x "$tmp/script"
begin interpreter '' "$tmp/script"
end
ended "a missing interpreter" 127 0 false false
begin nocwd '"directory":"/no/such/directory","x":1,' true
status=0
end
check "a field twice is refused" [ $status = 2 ]
mkdir -p "$state/run/cwd/1"
dir=$state/run/cwd/1/0
pollux exec --run "$dir" <<<'{"version":1,"directory":"/no/such","command":["true"]}'
status=$? text=$(cat "$dir/status")
ended "a missing directory" 126 0 false false
check "a missing directory: the log says why" in_log "cannot enter the directory '/no/such': No such file"
begin cpus '"cpus":[8191],' true
end
ended "CPUs that do not exist" 126 0 false false
check "CPUs that do not exist: the log says why" in_log "cannot run on the CPUs given"

# ---- Refusals -----------------------------------------------------------------------------------

refuse()
{
    run pollux exec --run "$state/run/$2" <<<"$3"
    expect "$1" status=2 out= err~"$4"
}
mkdir -p "$state/run/j/1"
good='{"version":1,"command":["true"]}'
refuse "a job's name that leaves the directory" ../1/0 "$good" 'JOB/GENERATION/RANK'
refuse "a rank that leaves the directory" j/1/.. "$good" 'JOB/GENERATION/RANK'
refuse "a rank that is no number" j/1/0x "$good" 'JOB/GENERATION/RANK'
refuse "a rank with a sign" j/1/-1 "$good" 'JOB/GENERATION/RANK'
refuse "a generation that was not prepared" j/2/0 "$good" '2: No such file'
refuse "no description" j/1/0 '' 'empty'
refuse "no JSON" j/1/0 '{' 'not well-formed'
refuse "a newer version" j/1/0 '{"version":2,"command":["true"]}' 'expected version 1'
refuse "no command" j/1/0 '{"version":1,"command":[]}' 'command.*expected a list of 1 to'
refuse "a variable without a name" j/1/0 '{"version":1,"command":["true"],"environment":["=x"]}' 'environment\[0\].*NAME=value'
refuse "a variable of the supervisor's" j/1/0 '{"version":1,"command":["true"],"environment":["POLLUX_RUN=x"]}' 'does not set itself'
refuse "SIGKILL as stop signal" j/1/0 '{"version":1,"command":["true"],"stop_signal":9}' 'neither SIGKILL'
refuse "a token for another machine without TLS" j/1/0 '{"version":1,"command":["true"],"token":"t","url":"http://example.com:80"}' 'without TLS'
refuse "a token for what looks like this machine" j/1/0 '{"version":1,"command":["true"],"token":"t","url":"http://127.0.0.1.example.com:80"}' 'without TLS'
refuse "a URL with a user" j/1/0 '{"version":1,"command":["true"],"url":"http://127.0.0.1:1@example.com:80"}' 'url'
refuse "a URL of another protocol" j/1/0 '{"version":1,"command":["true"],"url":"ftp://127.0.0.1:80"}' 'url.*expected http://'
run pollux exec <<<"$good"
expect "no directory" status=2 err~'expected --run=DIR'
run pollux exec --run "$state/run/j/1/0" a b
expect "an argument too many" status=2 err~"unexpected argument 'b'"
check "no run directory was made" [ -z "$(ls -A "$state/run/j/1")" ]

begin twice '' true
end
run pollux exec --run "$dir" <<<"$good"
expect "a run is not started twice" status=2 err~'twice/1/0: this run has been started before'
begin race '"grace":0,' sleep 1000
until_true [ -e "$dir/replica" ]
run pollux exec --run "$dir" <<<"$good"
expect "a run is not started twice while it runs" status=2 err~'has been started before'
check "the second start leaves no files" [ "$(ls -A "$state/run/race/1")" = 0 ]
kill "$pid"
end
# Ten supervisors start the same run at once.
mkdir -p "$state/run/ten/1"
for i in 1 2 3 4 5 6 7 8 9 10; do
    pollux exec --run "$state/run/ten/1/0" 2>/dev/null \
        <<<"{\"version\":1,\"directory\":\"$tmp\",\"command\":[\"/bin/sh\",\"-c\",\"echo $i >>ten\"]}" &
done
wait
check "of ten simultaneous starts one succeeds" [ "$(wc -l <"$tmp/ten")" = 1 ]
mkdir -p "$state/run/linked" "$tmp/elsewhere"
ln -s "$tmp/elsewhere" "$state/run/linked/1"
refuse "a symbolic link in the path" linked/1/0 "$good" 'symbolic link'
mkdir -p "$state/run/open/1" && chmod 777 "$state/run/open/1"
refuse "a directory open to others" open/1/0 "$good" 'others may write'

# ---- Stopping -----------------------------------------------------------------------------------

begin stop '' sleep 1000
until_true [ -e "$dir/replica" ]
kill "$pid"
end
ended "a stop ends it" 0 15 true false
begin handler '' sh -c 'trap "echo saved; exit 143" TERM; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
kill "$pid"
end
ended "a stop that is handled" 143 0 true false
check "the handler's last output is in the log" in_log saved
begin interrupt '"stop_signal":2,' sh -c 'trap "exit 5" INT; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
kill "$pid"
end
ended "another stop signal" 5 0 true false

# The signal kills the shell; its command continues for a while.
cat >"$tmp/worker" <<'END'
trap 'echo saving; until [ -e "$1" ]; do sleep 0.05; done; echo saved; exit 143' TERM
echo ready
while :; do sleep 0.05; done
END
begin wrapper '' sh -c "sh $tmp/worker $tmp/wrapper.go; echo never"
until_true in_log ready
kill "$pid"
until_true in_log saving
check "through a shell: it waits for the command" kill -0 "$pid"
touch "$tmp/wrapper.go"
end
ended "through a shell: the exit code of the command counts" 143 0 true false
check "through a shell: the command finished" in_log saved
begin unfinished '' sh -c "sh -c 'trap \"touch $tmp/unfinished; exit 0\" TERM; echo ready; while :; do sleep 0.05; done'; echo never"
until_true in_log ready
kill "$pid"
end
ended "through a shell: exit code 0 of the command does not count" 0 15 true false
check "through a shell: that command finished" [ -e "$tmp/unfinished" ]
begin shells '' sh -c "bash -c 'echo bash \$\$; sh $tmp/worker $tmp/shells.go; true'; echo never"
until_true in_log ready
kill "$pid"
until_true has_ended "$(sed -n 's/^bash //p' "$dir/out.log")"
touch "$tmp/shells.go"
end
ended "through two shells" 143 0 true false
begin brothers '' sh -c "sh $tmp/worker $tmp/brothers.go & sh $tmp/worker $tmp/brothers.go & wait"
both() { [ "$(grep -c "$1" "$dir/out.log")" = 2 ]; }
until_true both ready
kill "$pid"
until_true both saving
touch "$tmp/brothers.go"
end
ended "a shell with two children: its own status counts" 0 15 true false
check "the children of the shell have their grace" both saved
begin trapping '' sh -c 'trap : TERM; sh -c "trap \"exit 3\" TERM; echo ready; while :; do sleep 0.05; done"; echo "it said $?"; exit 4'
until_true in_log ready
kill "$pid"
end
ended "the exit code of a shell that handles the signal counts" 4 0 true false
check "the shell exits after its command" in_log 'it said 3'

begin stubborn '"grace":0.2,' sh -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
id=$(id_of "$dir")
kill "$pid"
end
ended "a process that ignores the signal is killed after its grace" 0 9 true true
check "all of its processes are killed" none_of "$id"
begin impatient '"grace":100000,' sh -c 'trap "echo first" TERM; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
kill "$pid"
until_true in_log first
kill "$pid"
end
ended "a second request kills at once" 0 9 true true
begin wrapped-stubborn '"grace":0.2,' sh -c 'sh -c "trap \"\" TERM; echo ready; while :; do sleep 0.05; done"; echo never'
until_true in_log ready
id=$(id_of "$dir")
kill "$pid"
end
ended "a command of a shell that ignores the signal" 0 9 true true
check "no process of that shell is left" none_of "$id"
begin halted '' sh -c 'trap "exit 6" TERM; echo ready; kill -STOP $$; exit 1'
until_true in_log ready
replica=$(sed 's/.*"pid":\([0-9]*\).*/\1/' "$dir/replica")
is_halted() { grep -q '^State:.*T' "/proc/$replica/status"; }
until_true is_halted
kill "$pid"
end
ended "a halted process gets the signal" 6 0 true false

# A stop before the replica starts: the description arrives late.
mkdir -p "$state/run/early/1" && mkfifo "$tmp/early"
dir=$state/run/early/1/0
# shellcheck disable=SC2086
$POLLUX exec --run "$dir" "$tmp/early" &
pid=$!
exec 9>"$tmp/early" # it reads now
kill "$pid"
describe '' true >&9
exec 9>&-
end
ended "a stop before the start" 143 0 true false
check "after an early stop nothing is started" [ "$(field started)" = false ]
begin unmoved '' sh -c 'trap "exit 9" TERM; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
for other in HUP USR1 USR2 PIPE ALRM QUIT; do kill -$other "$pid"; done
kill "$pid"
end
ended "a supervisor ignores other signals" 9 0 true false

# ---- Orphans --------------------------------------------------------------------------------------

begin orphan '' sh -c 'sleep 1000 & exit 0'
end
id=$(id_of "$dir")
ended "an orphan does not delay the end" 0 0 false false
check "an orphan is killed" none_of "$id"
begin hidden '' sh -c 'setsid env -i sleep 1000.25 & setsid sh -c "trap \"\" TERM HUP; sleep 1000.25 & wait" & exit 3'
end
id=$(id_of "$dir")
ended "an orphan in another session does not delay the end" 3 0 false false
check "in another session, without an environment: killed" [ -z "$(grep -lsz '^1000\.25$' /proc/[0-9]*/cmdline)" ]
begin forker '"grace":0.1,' sh -c 'trap "" TERM; f() { sleep 0.01; (f) & }; (f) & echo ready; wait; while :; do sleep 0.05; done'
until_true in_log ready
id=$(id_of "$dir")
kill "$pid"
end
ended "processes that fork repeatedly" 0 9 true true
check "all processes that fork repeatedly are killed" none_of "$id"

# If the supervisor is killed, its guardian kills all of the run; if the guardian is killed, the supervisor goes on.
supervisor_of() { grep -o '"pid":[0-9]*,"start":"[0-9]*","run"' "$1/info" | grep -o '[0-9]*' | head -n 1; }
guardian_of() { sed 's/.*"guardian":{"pid":\([0-9]*\).*/\1/' "$1/info"; }
begin killed '' sh -c 'setsid env -i sh -c "echo \$\$ >hidden; exec sleep 1000.27" & until [ -s hidden ]; do sleep 0.02; done; sleep 1000'
until_true [ -e "$dir/replica" ] && until_true [ -s "$tmp/hidden" ]
id=$(id_of "$dir")
check "its guardian is in info" [ "$(guardian_of "$dir")" = "$pid" ]
kill -KILL "$(supervisor_of "$dir")"
wait "$pid" 2>/dev/null
status=$?
check "a guardian ends as its killed supervisor did" [ $status = 137 ]
check "no process of the run is left then" none_of "$id"
check "not even one in another session, without an environment" has_ended "$(cat "$tmp/hidden")"
check "a killed supervisor leaves no status" [ ! -e "$dir/status" ]
begin unguarded '' sh -c "$(printf 'trap "exit 143" TERM; echo ready; while :; do sleep 0.05; done')"
until_true in_log ready
supervisor=$(supervisor_of "$dir")
disown "$pid"
kill -KILL "$pid"
until_true has_ended "$pid"
check "a supervisor goes on without its guardian" kill -0 "$supervisor"
kill "$supervisor"
until_true has_ended "$supervisor"
text=$(cat "$dir/status")
check "and writes its status" [ "$(field code) $(field stopped)" = "143 true" ]

# ---- Output ---------------------------------------------------------------------------------------

begin flood '"log_size":65536,"log_files":3,' sh -c 'i=0; while [ $i -lt 100 ]; do seq -f "line %09.0f" $((i * 1000)) $((i * 1000 + 999)); i=$((i + 1)); done'
end
ended "very much output" 0 0 false false
check "the oldest logs are removed" [ "$(ls "$dir" | grep -c '^out\.log')" = 4 ]
all() { cat "$dir"/out.log.3 "$dir"/out.log.2 "$dir"/out.log.1 "$dir"/out.log; }
first=$(all | head -n 1 | sed 's/line 0*//')
check "the kept logs have no gap, and end with the last line" \
    diff <(all) <(seq -f "line %09.0f" "$first" 99999)
check "no file is larger than its limit" [ -z "$(find "$dir" -name 'out.log*' -size +65536c)" ]
check "the rotated logs are almost full" [ -z "$(find "$dir" -name 'out.log.*' -size -57344c)" ]
begin long '"log_size":4096,"log_files":100,' sh -c 'head -c 100000 /dev/zero | tr "\0" x; echo; echo end'
end
check "a line longer than a file is kept" \
    [ "$(cat $(ls "$dir"/out.log* | sort -t. -k3 -n -r) | tr -d '\n' | wc -c)" = 100003 ]
begin binary '"log_size":1000000,' sh -c 'head -c 500000 /dev/urandom | tee '"$tmp"'/binary'
end
check "any bytes are kept as they are" cmp "$tmp/binary" "$dir/out.log"
begin none '"log_size":4096,"log_files":0,' seq 10000
end
check "with 0 old logs only one log is kept" [ "$(ls "$dir" | grep -c '^out\.log')" = 1 ]
check "this log ends with the last line" [ "$(tail -n 1 "$dir/out.log")" = 10000 ]
begin late '' sh -c '(echo from a child) & wait; printf "no newline"'
end
check "an unfinished line is kept" [ "$(cat "$dir/out.log")" = $'from a child\nno newline' ]

# A full disk, on a small file system.
mkdir "$tmp/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k,mode=700 pollux-test "$tmp/small" 2>/dev/null; then
    trap 'code=$?; umount "$tmp/small"; (exit $code); finish' EXIT
    keep=$state
    state=$tmp/small
    begin full '' sh -c 'seq 100000; echo full; until [ -e '"$tmp"'/free ]; do sleep 0.05; done; echo free again; exit 5'
    is_full() { [ "$(stat -f -c %a "$tmp/small")" = 0 ]; }
    check "the disk is full" until_true is_full
    check "the replica continues on a full disk" kill -0 "$pid"
    truncate -s 100 "$dir/out.log" # frees space
    touch "$tmp/free"
    end
    ended "a full disk does not end the replica" 5 0 false false
    check "the log says how many bytes are lost" in_log '^pollux: [0-9]* bytes of output are lost: No space left'
    check "the log has the output after the loss" in_log '^free again'
    rm -rf "$tmp/small/run"
    begin packed '' sh -c 'seq 100000; exit 6'
    end
    ended "the status is written on a full disk, in reserved space" 6 0 false false
    check "the disk is full again" is_full
    rm -rf "$tmp/small/run"
    begin retried '' sh -c 'until [ -e '"$tmp"'/packed ]; do sleep 0.05; done; exit 7'
    until_true [ -e "$dir/replica" ]
    rm "$dir/status.new" # its reserve
    cat /dev/zero >"$tmp/small/filler" 2>/dev/null
    touch "$tmp/packed"
    check "the supervisor retries to write its status" until_true [ -e "$dir/status.new" ]
    check "the supervisor lives until the status is written" kill -0 "$pid"
    rm "$tmp/small/filler"
    end
    ended "the status is written when the disk has free space" 7 0 false false
    rm -rf "$tmp/small/run" "$tmp/packed"
    begin surrendered '' sh -c 'until [ -e '"$tmp"'/packed ]; do sleep 0.05; done; exit 8'
    until_true [ -e "$dir/replica" ]
    rm "$dir/status.new"
    cat /dev/zero >"$tmp/small/filler" 2>/dev/null
    touch "$tmp/packed"
    until_true [ -e "$dir/status.new" ]
    kill "$pid"
    end
    check "after a second SIGTERM it exits with the code itself" [ $status = 8 ]
    state=$keep
    umount "$tmp/small"
    trap finish EXIT
else
    skip "a full disk: no small file system can be mounted here"
fi

# ---- Environment and descriptors ------------------------------------------------------------------

export LEAK=leak POLLUX_TOKEN=secret
environment=("PATH=/usr/bin:/bin" "GREETING=hello world" "EMPTY=")
begin environment '"url":"http://127.0.0.1:1","token":"secret",' env
end
check "the environment is exactly what is given" \
    diff <(sort "$dir/out.log") <(printf '%s\n' "PATH=/usr/bin:/bin" "GREETING=hello world" "EMPTY=" \
        "POLLUX_RUN=$(id_of "$dir")" "POLLUX_SOCKET=$dir/agent.sock" | sort)
check "the token is in no file" [ -z "$(grep -rl secret "$state")" ]
unset LEAK POLLUX_TOKEN
environment=("PATH=$tmp/bin")
mkdir "$tmp/bin" && printf '#!/bin/sh\necho mine\n' >"$tmp/bin/mine" && chmod +x "$tmp/bin/mine"
begin path '' mine
end
check "a command is found in the PATH that it is given" in_log mine
environment=("PATH=$PATH")
begin where '' sh -c 'pwd; ls -l /proc/self/fd | wc -l; grep -E "^Sig(Blk|Ign)" /proc/self/status; ulimit -n'
exec 8</dev/null 9</dev/null
end
exec 8<&- 9<&-
check "it is in its directory" [ "$(sed -n 1p "$dir/out.log")" = "$tmp" ]
check "it has the standard descriptors only" [ "$(sed -n 2p "$dir/out.log")" = 5 ] # total, 0, 1, 2, and ls's own
check "no signal is blocked or ignored" [ "$(grep -c '^Sig.*0000000000000000$' "$dir/out.log")" = 2 ]
check "its resource limits are those of the supervisor" [ "$(tail -n 1 "$dir/out.log")" = "$(ulimit -n)" ]
cpu=$(grep '^Cpus_allowed_list' /proc/self/status | grep -o '[0-9]*' | tail -n 1)
begin affinity "\"cpus\":[$cpu]," grep '^Cpus_allowed_list' /proc/self/status
end
check "it runs on its CPUs" [ "$(grep -o '[0-9].*' "$dir/out.log")" = "$cpu" ]
begin slots '"slots":[3,5],' true
end
check "its slots are in info" grep -q '"slots":\[3,5\]' "$dir/info"

# Under mpirun the rank comes from the environment, and the exit status is 0, so that the other ranks continue.
mkdir -p "$state/run/mpi/1"
dir=$state/run/mpi/1/2
describe '' sh -c 'echo $OMPI_COMM_WORLD_RANK $OMPI_X $OTHER; exit 3' >"$dir.json"
run env OMPI_COMM_WORLD_RANK=2 OMPI_X=x OTHER=other $POLLUX exec --mpi --run "$state/run/mpi/1"
text=$(cat "$dir/status")
expect "a rank of mpirun ends with 0" status=0 err=
check "its code is in the status" [ "$(field code)" = 3 ]
check "it has the variables of mpirun, and no others" [ "$(cat "$dir/out.log")" = "2 x" ]
check "its description is removed" [ ! -e "$dir.json" ]
run pollux exec --mpi --run "$state/run/mpi/1"
expect "without mpirun" status=2 err~'start it with mpirun'
run env OMPI_COMM_WORLD_RANK=../3 $POLLUX exec --mpi --run "$state/run/mpi/1"
expect "a rank of mpirun that leaves the directory" status=2 err~'expected a rank'

# A path that is too long for a socket.
keep=$state
state=$tmp/$(printf 'x%.0s' {1..100})
mkdir -p "$state/run" && chmod 700 "$state" "$state/run"
begin deep '' sh -c 'ls -l "$POLLUX_SOCKET"; echo "$POLLUX_SOCKET"'
end
socket=$(tail -n 1 "$dir/out.log")
check "for a long path the socket is in another directory" [ "${#socket}" -lt 108 ]
check "that socket existed" grep -q '^srw' "$dir/out.log"
check "that socket is removed" [ ! -e "$(dirname "$socket")" ]
state=$keep

# ---- Messages of the agent ------------------------------------------------------------------------

cat >"$tmp/say" <<'END'
use Socket;
socket(my $agent, AF_UNIX, SOCK_DGRAM, 0) or die;
while (my $message = shift) {
    $message = "x" x 20000 if $message eq "LONG";
    send($agent, $message, 0, sockaddr_un($ENV{POLLUX_SOCKET})) or print "cannot send: $!\n";
}
END

server 200
begin hints "\"url\":\"http://127.0.0.1:$port\",\"token\":\"t0ken\"," \
    sh -c "perl $tmp/say '{\"progress\":1}'; until [ -e $tmp/go ]; do sleep 0.05; done; perl $tmp/say '{\"progress\":2}' '{\"progress\":3}' '{\"progress\":4}'"
check "hints reach the daemon" until_true received '^{"progress":1}$'
check "hints have the job's path" received '^POST /v1/jobs/hints/hints HTTP/1\.1'
check "hints have the job's token" received '^Authorization: Bearer t0ken'
check "hints are sent as JSON" received '^Content-Type: application/json'
touch "$tmp/go"
end
ended "the replica is not disturbed" 0 0 false false
check "the last hints are not lost at the end" received '^{"progress":4}$'
check "newer hints replace older ones that wait" [ "$(grep -c progress "$tmp/received")" -lt 4 ]
stop_server

server 200
begin nonsense "\"url\":\"http://127.0.0.1:$port\"," perl "$tmp/say" 'no json' '[1]' LONG '{"a":1}' '{"progress":7}'
end
check "a malformed message is not sent, and is logged" in_log 'a message of the agent is not sent: .*not well-formed'
check "a message that is not an object is not sent" in_log 'expected an object'
check "a message that is too long is not sent" in_log 'not sent: 20000 bytes'
check "later messages are sent" received '"progress":7'
check "without a token there is no Authorization line" eval '! received Authorization'
stop_server

server 409
begin refused "\"url\":\"http://127.0.0.1:$port\"," sh -c "perl $tmp/say '{\"progress\":1}'; until [ -e $tmp/refused ]; do sleep 0.05; done"
check "a refusal is in the log" until_true in_log 'the daemon refused hints of the agent: HTTP status 409'
touch "$tmp/refused"
end
check "a refused message is not repeated" [ "$(grep -c progress "$tmp/received")" = 1 ]
stop_server

server recovering
begin recovering "\"url\":\"http://127.0.0.1:$port\"," sh -c "perl $tmp/say '{\"progress\":1}'; until [ -e $tmp/recovered ]; do sleep 0.05; done"
until_true received progress
touch "$tmp/received.well"
again() { [ "$(grep -c progress "$tmp/received")" -ge 2 ]; }
check "after a server error the message is sent again" until_true again
touch "$tmp/recovered"
end
stop_server

for how in mute deaf; do
    server $how
    begin "$how" "\"url\":\"http://127.0.0.1:$port\"," sh -c "i=0; while [ \$i -lt 50 ]; do perl $tmp/say '{\"progress\":1}'; i=\$((i + 1)); done; echo all said; exit 4"
    end
    ended "a $how daemon does not delay the replica" 4 0 false false
    check "a $how daemon: the agent sent all it had" in_log '^all said'
    check "a $how daemon: no send failed" eval '! in_log "cannot send"'
    stop_server
done
begin dead "\"url\":\"http://127.0.0.1:$port\"," sh -c "perl $tmp/say '{\"progress\":1}'; echo said; until [ -e $tmp/dead ]; do sleep 0.05; done"
until_true in_log said
sed "s/LocalPort => 0/LocalPort => $port, ReuseAddr => 1/" "$tmp/server" >"$tmp/server.again"
rm -f "$tmp/received"*
perl "$tmp/server.again" 200 "$tmp/port" "$tmp/received" &
server=$!
check "a daemon that comes back gets the latest hints" until_true received progress
touch "$tmp/dead"
end
ended "the replica was not disturbed" 0 0 false false
stop_server
