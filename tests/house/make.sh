# SPDX-License-Identifier: Apache-2.0
# The makefile makes again what has changed, by a file, a header or a flag, and nothing else.  Asked with
# make -q: 0 if all is up to date, 1 if something would be made.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL
ask() { make -q build/pollux build/libpollux.a build/libpollux.so "$@"; }

make -s all >"$tmp/log" 2>&1
run ask
expect "nothing is left to do" status=0
run ask -W src/base/error.c
expect "a source is made again" status=1
run ask -W src/base/error.h
expect "so is what includes a header" status=1
run ask -W README.md
expect "but not for a text" status=0
run ask CFLAGS=-O1
expect "other flags make all again" status=1
run ask CC=clang
expect "so does another compiler" status=1
run ask LIB_ROOMS=base
expect "so does a part that is gone" status=1

run make help
expect "make help lists the targets" status=0 out~'^  test ' out~'^  demo ' out~'^  install ' out~'^  deb '
