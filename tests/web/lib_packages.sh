# SPDX-License-Identifier: Apache-2.0
# web_packages: install the npm packages of the tests with a browser, once; they stay in tests/web/node_modules.  Start it in the
# root of the repository.
web_packages()
{
    local installed=tests/web/node_modules/.package-lock.json
    [ -e $installed ] && [ ! tests/web/package-lock.json -nt $installed ] && return 0
    mkdir -p build/log
    (
        flock 9
        [ -e $installed ] && [ ! tests/web/package-lock.json -nt $installed ] && exit 0
        cd tests/web && npm ci && touch node_modules/.package-lock.json
    ) 9>build/log/npm.lock >build/log/npm-tests.log 2>&1 && return 0
    echo "npm cannot install the packages of tests/web; see build/log/npm-tests.log"
    tail -n 5 build/log/npm-tests.log
    return 1
}
