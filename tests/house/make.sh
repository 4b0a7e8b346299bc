# SPDX-License-Identifier: Apache-2.0
# The makefile builds again what depends on a changed file, header or flag, and nothing else.
# make -q: status 0 if everything is up to date, 1 if something would be built.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL
ask() { make -q build/pollux build/libpollux.a build/libpollux.so "$@"; }

make -s all >"$tmp/log" 2>&1
run ask
expect "after a build everything is up to date" status=0
run ask -W src/base/error.c
expect "a changed source is compiled again" status=1
run ask -W src/base/error.h
expect "files that include a changed header are compiled again" status=1
run ask -W README.md
expect "a changed text compiles nothing" status=0
run ask CFLAGS=-O1
expect "other flags compile everything again" status=1
run ask CC=clang
expect "another compiler compiles everything again" status=1
run ask LIB_ROOMS=base
expect "a library of other rooms is built again" status=1
run ask SOVERSION=99
expect "a library with another soname is built again" status=1

run make help
expect "make help lists the targets" status=0 out~'^  test ' out~'^  demo ' out~'^  install ' out~'^  deb '
