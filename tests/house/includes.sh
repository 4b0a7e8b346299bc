# SPDX-License-Identifier: Apache-2.0
# tools/check-includes accepts this tree and rejects an #include that points up.
. tests/cli/lib.sh

run tools/check-includes
expect "this tree has no include that points up" status=0 out=

# verdict NAME FILE LINE EXPECTATION...: a tree with that one file.
verdict()
{
    local name=$1 file=$2 line=$3
    shift 3
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree/include/pollux" "$tmp/tree/src/base" "$tmp/tree/$(dirname "$file")"
    printf '/* a line */\n%s\n' "$line" >"$tmp/tree/$file"
    run tools/check-includes "$tmp/tree"
    expect "$name" "$@"
}

verdict "own room" src/model/fit.c '#include "model/fit.h"' status=0 out=
verdict "one room down" src/model/fit.c '#include "base/error.h"' status=0 out=
verdict "many rooms down" src/sim/run.c '#include "base/error.h"' status=0 out=
verdict "the public header from the bottom" src/base/error.h '#include "pollux/pollux.h"' status=0 out=
verdict "libc" src/policy/ga.c '#include <math.h>' status=0 out=
verdict "one room up" src/base/csv.c '#include "model/fit.h"' status=1 \
    out~'src/base/csv.c:2: "model/fit.h" points up: base may include libc only'
verdict "many rooms up" src/model/fit.h '# include "cli/plot.h"' status=1 out~'points up'
verdict "a room beside" src/store/store.c '#include "sim/sim.h"' status=1 out~'points up'
verdict "the daemon does not include the simulator" src/daemon/main.c '#include "sim/sim.h"' status=1 \
    out~'points up'
verdict "not from src/" src/model/fit.c '#include "fit.h"' status=1 out~'as "model/fit.h"'
verdict "no such room" src/model/fit.c '#include "../secret/x.h"' status=1 out~'no room \.\.'
verdict "an unknown room" src/attic/x.c '' status=1 out~'room attic is not in the table'
verdict "the public header includes no other header" include/pollux/pollux.h '#include "base/error.h"' \
    status=1 out~'public header'
verdict "no JSON in the model" src/model/fit.c '#include <jansson.h>' status=1 \
    out~'<jansson.h> is for wire .*cli, not for model'
verdict "a decision reads no clock" src/policy/ga.c '#include <time.h>' status=1 out~'not for policy'
verdict "a decision opens no socket" src/policy/ga.c '#include <sys/socket.h>' status=1 \
    out~'not for policy'
