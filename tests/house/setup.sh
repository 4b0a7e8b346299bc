# SPDX-License-Identifier: Apache-2.0
# tools/setup does nothing where everything is usable.  Elsewhere it names what is missing and asks the package
# manager for exactly that.  Half-installed libraries, commands that do not run and machines without tools are
# simulated with doubles: header folders, library folders, a compiler without a library, a short PATH.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL CC CPPFLAGS CFLAGS LDFLAGS PYTHON

run tools/setup test
expect "does nothing when everything is there" status=0 out= err=
run tools/setup --check build
expect "finds everything that a build needs" status=0 out= err=
run tools/setup everything
expect "an unknown set" status=2 err~'^usage'
run tools/setup --list soak
expect "soak includes all sets" status=0 out~'^gcc$' out~'^jq$' out~'^libcmocka-dev$' out~'^debootstrap$' out~'^chromium$'
run tools/setup --list web
expect "web has what the page and its tests need" status=0 out~'^npm$' out~'^chromium$' out~'^prometheus$' out!'^libcmocka-dev$'
run tools/setup --list build
expect "a build needs no npm" status=0 out!'npm'

# ---- Half-installed libraries -------------------------------------------------------------------

# only NAME PACKAGE DETAIL: the last run found this package missing, for this reason, and no other.
only()
{
    expect "$1" status=1 out= err~"^  $2 .*\[.*$3" err~"apt-get install $2\$|names"
}

# The compiler of a machine that has all headers, but not the library $HIDDEN.
cat >"$tmp/cc" <<'END'
#!/bin/bash
for word; do
    [ "$word" != "-l$HIDDEN" ] || { echo "/usr/bin/ld: cannot find $word: No such file or directory" >&2; exit 1; }
done
exec gcc "$@"
END
chmod +x "$tmp/cc"
for library in jansson:libjansson-dev microhttpd:libmicrohttpd-dev tinfo:libncurses-dev; do
    run env CC="$tmp/cc" HIDDEN="${library%:*}" tools/setup --check build
    only "a header without its library: ${library%:*}" "${library#*:}" "cannot find -l${library%:*}"
done
run env CC="$tmp/cc" HIDDEN=openblas tools/setup --check demo
only "the header <cblas.h>, but no OpenBLAS" libopenblas-dev 'cannot find -lopenblas'

# libblas-dev has a <cblas.h>, too.
mkdir -p "$tmp/blas" "$tmp/old/curl" "$tmp/none"
echo 'void cblas_sgemm (int, ...);' >"$tmp/blas/cblas.h"
run env CPPFLAGS="-I$tmp/blas" tools/setup --check demo
only "the header of another BLAS" libopenblas-dev openblas_set_num_threads
ar rcs "$tmp/none/libopenblas.a"
run env LDFLAGS="-L$tmp/none" tools/setup --check demo
only "another library of that name" libopenblas-dev 'undefined reference'
printf '#include_next <curl/curl.h>\n#undef LIBCURL_VERSION_NUM\n#define LIBCURL_VERSION_NUM 0x074000\n' >"$tmp/old/curl/curl.h"
run env CPPFLAGS="-I$tmp/old" tools/setup --check build
only "a version that is too old" libcurl4-openssl-dev 'curl is too old'

run env CC=nosuchcc tools/setup --check build
expect "a compiler that does not exist: no library is blamed" status=1 out= err~"does not run: CC='nosuchcc'" err!'jansson'
mkdir "$tmp/it's a folder"
run env TMPDIR="$tmp/it's a folder" tools/setup --check build
expect "a temporary folder with blanks and a quote" status=0 out= err=
check "nothing is left in it" [ -z "$(ls -A "$tmp/it's a folder")" ]

run make B="$tmp/build" CPPFLAGS="-I$tmp/old" "$tmp/build/checked"
expect "make names it before it compiles, with the flags of its caller" status=2 err~'^  libcurl4-openssl-dev .*too old'
run make B="$tmp/build" LDFLAGS="-L$tmp/none" examples
expect "make examples names it, too" status=2 err~'^  libopenblas-dev'

# ---- Commands and Python modules ----------------------------------------------------------------

mkdir "$tmp/broken" "$tmp/broken/torch"
printf '#!/bin/sh\nexit 127\n' >"$tmp/broken/jq"
chmod +x "$tmp/broken/jq"
run env PATH="$tmp/broken:$PATH" tools/setup --check demo
only "a command that does not run" jq "does not run"
cp "$tmp/broken/jq" "$tmp/broken/promtool"
rm "$tmp/broken/jq"
run env PATH="$tmp/broken:$PATH" tools/setup --check web
only "a Prometheus without its promtool" prometheus "does not run"

# Debian's Python, with a torch that is installed but cannot be imported.
echo 'raise ImportError("libtorch.so: cannot open shared object file")' >"$tmp/broken/torch/__init__.py"
run env PYTHON=/usr/bin/python3 PYTHONPATH="$tmp/broken" tools/setup --check test
only "a module that cannot be imported" python3-torch 'libtorch.so: cannot open'
run tools/find-python torch numpy pytest
expect "finds a Python that has them all" status=0
check "that Python imports them" "$out" -c 'import torch, numpy, pytest'
# First on PATH: a Python without Debian's packages.
mkdir "$tmp/other"
printf '#!/bin/sh\nexec /usr/bin/python3 -I -S "$@"\n' >"$tmp/other/python3"
chmod +x "$tmp/other/python3"
if /usr/bin/python3 -c 'import torch, numpy, pytest' 2>/dev/null; then
    run env PATH="$tmp/other:$PATH" tools/find-python torch
    expect "another Python first on PATH" status=0 out=/usr/bin/python3
    run env PATH="$tmp/other:$PATH" tools/setup --check test
    expect "tools/setup accepts that Python" status=0 out= err=
fi
run tools/find-python no_such_module
expect "no Python has that module" status=1 out= err~'no_such_module.*tools/setup'
PYTHON=/bin/false run tools/find-python sys
expect "PYTHON is the only candidate" status=1 err~'tried /bin/false'

# ---- Installing ---------------------------------------------------------------------------------

# A tree of its own, with its own log, on a machine that has these commands only.
# Files in $bin are overwritten and removed: an empty $tmp would make it /bin.
setup=${tmp:?}/tree/tools/setup bin=${tmp:?}/bin
mkdir -p "$tmp/tree/tools" "$tmp/tree/src/agent" "$tmp/tree/include/pollux" "$bin" "$tmp/packages"
cp tools/setup tools/find-python "$tmp/tree/tools"
cp Makefile "$tmp/tree"
cp include/pollux/pollux.h "$tmp/tree/include/pollux"
for tool in bash cat cp dirname env grep id mkdir mktemp rm sed tail touch true; do
    ln -s "$(type -P $tool)" "$bin/$tool" # not the builtin
done

run env PATH="$bin" "$setup" --check build
expect "names what a build misses" status=1 err~'^  make ' err~'^  gcc +the C compiler' err~'^  libxxhash-dev'
run env PATH="$bin" "$setup" build
expect "no apt-get" status=1 err~'has no apt-get' err~'^  gcc'

# A package manager that has no lists before its first update, records its arguments and installs the
# commands in $INSTALLS.
cat >"$bin/apt-get" <<'END'
#!/bin/bash
echo "$*" >>"$NOTES"
[[ " $* " != *" update "* ]] || touch "$NOTES.updated"
[ -e "$NOTES.updated" ] || { echo "E: Unable to locate package"; exit 100; }
[[ " $* " != *" install "* || ! -d $INSTALLS ]] || cp -P "$INSTALLS"/* "${0%/*}"
END
printf '#!/bin/bash\n[ "$1" != -n ] || shift; exec "$@"\n' >"$bin/sudo"
chmod +x "$bin/apt-get" "$bin/sudo"
run env PATH="$bin" NOTES="$tmp/notes" INSTALLS= "$setup" build
expect "says what it installs and why; tests it afterwards" status=1 out~'^  gcc +the C compiler' \
    err~'Installed, but still not usable' err~'^  gcc'
check "updates the lists when the first attempt fails" grep -q 'update' "$tmp/notes"
check "requests the missing packages" grep -q 'install.* make gcc libc6-dev libxxhash-dev' "$tmp/notes"
check "asks no questions" grep -q -- '-y' "$tmp/notes"

for tool in make gcc as ld sh; do ln -s "$(command -v $tool)" "$tmp/packages/$tool"; done
run env PATH="$bin" NOTES="$tmp/notes" INSTALLS="$tmp/packages" "$setup" build
expect "everything is usable after the installation" status=0 out~'^  libxxhash-dev' err=
rm "$tmp/notes"
run env PATH="$bin" NOTES="$tmp/notes" INSTALLS= "$setup" build
expect "a second run installs nothing" status=0 out= err=
check "a second run does not call the package manager" [ ! -e "$tmp/notes" ]

rm "$bin/gcc"
printf '#!/bin/bash\necho "E: no network"\nexit 100\n' >"$bin/apt-get"
run env PATH="$bin" "$setup" build
expect "a failure is explained" status=1 err~'E: no network' err~'build/log/setup.log'
