# SPDX-License-Identifier: Apache-2.0
# README.md and docs/tour.md show real output.  Every `$ command` of their console blocks is run and its
# output compared; a line `...` stands for any lines.  The other commands that they name must exist, with
# their options; other tests run them.  Links must lead to files and headings.
. tests/cli/lib.sh
export LC_ALL=C.UTF-8 PATH=$PWD/build:$PATH
pages="README.md docs/tour.md"

# ---- Commands with their output -----------------------------------------------------------------

# A file per command: $tmp/PAGE-N.cmd has what is typed, $tmp/PAGE-N.txt what is shown.
for page in $pages; do
    awk -v tmp="$tmp" -v page="$(basename $page .md)" '
        /^```/ { inside = $0 == "```console"; next }
        !inside { next }
        /^\$ / { base = tmp "/" page "-" sprintf("%02d", ++n); sub(/^\$ /, ""); typing = 1; printf "" > (base ".txt") }
        { print > (base (typing ? ".cmd" : ".txt")); if (typing) typing = /\\$/ }
    ' $page
done
check "both pages have commands" [ -e "$tmp/README-01.cmd" -a -e "$tmp/tour-05.cmd" ]

for typed in "$tmp"/*.cmd; do
    bash "$typed" >"$tmp/out" 2>&1
    # Put `...` in the place of the lines that it stands for.
    awk -v shown="${typed%.cmd}.txt" '
        BEGIN { while ((getline line < shown) > 0) want[++n] = line; at = 1 }
        want[at] == "..." { if (at == n || $0 != want[at + 1]) next; print "..."; at++ }
        { print; at++ }
        END { if (at == n && want[n] == "...") print "..." }
    ' "$tmp/out" >"$tmp/cut"
    check "$(basename "${typed%-*}"): $(sed 's/\\$//' "$typed" | tr -s '\n ' '  ')" diff "${typed%.cmd}.txt" "$tmp/cut"
done

# ---- Commands without output --------------------------------------------------------------------

# named PAGE: the commands of indented blocks and of `code`, one per line, without comments.
named()
{
    { sed -n 's/^    \(.*\)/\1/p' "$1"; grep -o '`[^`]*`' "$1" | tr -d '`'; } |
        sed 's/ *# .*//; s/ && /\n/g; s/^sudo //' | sed 's/^sudo //' | grep -E '^(pollux|polluxd|make|tools/.*|build/bench/.*)( |$)' |
        sed 's/ -- .*//; s/ *&$//' | sort -u
}

# known COMMAND: the program, its subcommand and its options, or the target of the makefile, exist.
known()
{
    local help word
    # shellcheck disable=SC2086
    set -- $1
    case $1 in
    make)
        [ $# = 1 ] || grep -q "^$2:" Makefile
        ;;
    pollux | polluxd)
        [ $# -gt 1 ] || return 0
        if [ "$1" = polluxd ]; then help=$(polluxd --help); else help=$(pollux "$2" --help); fi || return 1
        for word; do
            [[ $word != -* ]] || grep -q -E -e "(^|[ ,])$word([ ,=[]|$)" <<<"$help" || { echo "no option $word"; return 1; }
        done
        ;;
    build/bench/*) [ -e "bench/${1##*/}.c" ] ;;
    *) [ -x "$1" ] ;;
    esac
}
for page in $pages; do
    named $page >"$tmp/named"
    while read -r command; do
        check "$page: there is '$command'" known "$command"
    done <"$tmp/named"
done

# The lines of the tour's C block are in the example that it names.
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' docs/tour.md >"$tmp/c"
while read -r line; do
    check "docs/tour.md: examples/advise.c has '$line'" grep -q -F -e "$line" examples/advise.c
done <"$tmp/c"

# ---- The picture --------------------------------------------------------------------------------

# docs/make-picture made docs/terminal.svg with tools/record-terminal.
xml() { python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"; }
check "the picture is XML" xml docs/terminal.svg
check "it shows the two commands" [ "$(grep -c -E '>pollux (top|explain alice)</text>' docs/terminal.svg)" = 2 ]
check "it has the columns of pollux top" grep -q ">fail</text>" docs/terminal.svg
run tools/record-terminal --columns 20 --lines 3 "$tmp/own.svg" 'seq 9; printf "\e[1;31mred\e[0m\n"' 'printf "\e[?1049hfull\e[2;3Hscreen"; read -n 1'
expect "a terminal is recorded" status=0 out= err=
check "the recording is XML" xml "$tmp/own.svg"
check "with lines that scrolled off, colours and a full screen" [ "$(grep -c -E '>1<|"#ff7b72" font-weight="bold".*>red<|>full<|x="34.8".*>screen<' "$tmp/own.svg")" = 4 ]
run tools/record-terminal "$tmp/no.svg" 'printf "\e[5n"'
expect "a control sequence that it does not know is an error" status=1 err~'unknown control sequence'

# ---- Slurm --------------------------------------------------------------------------------------

run polluxd --config examples/slurm/polluxd.yaml --check
expect "the configuration of examples/slurm is good" status=0 out~'the configuration is good' err=
# Without User=, systemd gives such a directory and its files to root at each start, and polluxd becomes another user.
check "the unit of examples/slurm leaves the state directory to polluxd" eval '! grep -q "^StateDirectory=" examples/slurm/polluxd.service || grep -q "^User=" examples/slurm/polluxd.service'
# Each line of examples/slurm/polluxd.yaml that docs/slurm.md shows without braces is there.
check "docs/slurm.md shows lines of it" [ "$(sed -n '/^```yaml$/,/^```$/p' docs/slurm.md | grep -c -x -F -f <(grep -v '^ *#' examples/slurm/polluxd.yaml | grep .))" -ge 5 ]

# ---- Shape and links ------------------------------------------------------------------------------

check "README.md has less than 200 lines" [ "$(wc -l <README.md)" -lt 200 ]

# links PAGE: every relative link leads to a file, and its anchor to a heading there.
links()
{
    local page=$1 target file anchor status=0
    for target in $(grep -o '\](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^http'); do
        file=${target%%#*} anchor=
        [ "$file" = "$target" ] || anchor=${target#*#}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        [ -e "$file" ] || { echo "$page: no file $target"; status=1; continue; }
        [ -z "$anchor" ] || sed -n 's/^##* //p' "$file" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-' |
            grep -q -x -e "$anchor" || { echo "$page: no heading $target"; status=1; }
    done
    return $status
}
for page in README.md docs/*.md examples/README.md tests/data/README.md CONTRIBUTING.md NEWS.md; do
    check "links of $page" links $page
done
