# SPDX-License-Identifier: Apache-2.0
# The command itself: help, version, wrong usage, output that cannot be written; and the man pages
# have every subcommand and option.  (Completion: tests/house/completion.sh.)
. tests/cli/lib.sh

names=$(pollux --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p')
check "the list of commands is not empty" [ -n "$names" ]

run pollux
expect "without arguments it shows its usage" status=2 out= err~'^Usage: pollux COMMAND'
for words in --help -h help; do
    run pollux $words
    expect "pollux $words" status=0 out~'^Usage: pollux COMMAND' out~'^  fit  ' err=
done
run pollux --version
expect "the version" status=0 out~'^pollux [0-9]+\.[0-9]+\.[0-9]+$' err=

# ---- Wrong usage --------------------------------------------------------------------------------

run pollux fti
expect "a mistyped command: a suggestion" status=2 out= err="pollux: unknown command 'fti'; did you mean 'fit'?"
run pollux help godput
expect "help of a mistyped command: a suggestion" status=2 out= err~"did you mean 'goodput'"
run pollux zzzzzzzz
expect "an unknown command: no suggestion" status=2 out= err="pollux: unknown command 'zzzzzzzz'; 'pollux --help' lists them"
run pollux --nosuch
expect "an unknown option before the command" status=2 err="pollux: unknown option '--nosuch'; see 'pollux --help'"
run pollux fit --jsn x
expect "a mistyped option: a suggestion" status=2 err="pollux fit: unknown option '--jsn'; did you mean --json?"
run pollux fit --zzzzzzzzzzz x
expect "an unknown option: no suggestion" status=2 err~"unknown option '--zzzzzzzzzzz'; see 'pollux fit --help'"
run pollux fit -x
expect "a short option" status=2 err~"unknown option '-x'"
run pollux fit --json=yes x
expect "an argument too many" status=2 err="pollux fit: --json takes no argument"
run pollux fit x --init-batch
expect "an argument missing" status=2 err~"^pollux fit: --init-batch needs an argument"
run pollux fit --no x
expect "an ambiguous abbreviation" status=2 err~"--no could be several options"
run pollux goodput --max=8 examples/synthetic-resnet.json
expect "an ambiguous abbreviation with a value" status=2 out= err~"--max could be several options"
run pollux goodput --max-r=8 --js examples/synthetic-resnet.json
expect "unique abbreviations of options" status=0 out~'"replicas": 8' out!'"replicas": 9' err=
esc=$(printf '\033')
for words in "${esc}[31mfit" "fit --${esc}[31m x" "fit ${esc}[31m" "fit x ${esc}[31m" "-${esc}" \
    "goodput --search=${esc} x"; do
    # shellcheck disable=SC2086
    run pollux $words
    expect "no escape sequence reaches the terminal: ${words//$esc/ESC}" status=2 out= err!"$esc" err~'\?'
done
run pollux "fit" "--$(printf 'x%.0s' {1..5000})" y
expect "a very long option" status=2 err~"^pollux fit: unknown option '--x+\.\.\.'; see 'pollux fit --help'$"
run pollux "$(printf 'x%.0s' {1..5000})"
expect "a very long command" status=2 err~"^pollux: unknown command 'x+\.\.\.'; 'pollux --help' lists them$"
run pollux fit
expect "a file missing" status=2 err="pollux fit: expected SAMPLES.csv; see 'pollux fit --help'"
run pollux fit a b
expect "a file too many" status=2 err="pollux fit: unexpected argument 'b': expected only SAMPLES.csv"

# ---- Output that cannot be written -----------------------------------------------------------

to_full() { pollux "$@" >/dev/full; }
to_closed() { pollux "$@" >&-; }
for words in --help --version "fit examples/synthetic-resnet.csv" \
    "fit --json examples/synthetic-resnet.csv" "goodput examples/synthetic-resnet.json" \
    "goodput --json --nodes 4096 examples/synthetic-resnet.json"; do
    # shellcheck disable=SC2086
    run to_full $words
    expect "a full disk: $words" status=1 err~'^pollux: cannot write the output: '
done
run to_full --version
expect "a full disk is named" err="pollux: cannot write the output: No space left on device"
run to_closed --version
expect "closed output" status=1 err="pollux: cannot write the output: Bad file descriptor"

# ---- Every command is documented -------------------------------------------------------------

options_of() { grep -oE '(^|[^a-z-])--[a-z][a-z-]*' | grep -oE -e '--[a-z-]+' | sort -u; }
for name in $names; do
    run pollux "$name" --help
    expect "pollux $name --help" status=0 out~"^Usage: pollux $name " err=
    help=$out
    run pollux help "$name"
    expect "pollux help $name" status=0 out="$help" err=
    check "$name: help fits into 100 columns" awk 'length > 100 { exit 1 }' <(echo "$help")
    page=docs/man/pollux-$name.1.scd
    check "$name: a man page" [ -f "$page" ]
    check "$name: pollux(1) names it" grep -q "\*pollux-$name\*(1)" docs/man/pollux.1.scd
    check "$name: the same options in help and man page" diff \
        <(sed -n 's/^  \(-[a-zA-Z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' <<<"$help" | sort -u) \
        <(sed -n '/^# OPTIONS/,/^# EXIT/p' "$page" | grep '^\*--' | options_of)
done
