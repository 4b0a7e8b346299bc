# SPDX-License-Identifier: Apache-2.0
# docs/openapi.json against a running polluxd, by schemathesis: it makes requests from the document, good and bad ones, and
# compares every answer with it.  `make test-api` runs this; it takes two minutes at most, besides the installation.
#
# schemathesis is installed from PyPI into a virtual environment in build/.  Without PyPI the test fails.
. tests/cli/lib_daemon.sh
environment=$PWD/build/schemathesis
seconds=${POLLUX_API_SECONDS-60}

# ---- schemathesis -------------------------------------------------------------------------------

if ! tools/venv "$environment" tests/api/requirements.txt >"$tmp/out" 2>&1; then
    not_ok "schemathesis is installed from PyPI" "$(cat "$tmp/out")"
    exit 1
fi

# ---- A daemon with jobs in all states -----------------------------------------------------------

start_daemon --backend fake --node n0:4 --node n1:4 --interval 1
POLLUX_API_TOKEN=$(cat "$state/admin.token")
export POLLUX_API_TOKEN
for job in 'runner --max 4 -- sleep 1000' 'waiting --min 100 --max 100 -- sleep 1000' 'failing -- false' 'done -- true'; do
    # shellcheck disable=SC2086
    pollux submit --name $job >"$tmp/out" 2>&1 || not_ok "a job is submitted" "$(cat "$tmp/out")"
done
for name in ann bob; do pollux token new $name --role user >"$tmp/out" 2>&1; done
phase() { [ "$(pollux show "$1" --json | jq -r .phase)" = "$2" ]; }
soon "a job runs" phase runner running
soon "a job is done" phase done finished

# ---- The test -----------------------------------------------------------------------------------

cd "$tmp" || exit 1 # for its files
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$OLDPWD/tests/api timeout -k 10 $((seconds + 60)) "$environment/bin/schemathesis" --config-file "$OLDPWD/tests/api/schemathesis.toml" run "$OLDPWD/docs/openapi.json" \
    --url "$(cat "$state/address")" --max-time "$seconds" --no-color >"$tmp/report" 2>&1
status=$?
cd "$OLDPWD" || exit 1
mkdir -p build/log
cp "$tmp/report" build/log/schemathesis.log
sed -n 's/^  \([0-9]* generated.*\)/note: schemathesis: \1/p' "$tmp/report"
if [ $status = 0 ]; then
    ok "schemathesis finds no difference"
else
    not_ok "schemathesis finds no difference" "$(sed -n '/^=* FAILURES\|^=* ERRORS/,/^=* SUMMARY/p' "$tmp/report" | head -n 100 | cut -c 1-500)" "(all of it: build/log/schemathesis.log)"
fi
holds "the daemon goes on" pollux status
stop_daemon
