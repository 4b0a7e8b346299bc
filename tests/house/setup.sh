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
cp tools/setup "$setup"
bin=$tmp/bin
mkdir "$bin"
for tool in bash cat dirname env grep id mkdir mktemp rm sed tail touch uname; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done

run env PATH="$bin" "$setup" --check build
expect "names what a build misses" status=1 err~'^  gcc +the C compiler' err~'^  libjansson-dev'
run env PATH="$bin" "$setup" build
expect "no Debian" status=1 err~'no Debian' err~'^  gcc'

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
