# SPDX-License-Identifier: Apache-2.0
# A share: several ranks under one `pollux exec --share`, as Slurm starts them on a node.  Exit code,
# requests to stop, MASTER_PORT, devices, news, and supervisors that are killed.
. tests/cli/lib.sh
. tests/cli/lib_exec.sh

# share JOB MORE FIRST COUNT COMMAND...: a share in the background; sets pid, generation and dir (of FIRST).
share()
{
    local job=$1 more=$2 first=$3 count=$4 rank
    shift 4
    generation=$state/run/$job/1 dir=$state/run/$job/1/$first
    mkdir -p "$generation"
    for ((rank = first; rank < first + count; rank++)); do
        environment=("PATH=$PATH" "RANK=$rank" "MASTER_PORT=1" "CUDA_VISIBLE_DEVICES=job")
        describe "$more" "$@" >"$generation/$rank.json"
    done
    # shellcheck disable=SC2086
    $POLLUX exec --share "$generation" --first "$first" --count "$count" 2>"$tmp/$job.err" &
    pid=$!
}

# A field of the status of a rank.
of()
{
    text=$(cat "$generation/$1/status" 2>/dev/null)
    field "$2"
}
all_have() # WORD RANK...: in the logs of these ranks
{
    local word=$1 rank
    shift
    for rank in "$@"; do grep -q -e "$word" "$generation/$rank/out.log" || return 1; done
}
supervisor_of() { sed 's/.*"pid":\([0-9]*\).*/\1/' "$generation/$1/info"; }
replica_of() { sed 's/.*"pid":\([0-9]*\).*/\1/' "$generation/$1/replica"; }
saver='trap "echo saved; exit 143" TERM; echo ready; while :; do sleep 0.05; done'

# ---- Exits --------------------------------------------------------------------------------------

share zeros '' 0 3 sh -c 'echo I am $RANK'
end
check "all ranks end with 0: so does the share" [ $status = 0 ]
check "every rank has its description" [ "$(cat "$generation"/[012]/out.log)" = $'I am 0\nI am 1\nI am 2' ]
check "the descriptions are removed" [ "$(ls -A "$generation" | tr '\n' ' ')" = "0 1 2 " ]
share codes '' 4 3 sh -c 'case $RANK in 5) exit 7;; esac'
end
check "the share ends with the code of the rank that failed" [ $status = 7 ]
check "ranks need not begin with 0" [ "$(of 4 code) $(of 5 code) $(of 6 code)" = "0 7 0" ]
share signals '' 0 2 sh -c 'case $RANK in 1) kill -SEGV $$;; esac'
end
check "a rank that a signal ended" [ $status = 139 ]

mkdir -p "$state/run/half/1"
describe '' true >"$state/run/half/1/0.json"
run pollux exec --share "$state/run/half/1" --first 0 --count 2
expect "a description is missing" status=2 err~'1\.json.*No such file'
check "then no rank is started, and no description is removed" [ "$(ls -A "$state/run/half/1")" = 0.json ]
run pollux exec --share "$state/run/half/1" --first 0
expect "without --count" status=2 err~'needs --first and --count'
run pollux exec --share "$state/run/half/1" --first 0 --count 0
expect "an empty share" status=2 err~'count'
run pollux exec --run "$state/run/half/1/0" --count 2
expect "--count without --share" status=2 err~'belong to --share'
run pollux exec --share "$state/run/half/1" --first 0 --count 1 --mpi
expect "a proxy of a rank has no ranks of its own" status=2 err~'needs --first and --count, or --mpi'
run pollux exec --share "$state/run/half/1" --mpi --mpirun 2
expect "a proxy does not run mpirun" status=2 err~'needs --first and --count, or --mpi'
run pollux exec --run "$state/run/half/1/0" --mpirun 2
expect "--mpirun without --share" status=2 err~'belong to --share'

describe '' true >"$state/run/zeros/1/0.json"
describe '' true >"$state/run/zeros/1/1.json"
run pollux exec --share "$state/run/zeros/1" --first 0 --count 2
expect "a second share of the same ranks does nothing" status=2 err~'0: this run has been started before' err~'1: this run has been'

# ---- Requests to stop ---------------------------------------------------------------------------

for signal in URG TERM INT; do
    share "stop$signal" '' 0 2 sh -c "$saver"
    until_true all_have ready 0 1
    for i in 1 2 3 4 5; do kill -$signal "$pid"; done
    end
    check "SIG$signal to a share, five times, is one request" \
        [ "$status $(of 0 code) $(of 0 stopped) $(of 0 killed) $(of 1 code) $(of 1 killed)" = "0 143 true false 143 false" ]
    outside=true
    [ $signal != URG ] || outside= # not written
    check "SIG$signal to a share: the status says whether the daemon asked" [ "$(of 0 outside) $(of 1 outside)" = "$outside $outside" ]
done
# The replica says when its supervisor has taken the first request: of two pending signals SIGTERM would be taken first.
share twice '' 0 1 sh -c 'trap "echo stopping; sleep 0.5; exit 143" TERM; echo ready; while :; do sleep 0.05; done'
until_true all_have ready 0
kill -URG "$pid"
until_true all_have stopping 0
kill -TERM "$pid"
end
check "a SIGTERM after the daemon's request changes nothing" [ "$status $(of 0 code) $(of 0 outside)" = "0 143 " ]
share supervisors '' 0 2 sh -c "$saver"
until_true all_have ready 0 1
for i in 1 2 3; do kill -TERM "$(supervisor_of 0)" "$(supervisor_of 1)" 2>/dev/null; done
end
check "SIGTERM to its supervisors, three times, is one request" \
    [ "$status $(of 0 code) $(of 0 killed) $(of 1 code) $(of 1 killed)" = "0 143 false 143 false" ]
begin urgent '' sh -c "$saver"
until_true in_log ready
kill -URG "$pid"
kill -URG "$pid"
end
ended "SIGURG stops every supervisor" 143 0 true false
begin mixed '"grace":600,' sh -c 'trap "echo asked" TERM; echo ready; while :; do sleep 0.05; done'
until_true in_log ready
kill -URG "$pid"
until_true in_log asked # else the supervisor could take the second signal first
kill -TERM "$pid"
end
ended "outside of a share a plain SIGTERM after it kills at once" 0 9 true true
share stubborn '"grace":0.1,' 0 2 sh -c 'trap "" TERM; echo ready; while :; do sleep 0.05; done'
until_true all_have ready 0 1
kill -URG "$pid"
end
check "a replica that does not stop is killed after its grace" [ "$status $(of 0 killed) $(of 1 killed)" = "0 true true" ]

# Slurm's SIGTERM goes to every process of the step, in any order.
share before '' 0 1 sh -c "$saver"
until_true all_have ready 0
kill -STOP "$(supervisor_of 0)"
kill -TERM "$(replica_of 0)"
until_true has_ended "$(replica_of 0)"
kill -TERM "$(supervisor_of 0)"
kill -CONT "$(supervisor_of 0)"
end
check "a replica that exits with 143 before its supervisor gets the SIGTERM was stopped" \
    [ "$status $(of 0 code) $(of 0 stopped)" = "0 143 true" ]
share after '' 0 1 sh -c "echo ready; kill -TERM \$PPID; kill -TERM \$\$"
end
check "a replica that SIGTERM kills with its supervisor's was stopped" [ "$status $(of 0 signal) $(of 0 stopped)" = "0 15 true" ]
share alone '' 0 1 sh -c 'kill -TERM $$'
end
check "a replica that SIGTERM kills alone has failed" [ "$status $(of 0 signal) $(of 0 stopped)" = "143 15 false" ]
share shell '' 0 1 sh -c "sh -c 'trap \"until [ -e $tmp/shell.go ]; do sleep 0.05; done; echo saved; exit 143\" TERM; echo ready; while :; do sleep 0.05; done'; true"
until_true all_have ready 0
kill -STOP "$(supervisor_of 0)"
kill -TERM -- "-$(replica_of 0)"
until_true has_ended "$(replica_of 0)"
kill -TERM "$(supervisor_of 0)"
kill -CONT "$(supervisor_of 0)"
touch "$tmp/shell.go"
end
check "what a shell wrapper left may save its work" [ "$status $(of 0 stopped) $(of 0 killed)" = "0 true false" ]
check "and did" all_have saved 0

# ---- Supervisors and shares that are killed -------------------------------------------------------

share killed '' 0 2 sh -c 'setsid env -i sleep 1000 & echo ready $!; wait'
until_true all_have ready 0 1
left=$(sed -n 's/^ready //p' "$generation/0/out.log")
kill -KILL "$(supervisor_of 0)"
check "what a killed supervisor left is killed, without session and environment" until_true has_ended "$left"
end
check "the other rank is stopped" [ "$(of 1 stopped)" = true ]
check "the share ends with the signal of the killed supervisor" [ $status = 137 ]
check "the lost rank has no status" [ ! -e "$generation/0/status" ]
share gone '' 0 2 sh -c 'echo ready; exec sleep 1000'
until_true all_have ready 0 1
disown "$pid"
kill -KILL "$pid"
check "supervisors die with their share" until_true has_ended "$(supervisor_of 0)"
check "and their replicas with them" until_true has_ended "$(replica_of 1)"

# ---- MASTER_PORT ----------------------------------------------------------------------------------

share master '"master":{"file":"master","first":true},' 0 2 sh -c 'echo port $MASTER_PORT'
end
port=$(cat "$generation/master")
check "the first share chooses a port" [ "$status" = 0 ] && [ "$port" -ge 20000 ]
check "all of its ranks have it" all_have "^port $port\$" 0 1
share master '"master":{"file":"master"},' 2 1 sh -c 'echo port $MASTER_PORT'
end
check "another share reads it" all_have "^port $port\$" 2
check "only the port is left beside the runs" [ "$(ls -A "$generation" | tr '\n' ' ')" = "0 1 2 master " ]
share kept '"master":{"file":"master","first":true},' 0 1 true
end
port=$(cat "$generation/master")
share kept '"master":{"file":"master","first":true},' 1 1 sh -c 'echo port $MASTER_PORT'
end
check "a port that is there is kept" all_have "^port $port\$" 1
share late '"master":{"file":"master"},' 1 1 sh -c 'echo port $MASTER_PORT'
until_true [ -e "$generation/1/info" ]
echo 20077 >"$tmp/port" && mv "$tmp/port" "$generation/master"
end
check "a share waits for the port" all_have '^port 20077$' 1
share stopped '"master":{"file":"master"},' 1 1 true
until_true [ -e "$generation/1/info" ]
kill -URG "$pid"
end
check "a stop ends the wait" [ "$status $(of 1 code) $(of 1 stopped)" = "0 143 true" ]
mkdir -p "$state/run/damaged/1" && echo nonsense >"$state/run/damaged/1/master"
share damaged '"master":{"file":"master","first":true},' 0 1 true
end
check "a damaged port is an excuse" [ "$status $(of 0 code) $(of 0 excused)" = "126 126 true" ]
check "and the status says which file" grep -q 'master: expected a port' "$generation/0/status"

# ---- Devices --------------------------------------------------------------------------------------

export CUDA_VISIBLE_DEVICES=4,GPU-1f,6
share devices '"devices":[2,1],' 0 2 sh -c 'echo devices $CUDA_VISIBLE_DEVICES'
end
check "devices are positions among those of the step" all_have '^devices 6,GPU-1f$' 0 1
share toomany '"devices":[3],' 0 1 true
end
check "a device that the step does not have is an excuse" [ "$status $(of 0 code) $(of 0 excused)" = "126 126 true" ]
check "and the status names it" grep -q 'device number 3 of this step' "$generation/0/status"
unset CUDA_VISIBLE_DEVICES
share numbers '"devices":[2,1],' 0 1 sh -c 'echo devices $CUDA_VISIBLE_DEVICES'
end
check "where the step says nothing they are numbers" all_have '^devices 2,1$' 0
share own '' 0 1 sh -c 'echo devices $CUDA_VISIBLE_DEVICES port $MASTER_PORT'
end
check "without these fields the job's own variables stay" all_have '^devices job port 1$' 0

# ---- News -----------------------------------------------------------------------------------------

server 200
share news "\"news\":true,\"url\":\"http://127.0.0.1:$port\",\"token\":\"t0ken\"," 0 2 sh -c 'case $RANK in 1) exit 3;; esac'
end
check "news are posted to the job's runs" received '^POST /v1/jobs/news/runs HTTP/1\.1'
check "a command that runs is news" received '^{"generation":1,"rank":0,"state":"running"}$'
check "an end is news, with the status" received '^{"generation":1,"rank":1,"state":"ended","status":{.*"code":3.*}}$'
check "each is sent once" [ "$(grep -c '"state"' "$tmp/received")" = 4 ]
begin quiet "\"url\":\"http://127.0.0.1:$port\"," true
end
check "without the field there are no news" eval '! received "jobs/quiet"'
stop_server
server 200
share unstarted "\"news\":true,\"url\":\"http://127.0.0.1:$port\"," 0 1 no-such-command-anywhere
end
check "a command that cannot be run has ended, and never ran" [ "$(grep -o '"state":"[a-z]*"' "$tmp/received")" = '"state":"ended"' ]
stop_server
# The generation was given up, and a newer one runs.
server replaced
cat >"$tmp/say" <<'END'
use Socket;
socket(my $agent, AF_UNIX, SOCK_DGRAM, 0) or die;
send($agent, '{"generation":99}', 0, sockaddr_un($ENV{POLLUX_SOCKET})) or print "cannot send: $!\n";
END
share replaced "\"news\":true,\"url\":\"http://127.0.0.1:$port\"," 0 1 \
    sh -c "trap 'echo saved; exit 143' TERM; while :; do perl $tmp/say; sleep 0.1; done"
asked() { [ "$(grep -c '"state":"running"' "$tmp/received")" -ge 2 ]; }
check "after refused hints the supervisor asks by its own news" until_true asked
check "they decide: the replica runs on" eval '! grep -q saved "$generation/0/out.log"'
touch "$tmp/received.replaced"
end
check "if they are refused, too, the replica is stopped" [ "$status $(of 0 stopped) $(of 0 code)" = "0 true 143" ]
check "and the log says why" all_have 'generation 1 does not run any more' 0
check "it could save its work" all_have '^saved$' 0
stop_server
server deaf
stop_server
share dead "\"news\":true,\"url\":\"http://127.0.0.1:$port\"," 0 1 true
end
check "without a daemon the share ends" [ "$status $(of 0 code)" = "0 0" ]
