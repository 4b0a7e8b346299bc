# SPDX-License-Identifier: Apache-2.0
# Every man page renders without a warning, and pollux(3) describes every public function.
. tests/cli/lib.sh

# One long page, as on a screen: whether a row of a table fits on a sheet of paper does not matter.
for page in build/man/*; do
    (echo ".pl 100000v"; cat "$page") >"$tmp/page"
    run groff -t -man -ww -z -Tutf8 "$tmp/page"
    expect "$(basename "$page") renders" status=0 err=
done
for name in $(nm -D --defined-only build/libpollux.so | awk '$3 ~ /^pollux_/ { print $3 }'); do
    check "pollux(3) describes $name" grep -q "$name" docs/man/pollux.3.scd
done
