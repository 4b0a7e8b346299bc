# SPDX-License-Identifier: Apache-2.0
# The parts of the page that need no browser: web/test.mjs.
. tests/cli/lib.sh
run node web/test.mjs
printf '%s\n' "$out" | grep -E '^(not )?ok '
failures=$((failures + $(grep -c '^not ok' <<<"$out")))
expect "web/test.mjs passes" status=0
