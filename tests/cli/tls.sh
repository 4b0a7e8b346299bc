# SPDX-License-Identifier: Apache-2.0
# TLS of polluxd and of its clients: which addresses have it, certificates that are wrong, replaced or made by
# polluxd, and tokens that would be readable on the network.
. tests/cli/lib_daemon.sh
usual=(--backend fake --node a:2)

# certificate NAME SUBJECT-ALT-NAMES: NAME.pem and NAME.key in $tmp, self-signed.
certificate()
{
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test \
        -addext "subjectAltName=$2" -keyout "$tmp/$1.key" -out "$tmp/$1.pem" 2>/dev/null
    chmod 600 "$tmp/$1.key"
}
certificate first IP:127.0.0.1,DNS:localhost
certificate second IP:127.0.0.1,DNS:localhost
certificate stranger DNS:example.org

# ---- Refusals -----------------------------------------------------------------------------------

refuse()
{
    local name=$1
    shift
    run $POLLUXD --check --state "$tmp/r" "$@"
    expect "$name" status=2 err~"$wanted"
}
wanted="^polluxd: --listen '0.0.0.0:0': other machines reach .* --tls-cert and --tls-key, or .* --insecure"
refuse "an open address without TLS" --listen 0.0.0.0:0
refuse "an open address beside a local one" --listen 127.0.0.1:0 --listen 0.0.0.0:0
wanted="'\[::\]:0': other machines"
refuse "an open IPv6 address without TLS" --listen '[::]:0'
printf 'listen: 192.0.2.1:80\n' >"$tmp/open.yaml"
wanted="'192.0.2.1:80': other machines"
refuse "an open address in the configuration" --config "$tmp/open.yaml"
wanted='expected both or none'
refuse "a certificate without a key" --listen 0.0.0.0:0 --tls-cert "$tmp/first.pem"
refuse "a key without a certificate" --tls-key "$tmp/first.key"
wanted='expected no --tls-cert besides'
refuse "a given and a made certificate" --tls-self-signed --tls-cert "$tmp/first.pem" --tls-key "$tmp/first.key"
wanted="^polluxd: --listen '0.0.0.0:0': jobs report to the first address"
refuse "an address to which jobs on other nodes cannot report" --backend slurm --auth munge --listen 0.0.0.0:0
wanted="'\[::\]:0': jobs report to the first address"
refuse "the same with IPv6" --backend slurm --auth munge --listen '[::]:0'
for address in 127.0.0.1:0 '[::1]:0' localhost:0 127.3.2.1:0 "unix:$tmp/sock"; do
    run $POLLUXD --check --state "$tmp/r" --listen "$address"
    expect "$address needs no TLS" status=0
done
run $POLLUXD --check --state "$tmp/r" --listen 0.0.0.0:0 --insecure
expect "--insecure permits an open address" status=0

# start NAME CERT KEY PATTERN: polluxd does not start with these files; $wanted is its exit status.
start()
{
    run $POLLUXD "${root[@]}" "${usual[@]}" --state "$tmp/r" --listen 0.0.0.0:0 --tls-cert "$2" --tls-key "$3"
    expect "$1" status=$wanted err~"$4"
}
wanted=1
for mode in 640 604 620; do
    cp "$tmp/first.key" "$tmp/open.key"
    chmod $mode "$tmp/open.key"
    start "a key with mode $mode" "$tmp/first.pem" "$tmp/open.key" "open.key: other users .*mode 0$mode.*chmod 600"
done
wanted=2
start "the key of another certificate" "$tmp/first.pem" "$tmp/second.key" 'does not belong to the certificate'
start "a certificate that is missing" "$tmp/nosuch.pem" "$tmp/first.key" 'TLS certificate: .*nosuch.pem: cannot read: No such file'
start "a key that is missing" "$tmp/first.pem" "$tmp/nosuch.key" 'TLS key .*nosuch.key: No such file'
echo nonsense >"$tmp/nonsense"
chmod 600 "$tmp/nonsense"
start "a file that is not a certificate" "$tmp/nonsense" "$tmp/first.key" 'nonsense: expected a certificate in PEM'
start "a file that is not a key" "$tmp/first.pem" "$tmp/nonsense" 'nonsense: expected a key in PEM'
run $POLLUXD "${root[@]}" "${usual[@]}" --state "$tmp/r" --listen 0.0.0.0:0 --tls-self-signed
expect "a made certificate without a name" status=2 err~'needs a name: .*host_names'

# ---- A certificate of an administrator ----------------------------------------------------------

# The port that polluxd listens on, from its log.
port() { sed -n 's/.* listens address=[^ ]*:\([0-9]*\) .*/\1/p' "$log" | tail -n 1; }
# The certificate that a new connection gets, as a fingerprint; and that of a file.
served() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -fingerprint; }
print() { openssl x509 -in "$1" -noout -fingerprint; }
serves() { [ "$(served)" = "$(print "$1")" ]; }

cp "$tmp/first.pem" "$tmp/now.pem"
cp -p "$tmp/first.key" "$tmp/now.key"
listen=0.0.0.0:0 start_daemon "${usual[@]}" --tls-cert "$tmp/now.pem" --tls-key "$tmp/now.key"
port=$(port)
admin=$(cat "$state/admin.token")
check "clients of the state directory use its socket" grep -qx "unix:$state/pollux.sock" "$state/address"
run pollux status
expect "the socket stays plain" status=0 out~'at unix:'

export POLLUX_TOKEN_FILE=$state/admin.token
run pollux status --server "https://127.0.0.1:$port" --ca "$tmp/first.pem"
expect "https with the right certificate" status=0 out~"at https://127.0.0.1:$port"
POLLUX_CA=$tmp/first.pem run pollux status --server "https://localhost:$port"
expect "POLLUX_CA" status=0
POLLUX_CA=$tmp/stranger.pem run pollux status --server "https://localhost:$port" --ca "$tmp/first.pem"
expect "--ca before POLLUX_CA" status=0
run pollux status --server "https://127.0.0.1:$port"
expect "a certificate of no known issuer" status=3 err~'is not trusted .*; nothing was sent to it; .*--ca FILE'
run pollux status --server "https://127.0.0.1:$port" --ca "$tmp/second.pem"
expect "another certificate than the pinned one" status=3 err~"does not match --ca .*second.pem .*nothing was sent"
run pollux status --server "https://127.0.0.1:$port" --ca "$tmp/nosuch"
expect "a file of certificates that is missing" status=2 err~'--ca .*nosuch: expected certificates'
run pollux status --server "http://127.0.0.1:$port"
expect "http where https is served" status=3 err~'closed the connection; if it serves TLS, use https://'
run pollux status --server "https://127.0.0.1:1" --ca "$tmp/first.pem"
expect "https to a port without a server" status=3 err~'is polluxd running'
run pollux submit --server "https://127.0.0.1:$port" --ca "$tmp/second.pem" --name never -- true
expect "nothing is sent before the certificate is checked" status=3 err~'nothing was sent'
unset POLLUX_TOKEN_FILE

version() { openssl s_client "$@" -cipher 'DEFAULT@SECLEVEL=0' -connect "127.0.0.1:$port" </dev/null 2>&1; }
check "TLS 1.3" eval 'version -tls1_3 | grep -q "^New, TLSv1.3, Cipher is TLS_"'
check "TLS 1.2" eval 'version -tls1_2 | grep -q "^New, TLSv1.2, Cipher is ECDHE"'
for old in -tls1_1 -tls1; do
    version $old >"$tmp/old"
    check "the client offers $old" grep -q 'SSL handshake has read .* and written [1-9]' "$tmp/old"
    check "$old is refused" grep -q 'Cipher is (NONE)' "$tmp/old"
done

# A stream goes on with its connection while the certificate changes.
curl -sSN -D "$tmp/head" --cacert "$tmp/first.pem" -H "Authorization: Bearer $admin" "https://127.0.0.1:$port/v1/events?follow=1" >"$tmp/stream" 2>&1 &
stream=$!
soon "a stream over TLS begins" grep -q "^HTTP/1.1 200" "$tmp/head"
cp "$tmp/second.key" "$tmp/now.key"
kill -HUP "$daemon"
soon "a reload with a wrong pair is refused" grep -q 'not reloaded.*does not belong' "$log"
check "the certificate stays" serves "$tmp/first.pem"
cp "$tmp/second.pem" "$tmp/now.pem"
kill -HUP "$daemon"
soon "new connections have the new certificate after SIGHUP" serves "$tmp/second.pem"
lines=$(wc -l <"$tmp/stream")
pollux submit --name after -- true >"$tmp/out" 2>&1
soon "a stream goes on after a reload" eval '[ "$(wc -l <"$tmp/stream")" -gt "$lines" ]'
run curl -sS --cacert "$tmp/second.pem" -H "Authorization: Bearer $admin" "https://127.0.0.1:$port/v1/status" "https://127.0.0.1:$port/v1/jobs"
expect "requests after a reload" status=0 out~'"jobs"'
for _ in 1 2 3 4 5; do kill -HUP "$daemon"; sleep 0.1; done
check "after many reloads it serves" serves "$tmp/second.pem"
kill "$stream"
wait "$stream" 2>/dev/null

# Clients that do not speak TLS, or stop in the middle of it, do not disturb others.  In subshells: if polluxd has closed the
# connection already, SIGPIPE ends only these.
exec 7<>"/dev/tcp/127.0.0.1/$port"
(printf 'GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n' >&7)
# By an end or by a reset; 124: it is still open.
timeout 60 cat <&7 >/dev/null 2>&1
check "bytes that are not TLS close the connection" [ $? != 124 ]
exec 7>&-
exec 8<>"/dev/tcp/127.0.0.1/$port"
(printf '\x16\x03\x01\x02\x00' >&8)
check "an unfinished handshake does not block others" serves "$tmp/second.pem"
exec 8>&-
stop_daemon

# ---- Without TLS --------------------------------------------------------------------------------

# An address of this machine that is not loopback.
own=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '\.')
if [ -n "$own" ]; then
    listen=$own:0 start_daemon "${usual[@]}" --insecure
    port=$(port)
    check "clients of the state directory use the socket" grep -q "^unix:" "$state/address"
    run curl -sS -H "Authorization: Bearer $(cat "$state/admin.token")" "http://$own:$port/v1/status"
    expect "--insecure takes a token without TLS" status=0 out~'"policy"'
    POLLUX_TOKEN_FILE=$state/admin.token run pollux status --server "http://$own:$port"
    expect "a client warns before it sends a token without TLS" status=0 err~"warning: the token is sent to 'http://$own:$port' without TLS"
    run pollux status --server "http://$own:$port"
    expect "the state directory's token is not sent without TLS" status=1 err~'requires a token: POLLUX_TOKEN_FILE is not set'
    stop_daemon
else
    skip "tokens over the network: this machine has only loopback addresses"
fi

# ---- A made certificate -------------------------------------------------------------------------

printf 'host_names: [127.0.0.1, example.org]\n' >"$tmp/names.yaml"
listen=0.0.0.0:0 start_daemon "${usual[@]}" --config "$tmp/names.yaml" --tls-self-signed
port=$(port)
check "the made key is the owner's alone" eval '[ "$(stat -c %a "$state/tls.key")" = 600 ]'
check "the made certificate names what was configured" eval \
    'openssl x509 -in "$state/tls.pem" -noout -ext subjectAltName | grep -q "IP Address:127.0.0.1, DNS:example.org"'
run openssl verify -CAfile "$state/tls.pem" -verify_ip 127.0.0.1 -purpose sslserver "$state/tls.pem"
expect "the made certificate is good by itself" status=0
check "it is valid for a year" openssl x509 -in "$state/tls.pem" -noout -checkend $((360 * 86400))
# As on a file system that two machines share.
echo "https://127.0.0.1:$port" >"$state/address"
run pollux status
expect "a client of the state directory finds address, certificate and token" status=0 out~"at https://127.0.0.1:$port"
run pollux status --server "https://127.0.0.1:$port"
expect "another address does not get the state directory's certificate" status=3 err~'is not trusted'
before=$(print "$state/tls.pem")
stop_daemon
listen=0.0.0.0:0 start_daemon "${usual[@]}" --config "$tmp/names.yaml" --tls-self-signed
check "a restart keeps the made certificate" [ "$(print "$state/tls.pem")" = "$before" ]
stop_daemon
printf 'host_names: [127.0.0.1, example.com]\n' >"$tmp/names.yaml"
listen=0.0.0.0:0 start_daemon "${usual[@]}" --config "$tmp/names.yaml" --tls-self-signed
check "another name makes another certificate" [ "$(print "$state/tls.pem")" != "$before" ]
stop_daemon
if [ -n "$own" ]; then
    listen=$own:0 start_daemon "${usual[@]}" --tls-self-signed
    check "STATE/address names the address that the certificate has" grep -q "^https://$own:[1-9]" "$state/address"
    run pollux status
    expect "clients of the state directory use it" status=0 out~"at https://$own:"
    stop_daemon
fi
