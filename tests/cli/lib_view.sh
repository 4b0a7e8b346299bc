# SPDX-License-Identifier: Apache-2.0
# Functions for tests of pollux view; they need until_true of the test, or of lib_daemon.sh.

begun() { [ -s "$tmp/view" ] || ! kill -0 $view; }

# start FILE [OPTION...]: sets $url and $token.
start()
{
    : >"$tmp/view"
    $POLLUX view "$@" >"$tmp/view" 2>"$tmp/view.err" &
    view=$!
    until_true begun
    url=$(sed 's:/#token=.*::' "$tmp/view")
    token=$(sed 's/.*#token=//' "$tmp/view")
}

# stop [SIGNAL]: sets $status.
stop()
{
    kill -"${1:-INT}" $view
    wait $view
    status=$?
}

ask() { curl -sS -m 20 -H "Authorization: Bearer $token" "$@"; }
code() { curl -sS -m 20 -o /dev/null -w '%{http_code}' "$@"; }
play() { ask "$url/v1/playback" -H 'Content-Type: application/json' -d "$1"; }

# at SECONDS: jump there, and wait until it is shown.
at()
{
    play "{\"at\": $1}" >/dev/null
    until_true is_at "$1"
}
is_at() { [ "$(ask "$url/v1/status" | jq ".now_at // 0")" = "$1" ]; }
