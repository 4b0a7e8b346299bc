# SPDX-License-Identifier: Apache-2.0
# The libraries export pollux_ names only, and need libc and libm only.
. tests/cli/lib.sh

shared=build/libpollux.so static=build/libpollux.a
# The linker adds symbols such as _end to every shared library.
names()
{
    nm "$@" | awk 'NF == 3 { print $3 }' | grep -v -x -E '_init|_fini|_end|_edata|__bss_start' | sort
}
# Preprocessed: a function in a comment does not count.
declared=$(gcc -E -P -Iinclude include/pollux/pollux.h | grep -o -E '\bpollux_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u)

run names -D --defined-only $shared
expect "the shared library exports pollux_ names" status=0 out~'^pollux_version$'
check "the shared library exports what the header declares, nothing else" \
    diff <(echo "$declared") <(echo "$out")
run names -g --defined-only $static
check "the static library exports the same" diff <(echo "$declared") <(echo "$out")

run readelf -d $shared
expect "the soname has the version of the interface" status=0 out~'SONAME.*\[libpollux\.so\.1\]'
needed=$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' <<<"$out" | grep -v -E '^(libc|libm|ld-linux.*)\.so')
check "the shared library needs libc and libm only" [ -z "$needed" ]
