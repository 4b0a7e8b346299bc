# SPDX-License-Identifier: Apache-2.0
# Functions for tests of supervisors: a state directory, descriptions, status files, and a server in
# the daemon's place.  Source it after lib.sh.

state=$tmp/s
mkdir -p "$state/run"
chmod 700 "$state" "$state/run"

# ---- Helpers ------------------------------------------------------------------------------------

# until_true COMMAND...: wait until it succeeds; fails after a minute.
until_true()
{
    local i
    for ((i = 0; i < 3000; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    echo "waited for a minute in vain: $*" >&2
    return 1
}

has_ended() { ! grep -qs '^State:.[^Z]' "/proc/$1/status"; }

# json WORD...: a JSON list of strings.
json()
{
    local word list=
    for word in "$@"; do
        word=${word//\\/\\\\} word=${word//\"/\\\"} word=${word//$'\n'/\\n}
        list+="${list:+,}\"$word\""
    done
    echo "[$list]"
}

# describe MORE COMMAND...: a description; MORE is text of further fields, each with a comma.
describe()
{
    local more=$1
    shift
    echo "{\"version\":1,\"directory\":\"$tmp\",$more\"command\":$(json "$@"),\"environment\":$(json "${environment[@]}")}"
}
environment=("PATH=$PATH")

# begin JOB MORE COMMAND...: a supervisor in the background; sets pid and dir.
begin()
{
    local job=$1 text
    shift
    dir=$state/run/$job/1/0
    mkdir -p "$state/run/$job/1"
    text=$(describe "$@")
    # shellcheck disable=SC2086
    $POLLUX exec --run "$dir" <<<"$text" 2>"$tmp/$job.err" &
    pid=$!
}

# Wait for it; sets status (of the supervisor) and text (of the status file).  Fails after a minute.
end()
{
    if ! until_true has_ended "$pid"; then
        not_ok "${dir#"$state"/run/} does not end" "$(cat "$dir/info" "$dir/out.log" 2>&1 | tail -n 20)"
        kill -KILL "$pid"
    fi
    wait "$pid" 2>/dev/null
    status=$?
    text=$(cat "$dir/status" 2>/dev/null)
}

field()
{
    grep -o "\"$1\":[^,}]*" <<<"$text" | head -n 1 | sed 's/^[^:]*://'
}

# ended NAME CODE SIGNAL STOPPED KILLED: one check of the status, and of the exit code with it.
ended()
{
    local code=$2
    [ "$3" = 0 ] || code=$((128 + $3))
    local want="code=$2 signal=$3 stopped=$4 killed=$5 exit=$code"
    local got="code=$(field code) signal=$(field signal) stopped=$(field stopped) killed=$(field killed) exit=$status"
    if [ "$got" = "$want" ]; then
        ok "$1"
    else
        not_ok "$1" "expected $want" "got      $got" "status: $text" "$(cat "$dir"/out.log 2>&1 | head -c 2000)"
    fi
}

# The run's id, from info; the processes with this id.
id_of() { sed 's/.*"run":"\([^"]*\)".*/\1/' "$1/info"; }
processes_of() { grep -lsz "^POLLUX_RUN=$1\$" /proc/[0-9]*/environ; }
none_of() { [ -z "$(processes_of "$1")" ]; }
in_log() { grep -q -e "$1" "$dir/out.log"; }

# ---- A server in the daemon's place ---------------------------------------------------------------

# server CODE: a daemon that answers every request with CODE and logs it; "mute": it never answers;
# "deaf": it accepts no connection; "replaced": it refuses hints with 409, and news once $tmp/received.replaced
# exists.  Sets port and server.
cat >"$tmp/server" <<'END'
use IO::Socket::INET;
my ($how, $port, $received) = @ARGV;
my $listener = IO::Socket::INET->new(Listen => 50, LocalAddr => "127.0.0.1", LocalPort => 0)
    or die "no server: $!";
open(my $file, ">", "$port.new"); print $file $listener->sockport; close $file;
rename("$port.new", $port);
sleep while $how eq "deaf";
my @kept;
while (my $client = $listener->accept) {
    my ($head, $body) = ("", "");
    while (my $line = <$client>) { $head .= $line; last if $line eq "\r\n"; }
    read($client, $body, $1) if $head =~ /Content-Length: (\d+)/;
    open($file, ">>", $received); print $file $head, $body, "\n"; close $file;
    if ($how eq "mute") { push @kept, $client; next; }
    my $code = $how eq "recovering" ? (-s "$received" < 1000 && !-e "$received.well" ? 503 : 200) : $how;
    $code = $head =~ m(/hints ) || -e "$received.replaced" ? 409 : 200 if $how eq "replaced";
    print $client "HTTP/1.1 $code Word\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
    close $client;
}
END
server()
{
    rm -f "$tmp/port" "$tmp/received"*
    perl "$tmp/server" "$1" "$tmp/port" "$tmp/received" &
    server=$!
    until_true [ -s "$tmp/port" ]
    port=$(cat "$tmp/port")
}
stop_server()
{
    kill "$server"
    wait "$server" 2>/dev/null || true
}
received() { grep -q -e "$1" "$tmp/received"; }
