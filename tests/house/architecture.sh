# SPDX-License-Identifier: Apache-2.0
# Every file and every function that docs/architecture.md names exists; tools/check-names does find names that do not.
. tests/cli/lib.sh

run tools/check-names
expect "docs/architecture.md names what exists" status=0 out= err=

mkdir -p "$tmp/tree/src/loop" "$tmp/tree/include/pollux" "$tmp/tree/bindings/python" "$tmp/tree/docs"
printf 'int loop_step (struct loop *loop)\n{\n    return take_event (loop);\n}\n' >"$tmp/tree/src/loop/loop.c"
echo 'int loop_free (struct loop *loop);' >"$tmp/tree/src/loop/loop.h"
: >"$tmp/tree/include/pollux/pollux.h"

# verdict NAME TEXT EXPECTATION...: of a document with this text.
verdict()
{
    local name=$1
    printf '# A title\n\n%s\n' "$2" >"$tmp/tree/docs/text.md"
    shift 2
    run tools/check-names docs/text.md "$tmp/tree"
    expect "$name" "$@"
}

verdict "paths" 'In `src/loop/loop.c`, `loop/loop.h`, `src/loop/`, `loop.c`, `pollux/pollux.h`, `loop/*.h`.' status=0 out=
verdict "a file that does not exist" 'See `src/loop/wheel.c`.' status=1 out='docs/text.md: `src/loop/wheel.c`: no such file'
verdict "a file that does not exist, without its folder" 'See `wheel.c`.' status=1 out~'no such file'
verdict "a folder that does not exist" 'See `src/solver/`.' status=1 out~'no such file'
verdict "a pattern without a file" 'See `src/loop/api*.c`.' status=1 out~'no such file'
verdict "functions" '`loop_step()`, `loop_step(loop)`, `loop_free`, `struct loop`.' status=0 out=
verdict "a function that does not exist" 'Then `wheel()` runs.' status=1 out~'`wheel\(\)`: no such identifier'
verdict "a name with an underscore" 'Then `loop_turn` runs.' status=1 out~'`loop_turn`: no such identifier'
verdict "a structure that does not exist" 'A `struct wheel`.' status=1 out~'no such structure'
verdict "functions of a file" '`src/loop/loop.c`: `loop_step`, `take_event` and `loop_step()`.' status=0 out=
verdict "a function of another file" '`src/loop/loop.c`: `loop_step`, `loop_free`.' status=1 \
    out='docs/text.md: `loop_free`: not in src/loop/loop.c'
verdict "over the end of a line" '`src/loop/loop.c`:
`loop_free`' status=1 out~'not in src/loop/loop.c'
verdict "other words in code font" '`make test`, `-O2`, `/v1/jobs`, `build/pollux`, `decide`, `job.desired`.' status=0 out=

# Each answer of "Where is it?" has at most five lines.
long=$(awk '/^## /{ inside = /Where is it/ } inside && /^\*\*/ { name = $0; lines = 0 } inside && NF { if (++lines > 5) print name }' docs/architecture.md)
check "answers of five lines at most" [ -z "$long" ]

# No file names a folder of a developer's machine.
if [ -e .git ]; then
    run git grep -n -I -E '(^|[^A-Za-z0-9_$}/.-])/(home/|root/|Users/)' -- ':!fuzz/corpus' ':!tests/house/architecture.sh'
    out=$(grep -v -E '/home/(ann|tester|[$])' <<<"$out")
    expect "no path of a machine" out=
fi
