# SPDX-License-Identifier: Apache-2.0
# make deb builds packages with the header's version, and their files are in Debian's folders.
. tests/cli/lib.sh
unset MAKEFLAGS MAKELEVEL

version=$(sed -n 's/^#define POLLUX_VERSION "\(.*\)"/\1/p' include/pollux/pollux.h)
run make deb
expect "make deb" status=0 out~"build/deb/pollux_$version"
packages=(build/deb/{pollux,libpollux1,libpollux-dev,python3-pollux}_"$version"_*.deb)
for package in "${packages[@]}"; do
    check "unpacks: $(basename "$package")" dpkg-deb -x "$package" "$tmp/root"
done

libdir=usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)
for file in usr/bin/pollux usr/include/pollux/pollux.h "$libdir"/libpollux.{a,so,so.1} \
    "$libdir/pkgconfig/pollux.pc" usr/share/man/man1/pollux.1.gz usr/share/man/man3/pollux.3.gz \
    usr/share/bash-completion/completions/pollux usr/share/doc/{pollux,libpollux1}/copyright; do
    check "packaged: $file" [ -e "$tmp/root/$file" ]
done
check "packaged: the Python package, whole" diff -r -x __pycache__ bindings/python/pollux \
    "$tmp/root/usr/lib/python3/dist-packages/pollux"
run env LD_LIBRARY_PATH="$tmp/root/$libdir" PYTHONPATH="$tmp/root/usr/lib/python3/dist-packages" \
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c 'import pollux.agent; print(pollux.agent.world())'
expect "the packaged Python package runs" status=0 out~'replicas=1'
run dpkg-deb -f build/deb/python3-pollux_"$version"_all.deb Depends Suggests
expect "it depends on Python and the library, and suggests torch" status=0 \
    out~'^Depends: libpollux1 \(.*python3' out~'^Suggests: .*python3-torch' out!'^Depends:.*torch'
check "the packaged programs have the page" grep -q 'PAGE_BUILT 1' "build/deb/pollux-$version/build/web/page_built.h"
# A tree whose page could not be built, and a build that does nothing.
mkdir -p "$tmp/bin" "$tmp/tree/build/web"
printf '#!/bin/sh\n' >"$tmp/bin/dh_auto_build"
chmod +x "$tmp/bin/dh_auto_build"
echo '#define PAGE_BUILT 0 /* no packages */' >"$tmp/tree/build/web/page_built.h"
run env PATH="$tmp/bin:$PATH" make -s -C "$tmp/tree" -f "$PWD/debian/rules" override_dh_auto_build
expect "no package is built without the page" status=2 err~'page is missing'
run env PATH="$tmp/bin:$PATH" DEB_BUILD_PROFILES=nopage make -s -C "$tmp/tree" -f "$PWD/debian/rules" override_dh_auto_build
expect "unless that was asked for" status=0 err=
check "the packaged command runs" "$tmp/root/usr/bin/pollux" --version
run dpkg-deb -f build/deb/libpollux1_"$version"_*.deb Depends
expect "the library needs libc only" status=0 out~'^libc6 \([^,]*\)$'
# tools/setup and debian/control both list the build dependencies; make, gcc and libc6-dev are part of every
# Debian build.
for package in $(tools/setup --list build | grep -v -x -E 'make|gcc|libc6-dev'); do
    check "debian/control requires $package" grep -q -E "^ +$package\b" debian/control
done
if command -v lintian >/dev/null; then
    run lintian --fail-on error,warning "${packages[@]}"
    expect "lintian finds no error" status=0
fi
