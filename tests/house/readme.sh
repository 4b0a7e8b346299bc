# SPDX-License-Identifier: Apache-2.0
# What README.md shows is what happens: every `$ command` of its console blocks is run, and its output
# compared.  A line `...` stands for any lines.
. tests/cli/lib.sh
export LC_ALL=C.UTF-8 PATH=$PWD/build:$PATH

# A file per command: $tmp/N.cmd as it is typed, $tmp/N.txt as it is shown.
awk -v tmp="$tmp" '
    /^```/ { inside = $0 == "```console"; next }
    !inside { next }
    /^\$ / { base = tmp "/" sprintf("%02d", ++n); sub(/^\$ /, ""); typing = 1; printf "" > (base ".txt") }
    { print > (base (typing ? ".cmd" : ".txt")); if (typing) typing = /\\$/ }
' README.md

for typed in "$tmp"/*.cmd; do
    bash "$typed" >"$tmp/out" 2>&1
    # Cut from the real output what "..." stands for.
    awk -v shown="${typed%.cmd}.txt" '
        BEGIN { while ((getline line < shown) > 0) want[++n] = line; at = 1 }
        want[at] == "..." { if ($0 != want[at + 1]) next; print "..."; at++ }
        { print; at++ }
    ' "$tmp/out" >"$tmp/cut"
    check "README: $(sed 's/\\$//' "$typed" | tr -s '\n ' '  ')" diff "${typed%.cmd}.txt" "$tmp/cut"
done
