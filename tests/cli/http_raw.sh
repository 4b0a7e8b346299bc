# SPDX-License-Identifier: Apache-2.0
# Requests that no good client sends, byte by byte, to a real daemon, plain and with TLS.  Each gets exactly one answer
# and the end of the connection, and what follows it is not taken for another request.
. tests/cli/lib_daemon.sh
host='Host: localhost\r\n'
next="GET /healthz HTTP/1.1\r\n$host\r\n" # it would be answered with 200
get="GET /healthz HTTP/1.1\r\n$host"
post="POST /v1/jobs HTTP/1.1\r\n${host}Content-Type: application/json\r\n"

cat >"$tmp/client" <<'END'
use IO::Socket::INET;
my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift) or die "no connection: $!";
binmode STDIN;
local $/;
print $server <STDIN>;
$server->flush;
print <$server>;
END

# raw TEXT: send it, and print all that comes until the server closes the connection.
raw()
{
    # shellcheck disable=SC2059
    if $tls; then
        printf "$1" | timeout 100 openssl s_client -quiet -connect "127.0.0.1:$port" 2>/dev/null
    else
        printf "$1" | timeout 100 perl "$tmp/client" "$port"
    fi
}

# rejects NAME TEXT: one answer, 400, and the end.
rejects()
{
    raw "$2$next" >"$tmp/answer"
    check "$name$1" eval '[ "$(grep -ac "^HTTP/1.1 " "$tmp/answer")" = 1 ] && grep -aq "^HTTP/1.1 400 " "$tmp/answer" &&
        grep -aqi "^Connection: close" "$tmp/answer"'
}

all()
{
    raw "${get}Connection: close\r\n\r\n" >"$tmp/answer"
    check "${name}a good request is served" grep -aq '^HTTP/1.1 200 ' "$tmp/answer"
    rejects "Content-Length and chunked" "${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    rejects "two lengths" "${post}Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"
    rejects "a blank before the colon" "${post}Content-Length : 4\r\n\r\nabcd"
    rejects "a header without a name" "${get}: x\r\n\r\n"
    rejects "a header of several lines" "${get}X: a\r\n b\r\n\r\n"
    rejects "an unknown transfer encoding" "${get}Transfer-Encoding: xchunked\r\n\r\n"
    rejects "an unknown transfer encoding of a body" "${post}Transfer-Encoding: xchunked\r\n\r\nabcd"
    rejects "chunks in HTTP/1.0" "POST /v1/jobs HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    for length in abc -1 +4 0x4 '4, 4' '' 99999999999999999999999; do
        rejects "a length of '$length'" "${post}Content-Length: $length\r\n\r\nabcd"
    done
    rejects "a NUL in the target" 'GET /healthz\0x HTTP/1.1\r\n'"$host\r\n"
    rejects "a NUL in the query" 'GET /v1/jobs?limit=1\0 HTTP/1.1\r\n'"$host\r\n"
    rejects "a NUL in a value" "${get}"'X: a\0b\r\n\r\n'
    rejects "a NUL in Host" 'GET /healthz HTTP/1.1\r\nHost: localhost\0.evil.example\r\n\r\n'
    rejects "a NUL in a name" "${get}"'X\0: a\r\n\r\n'
}

listen=127.0.0.1:0 start_daemon --backend fake --node a:2
tls=false name='' port=$(sed 's/.*://' "$state/address")
all
check "refusals are in the access log" grep -q 'from=127.0.0.1 method=POST .*path=/v1/jobs status=400' "$log"
stop_daemon

printf 'host_names: [127.0.0.1]\n' >"$tmp/config.yaml"
listen=0.0.0.0:0 start_daemon --backend fake --node a:2 --config "$tmp/config.yaml" --tls-self-signed
tls=true name='TLS: ' port=$(sed -n 's/.* listens address=[^ ]*:\([0-9]*\) .*/\1/p' "$log" | tail -n 1)
all
run pollux status
expect "the daemon goes on" status=0
stop_daemon
