# SPDX-License-Identifier: Apache-2.0
# tools/setup does nothing where all is there, and elsewhere names what is missing and asks the
# package manager for exactly that.  Machines that lack things are played by a PATH with little in it.
. tests/cli/lib.sh

run tools/setup test
expect "does nothing when all is there" status=0 out= err=
run tools/setup --check build
expect "finds all that a build needs" status=0 out= err=
run tools/setup everything
expect "an unknown set" status=2 err~'^usage'

# A tree of its own, whose log may be spoilt.
setup=$tmp/tree/tools/setup
mkdir -p "$tmp/tree/tools"
cp tools/setup tools/find-python "$tmp/tree/tools"
bin=$tmp/bin
mkdir "$bin"
for tool in bash cat dirname env grep id mkdir mktemp rm sed tail touch uname; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done

run env PATH="$bin" "$setup" --check build
expect "names what a build misses" status=1 err~'^  gcc +the C compiler' err~'^  libjansson-dev'
run env PATH="$bin" "$setup" build
expect "no Debian" status=1 err~'no Debian' err~'^  gcc'

# A Python that has torch, but no pytest, is the one that gets it.
printf '#!/bin/bash\n[[ " $* " != *" pytest "* ]]\n' >"$tmp/python"
chmod +x "$tmp/python"
PYTHON=$tmp/python run tools/setup --check test
expect "names a module that Python misses" status=1 err~'^  python3-pytest' err!'python3-torch'
run tools/find-python torch numpy pytest
expect "finds a Python that has them all" status=0
check "which it has" "$out" -c 'import torch, numpy, pytest'
run tools/find-python no_such_module
expect "no Python has that" status=1 out= err~'no_such_module.*tools/setup'
PYTHON=/bin/false run tools/find-python sys
expect "a given Python is the only one" status=1 err~'looked at /bin/false'

# A package manager that knows nothing before its first update, and notes what it is asked.
cat >"$bin/apt-get" <<'END'
#!/bin/bash
echo "$*" >>"$NOTES"
[ -e "$NOTES.updated" ] && exit 0
[[ " $* " == *" update "* ]] && touch "$NOTES.updated" && exit 0
echo "E: Unable to locate package"
exit 100
END
printf '#!/bin/bash\n[ "$1" != -n ] || shift; exec "$@"\n' >"$bin/sudo"
chmod +x "$bin/apt-get" "$bin/sudo"
run env PATH="$bin" NOTES="$tmp/notes" "$setup" build
expect "says what it installs and why" status=0 out~'^  gcc +the C compiler'
check "updates the lists when they do not help" grep -q 'update' "$tmp/notes"
check "asks for the missing packages" grep -q 'install.* gcc libc6-dev libjansson-dev' "$tmp/notes"
check "asks no questions" grep -q -- '-y' "$tmp/notes"

printf '#!/bin/bash\necho "E: no network"\nexit 100\n' >"$bin/apt-get"
run env PATH="$bin" "$setup" build
expect "a failure is explained" status=1 err~'E: no network' err~'build/log/setup.log'
