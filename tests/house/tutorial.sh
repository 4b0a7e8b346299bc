# SPDX-License-Identifier: Apache-2.0
# docs/agent.md quotes the trainers as they are: each of its C blocks is found in one of them, line by line.
. tests/cli/lib.sh

awk -v tmp="$tmp" '/^```c$/ { inside = 1; n++; next } /^```$/ { inside = 0 } inside { print > (tmp "/" sprintf("%02d", n) ".block") }' docs/agent.md
check "there are quotations" [ "$(ls "$tmp"/*.block | wc -l)" -gt 15 ]
quoted()
{
    local file
    for file in examples/c/plain.c examples/c/trainer.c; do
        awk -v block="$1" '
            BEGIN { while ((getline line < block) > 0) want[++n] = line }
            { have[NR] = $0 }
            END {
                for (i = 1; i <= NR - n + 1; i++) {
                    for (j = 1; j <= n && have[i + j - 1] == want[j]; j++) { }
                    if (j > n) exit 0
                }
                exit 1
            }' "$file" && return 0
    done
    cat "$1"
    return 1
}
for block in "$tmp"/*.block; do
    check "quoted as it is: $(head -n 1 "$block" | sed 's/^ *//')" quoted "$block"
done
