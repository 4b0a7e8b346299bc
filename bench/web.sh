#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the page costs with 5,000 jobs and 1,000 nodes of 8 slots: a real polluxd (fake backend), Debian's chromium.
#
#     tools/bench bench/web.sh
#
#     first_load_kb            bytes on the wire, with headers, until the cluster is drawn: page, snapshot and history
#     first_picture_s          from the navigation until all nodes are drawn
#     jobs_view_s              from the click on Jobs until its rows are drawn
#     quiet_minute_kb          bytes of one open page in a minute in which a round changes nothing
#     tab_heap_mb              JavaScript memory of the tab after garbage collection
#     tab_resident_mb          memory of the tab's process
#     snapshot_kb              the body of /v1/watch up to the first pause, compressed
#     daemon_base_share        processor time of polluxd, in cores, without pages; all running jobs report every 30 s
#     daemon_pages_share       what 50 clients add to that that read /v1/watch, compressed, and ask for nothing else
#     page_busy_minute_kb      bytes of one of these pages in a minute
#
# BENCH_JOBS (5000), BENCH_NODES (1000), BENCH_PAGES (50), BENCH_SECONDS (60).
. "$(dirname "$0")/../tests/cli/lib.sh"
. tests/web/lib_packages.sh
if ! command -v node >/dev/null || ! command -v "${CHROMIUM-chromium}" >/dev/null; then
    skip "no node or no chromium: \`tools/setup web\` installs them"
    exit 0
elif ! output=$(web_packages); then
    skip "$output"
    exit 0
fi
export POLLUX TMPDIR=$tmp
node tests/web/bench.mjs
