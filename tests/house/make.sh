# SPDX-License-Identifier: Apache-2.0
# The makefile builds again what depends on a changed file, header or flag, and nothing else.
# make -q: status 0 if everything is up to date, 1 if something would be built.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL
ask() { make -q build/pollux build/libpollux.a build/libpollux.so "$@"; }

make -s all >"$tmp/log" 2>&1
run ask
expect "everything is up to date" status=0
run ask -W src/base/error.c
expect "a source is compiled again" status=1
run ask -W src/base/error.h
expect "so is what includes a header" status=1
run ask -W README.md
expect "but not after a change of a text" status=0
run ask CFLAGS=-O1
expect "other flags build everything again" status=1
run ask CC=clang
expect "so does another compiler" status=1
run ask LIB_ROOMS=base
expect "so does a removed part" status=1

run make help
expect "make help lists the targets" status=0 out~'^  test ' out~'^  demo ' out~'^  install ' out~'^  deb '
