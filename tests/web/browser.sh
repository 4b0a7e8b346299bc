# SPDX-License-Identifier: Apache-2.0
# The page in a real browser (Debian's chromium, driven by Playwright) with real daemons and jobs: tests/web/*.test.mjs.
#
#     bash tests/web/browser.sh [NAME...]      only NAME.test.mjs; POLLUX=build/asan/pollux selects the command
#     WEB_PICTURES=FOLDER bash ...             leaves a picture of each page of a failed test
. tests/cli/lib_daemon.sh
. tests/web/lib_packages.sh
export POLLUX POLLUXD
if ! output=$(web_packages); then
    not_ok "the packages of the tests are installed" "$output"
    exit 1
fi
# The longest one first.
[ $# != 0 ] || set -- views $(basename -s .test.mjs tests/web/*.test.mjs | grep -v -x views)

# Some of these wait for training jobs, so two run at the same time.
running=0
for name; do
    [ $running -lt 2 ] || { wait -n; running=$((running - 1)); }
    {
        timeout -k 10 "${PATIENCE-600}" node "tests/web/$name.test.mjs" >"$tmp/$name.out" 2>&1 </dev/null
        code=$?
        grep -q '^not ok' "$tmp/$name.out" || [ $code = 0 ] || echo "not ok $name ended with status $code" >>"$tmp/$name.out"
    } &
    running=$((running + 1))
done
wait
for name; do
    cat "$tmp/$name.out"
    failures=$((failures + $(grep -c '^not ok' "$tmp/$name.out")))
done
exit 0 # finish counts the failures
