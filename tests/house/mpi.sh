# SPDX-License-Identifier: Apache-2.0
# Replicas under mpirun use one agent (pollux/mpi.h): all get the same advice, a signal to one of
# them stops all after the same update, and training resumes with another number of replicas.
. tests/cli/lib.sh

if ! command -v mpicc mpirun >/dev/null; then
    skip "replicas under MPI: mpicc or mpirun is missing"
    exit 0
fi
run mpicc -Wall -Wextra -Werror -Iinclude tests/house/replicas.c build/libpollux.a -lm -pthread -o "$tmp/replicas"
expect "compiles with mpi.h" status=0
if command -v mpicxx >/dev/null; then
    run mpicxx -std=c++11 -DOMPI_SKIP_MPICXX -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - <<<'#include <pollux/mpi.h>'
    expect "mpi.h compiles as C++" status=0
fi

# replicas K ARGUMENT...: run K replicas.
replicas()
{
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_mpi_yield_when_idle=1 timeout 60 mpirun -n "$1" "$tmp/replicas" "${@:2}"
}
# The number of different lines, without the rank and the samples.
agreed()
{
    sed 's/^[0-9]* of//; s/, seen .*//' <<<"$out" | sort -u | wc -l
}

run replicas 3 40 "$tmp/checkpoints" 2
expect "three replicas, one gets SIGTERM" status=0 out~'2 of 3: 21 updates, stop'
check "all stop after the same update, with the same advice" [ "$(agreed)" = 1 ]
run replicas 2 60 "$tmp/checkpoints"
expect "two replicas continue from there" status=0 out~'0 of 2: 60 updates, go' out~'1 of 2: 60 updates, go'
check "both have the same advice" [ "$(agreed)" = 1 ]
run replicas 1 61 "$tmp/checkpoints"
expect "one replica continues" status=0 out~'0 of 1: 61 updates, go'
