# SPDX-License-Identifier: Apache-2.0
# Without npm, make builds everything but the page and says so once; with npm, the next make builds it.  polluxd has the page
# in it.
. tests/cli/lib_daemon.sh
unset MAKEFLAGS MAKELEVEL

# get PATH: its answer, as text.
get() { curl -s -i --compressed -H "Authorization: Bearer $(cat "$state/admin.token")" "$(cat "$state/address")$1"; }

# ---- Without npm --------------------------------------------------------------------------------

# All commands of this machine but npm.
mkdir "$tmp/bin"
for folder in /bin /usr/bin /usr/local/bin; do
    for program in "$folder"/*; do
        [[ ${program##*/} == npm* ]] || ln -sf "$program" "$tmp/bin"
    done
done

# A copy of the build: only what depends on the page is built again.
mkdir "$tmp/build"
make -s all >"$tmp/log" 2>&1
cp -a build/obj build/rooms.a build/flags build/parts build/checked build/pollux build/polluxd "$tmp/build"
build() { PATH=$1 make -s B="$tmp/build" PAGE="$tmp/page" "$tmp/build/polluxd"; }

run build "$tmp/bin"
expect "make says that the page is missing, and how to get it" status=0 out~'^The page is not built: npm is missing.*tools/setup web'
run build "$tmp/bin"
expect "it says so once" status=0 out= err=
POLLUXD="$tmp/build/polluxd" start_daemon --backend fake
run get /
expect "its polluxd has no page, and says why" status=0 out~'^HTTP/1.1 404' out~'built without its page'
run get /v1/status
expect "it has everything else" status=0 out~'^HTTP/1.1 200'
stop_daemon

# npm that cannot install packages.
mkdir "$tmp/broken"
printf '#!/bin/sh\nexit 1\n' >"$tmp/broken/npm"
chmod +x "$tmp/broken/npm"
mkdir "$tmp/tree" "$tmp/tree/tools"
tar -c --exclude=node_modules web | tar -x -C "$tmp/tree"
cp tools/page "$tmp/tree/tools"
run env PATH="$tmp/broken:$PATH" "$tmp/tree/tools/page" build/web
expect "packages that cannot be installed" status=0 out~'^The page is not built: npm cannot install' err=
check "that is not an error of the build" grep -q 'PAGE_BUILT 0' "$tmp/tree/build/web/page_built.h"
run env PATH="$tmp/broken:$PATH" "$tmp/tree/tools/page" build/web
expect "that is said once, too" status=0 out= err=

# ---- With npm -----------------------------------------------------------------------------------

run build "$PATH"
expect "with npm the page is built" status=0 out= err=
check "by the next make" grep -q 'PAGE_BUILT 1' "$tmp/page/page_built.h"
# Another text than that of build/web.
echo '/* of this test */' >>"$tmp/page/page.js"
gzip -9 -n -c "$tmp/page/page.js" >"$tmp/page/page.js.gz"
touch "$tmp/page/page_built.h"
run build "$PATH"
expect "a page that has changed is put into polluxd" status=0 out= err=
POLLUXD="$tmp/build/polluxd" start_daemon --backend fake
run get /
expect "polluxd serves the page" status=0 out~'^HTTP/1.1 200' out~'^<!doctype html>' out~'Content-Security-Policy: default-src .none.'
holds "it is the one that was built" diff <(curl -s --compressed "$(cat "$state/address")/assets/page.js") "$tmp/page/page.js"
stop_daemon
