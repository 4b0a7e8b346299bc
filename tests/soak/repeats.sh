# SPDX-License-Identifier: Apache-2.0
# The code does not repeat itself more than it did: tools/repeats counts at most this many passages.  The limit is never
# raised: a new copy becomes a function that both places call.
. tests/cli/lib.sh
limit=77

# A function of more than 60 tokens, twice and once.
body=$(printf 'x = f (x + %d, y) * z;\n' 1 2 3 4 5 6 7 8 9)
mkdir "$tmp/two" "$tmp/one"
printf 'int a (int x)\n{\n%s\nreturn x;\n}\n' "$body" | tee "$tmp/two/a.c" "$tmp/two/b.c" >"$tmp/one/a.c"
run tools/repeats "$tmp/two"
expect "a copied function is found" status=0 out=1 err=
run tools/repeats --list "$tmp/two"
expect "both places are named" status=0 out~'a\.c: line 1-13 *\|.*b\.c: line 1-13 *\[[0-9]*\]$' err=
run tools/repeats "$tmp/one"
expect "one function is no copy" status=0 out=0 err=
run tools/repeats "$tmp/none"
expect "a folder without C files is an error" status=1 err~'has no C files'

count=$(tools/repeats)
check "$count repeated passages in src, at most $limit (tools/repeats --list)" [ "$count" -le $limit ]
echo "note: src has $count repeated passages, limit $limit$([ "$count" -ge $limit ] || echo ": lower it in tests/soak/repeats.sh")"
