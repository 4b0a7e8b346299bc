# SPDX-License-Identifier: Apache-2.0
# pkg-config finds an installed Pollux; C and C++ programs compile and link with its shared and static library; make
# uninstall removes all of its files.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL

root=$tmp/root
version=$(sed -n 's/^#define POLLUX_VERSION "\(.*\)"/\1/p' include/pollux/pollux.h)
run make -s install DESTDIR="$root" PREFIX=/opt/pollux
expect "make install" status=0

for file in bin/pollux include/pollux/pollux.h include/pollux/agent.h include/pollux/checkpoint.h include/pollux/mpi.h lib/libpollux.a lib/libpollux.so \
    lib/libpollux.so.1 lib/pkgconfig/pollux.pc share/man/man1/pollux.1 share/man/man3/pollux.3 \
    share/bash-completion/completions/pollux share/zsh/site-functions/_pollux \
    share/fish/vendor_completions.d/pollux.fish; do
    check "installed: $file" [ -s "$root/opt/pollux/$file" ]
done
check "libraries with other sonames are left alone" [ ! -L "$root/opt/pollux/lib/libpollux.so.1" ]
check "the installed command runs" "$root/opt/pollux/bin/pollux" --version

# No Python searches this prefix: the folder is the one that Debian's Python would use.
folder=$root/opt/pollux/lib/python3/dist-packages
check "installed: the Python package, whole" diff -r -x __pycache__ bindings/python/pollux "$folder/pollux"
run env -u POLLUX_BUILD PATH="$root/opt/pollux/bin:$PATH" PYTHONPATH="$folder" "$(tools/find-python numpy)" -c '
import pollux, pollux.agent
print(pollux._library.library()._name)
print(pollux.command.command())
print(pollux.agent.Agent(64).world())'
expect "the installed Python package finds its library and the command" status=0 \
    out~"^$root/opt/pollux/lib/libpollux.so.1$" out~"^$root/opt/pollux/bin/pollux$" out~'replicas=1'
run tools/find-python --folder /usr/local
expect "a folder that Python searches" status=0 out~'^/usr/local/lib/python3'
run make -s install DESTDIR="$tmp/other" PREFIX=/opt/pollux PYTHONDIR=/somewhere
expect "make install with PYTHONDIR" status=0
check "installed in PYTHONDIR" [ -s "$tmp/other/somewhere/pollux/__init__.py" ]

export PKG_CONFIG_LIBDIR=$root/opt/pollux/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
check "pkg-config has the version" [ "$(pkg-config --modversion pollux)" = "$version" ]

# build_and_run NAME COMPILER...: compile the example with the installed files, then run it.
build_and_run()
{
    local name=$1
    shift
    run "$@" -Wall -Werror -o "$tmp/advise"
    expect "$name: compiles and links" status=0
    LD_LIBRARY_PATH=$root/opt/pollux/lib run "$tmp/advise"
    expect "$name: runs" status=0 out~"^libpollux $version"
}
# shellcheck disable=SC2046
{
    build_and_run "C" gcc -std=c11 examples/advise.c $(pkg-config --cflags --libs pollux)
    build_and_run "C++" g++ -std=c++20 -x c++ examples/advise.c -x none $(pkg-config --cflags --libs pollux)
    rm "$root"/opt/pollux/lib/libpollux.so*
    build_and_run "static" gcc examples/advise.c $(pkg-config --cflags --libs --static pollux)
}

make -s install DESTDIR="$root" PREFIX=/opt/pollux >"$tmp/log" 2>&1
run make -s uninstall DESTDIR="$root" PREFIX=/opt/pollux
expect "make uninstall" status=0
check "no folder of the Python package is left" [ ! -e "$folder/pollux" ]
check "nothing is left behind" [ -z "$(find "$root" -not -type d)" ]
