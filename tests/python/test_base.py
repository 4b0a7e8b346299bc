# SPDX-License-Identifier: Apache-2.0
"""The package without pollux.torch: structures and signatures agree with the headers; the library
is found, or the error names the places searched; agent state and checkpoints can be restored."""
from __future__ import annotations

import ctypes
import errno
import json
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import pollux
from pollux import PolluxError, _library
from pollux.agent import Agent, Batch, Verdict, World, world
from pollux.checkpoint import Checkpoint, indices


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run code in another Python process."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# ---- The headers ------------------------------------------------------------------------------


def fields(structure, path=""):
    """Name, offset and size of all fields of a structure, also of structures inside it."""
    for name, kind in structure._fields_:
        field = getattr(structure, name)
        yield path + name.rstrip("_"), field.offset, field.size
        if issubclass(kind, ctypes.Structure):
            for inner, offset, size in fields(kind, path + name + "."):
                yield inner, field.offset + offset, size


def test_structures_match_c(root, tmp_path):
    places = [
        (c_name, name, offset, size)
        for c_name, structure in _library.STRUCTURES.items()
        for name, offset, size in fields(structure)
    ]
    lines = [
        f'printf ("%zu %zu\\n", offsetof (struct {c_name}, {name}), '
        f"sizeof (((struct {c_name} *)0)->{name}));"
        for c_name, name, _, _ in places
    ] + [f'printf ("%zu\\n", sizeof (struct {name}));' for name in _library.STRUCTURES]
    source = tmp_path / "sizes.c"
    source.write_text(
        "#include <pollux/pollux.h>\n#include <stdio.h>\nint main (void)\n{\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    subprocess.run(
        ["gcc", f"-I{root}/include", str(source), "-o", str(tmp_path / "sizes")], check=True
    )
    output = subprocess.check_output([str(tmp_path / "sizes")], text=True).splitlines()
    expected = [f"{offset} {size}" for _, _, offset, size in places]
    expected += [str(ctypes.sizeof(structure)) for structure in _library.STRUCTURES.values()]
    for place, want, got in zip([*places, *_library.STRUCTURES], expected, output):
        assert want == got, place
    assert len(expected) == len(output)


def header_text(root):
    """The text of the headers of the library, without comments."""
    text = ""
    for name in ("pollux", "agent", "checkpoint"):
        text += (root / "include" / "pollux" / f"{name}.h").read_text()
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def test_every_function_is_bound(root):
    arguments = {
        name: list_.count(",") + (list_.strip() != "void")
        for name, list_ in re.findall(r"\b(pollux_\w+) \(([^()]*)\);", header_text(root))
    }
    assert len(arguments) > 60
    bound = {name: len(args) for name, (_, args) in _library.SIGNATURES.items()}
    assert bound == arguments


def test_every_structure_is_bound(root):
    assert set(re.findall(r"struct (pollux_\w+) \{", header_text(root))) == set(_library.STRUCTURES)


def test_sizes_belong_to_the_soname():
    """A program that was compiled with other sizes must not load this library: a released
    structure changes its size with SOVERSION of the makefile only."""
    sizes = {name[7:]: ctypes.sizeof(kind) for name, kind in _library.STRUCTURES.items()}
    assert (_library.SONAME, sizes) == ("libpollux.so.1", dict(
        error=256, model=56, grad=24, shape=8, batch=16, limits=40, best=24, sample=40, fit=80,
        adam=24, pair=16, rate=40, world=20, setup=160, advice=40, status=264, sampler=32))


def test_versions_agree(root):
    header = (root / "include" / "pollux" / "pollux.h").read_text()
    version = re.search(r'#define POLLUX_VERSION "(.*)"', header).group(1)
    assert pollux.__version__ == version
    assert _library.library().pollux_version().decode() == version


def test_verdicts_match_c(root):
    names = re.search(r"enum pollux_verdict \{(.*?)\}", header_text(root), re.S).group(1)
    assert re.findall(r"POLLUX_(\w+)", names) == [verdict.name for verdict in Verdict]


# ---- Finding the library ----------------------------------------------------------------------


def test_library_named_by_variable(build, tmp_path):
    copy = tmp_path / "copy.so"
    shutil.copy(build / "libpollux.so", copy)
    code = "from pollux import _library; print(_library.library()._name)"
    assert python(code, POLLUX_LIBRARY=str(copy)).stdout.strip() == str(copy)
    missing = python(code, POLLUX_LIBRARY=str(tmp_path / "none.so"))
    assert "PolluxError: POLLUX_LIBRARY does not load" in missing.stderr
    assert "none.so" in missing.stderr


def test_library_not_found(tmp_path):
    shutil.copytree(os.path.dirname(pollux.__file__), tmp_path / "lib" / "x" / "pollux")
    code = "import sys, pollux.agent; sys.argv; pollux.agent.world()"
    environment = {"PYTHONPATH": str(tmp_path / "lib" / "x"), "POLLUX_BUILD": ""}
    found = python("import ctypes; ctypes.CDLL('libpollux.so.1')")
    if found.returncode == 0:
        pytest.skip("libpollux is installed on this machine")
    output = python(code, **environment).stderr.splitlines()[-1]
    assert "libpollux was not found; install libpollux1" in output
    assert f"{tmp_path}/lib/libpollux.so.1 (not there)" in output
    output = python(code, **{**environment, "POLLUX_BUILD": str(tmp_path)}).stderr.splitlines()[-1]
    assert "run `make` there" in output and f"{tmp_path}/libpollux.so (not there)" in output


def test_library_next_to_an_installed_package(build, tmp_path):
    lib = tmp_path / "lib"
    shutil.copytree(os.path.dirname(pollux.__file__), lib / "python3" / "dist-packages" / "pollux")
    shutil.copy(build / "libpollux.so", lib / "libpollux.so.1")
    code = "from pollux import _library; print(_library.library()._name)"
    done = python(code, PYTHONPATH=str(lib / "python3" / "dist-packages"), POLLUX_BUILD="")
    assert done.stdout.strip() == str(lib / "libpollux.so.1")


def test_library_too_old():
    libc = "libc.so.6"
    output = python("import pollux.agent; pollux.agent.world()", POLLUX_LIBRARY=libc).stderr
    assert "libc.so.6 has no pollux_version: it is older than this package" in output


def test_import_does_not_load_the_library():
    done = python(
        "import sys, pollux, pollux.agent, pollux.checkpoint\n"
        "assert pollux._library._loaded is None\n"
        "assert 'numpy' not in sys.modules and 'torch' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(PolluxError(22, "a sentence")))
    assert (error.code, str(error)) == (22, "a sentence")


# ---- The world --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, World(0, 0, 1, 1, 0)),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "POLLUX_NODES": "2"},
         World(3, 1, 2, 4, 0)),
        ({"RANK": "0", "WORLD_SIZE": "1", "POLLUX_GENERATION": "7"}, World(0, 0, 1, 1, 7)),
    ],
)
def test_world(monkeypatch, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert world() == expected


def test_invalid_world(monkeypatch):
    monkeypatch.setenv("RANK", "4")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(PolluxError, match="RANK") as caught:
        world()
    assert caught.value.code == 22


# ---- The agent --------------------------------------------------------------------------------


ONE_REPLICA, TWO_REPLICAS = World(0, 0, 1, 1, 0), World(0, 0, 1, 2, 0)


def agent_of(world=TWO_REPLICAS, **options):
    return Agent(64, max_batch=4096, local_batch=(1, 512), world=world, **options)


def update(agent, samples=None, micro=2.0, mean=1.5):
    agent.step_begin()
    if samples:
        agent.samples(samples)
    finite = agent.gradients(1, [micro] * agent.groups, [mean] * agent.groups)
    agent.decide()
    advice = agent.follow()
    agent.step_end()
    return finite, advice


def test_defaults():
    agent = Agent(64, world=TWO_REPLICAS)
    assert agent.world() == TWO_REPLICAS and agent.checkpoint_dir() is None
    assert len(agent.decide()) == 8 + agent.groups
    assert agent.follow() == (Batch(32, 0), Verdict.GO, False, 0.0, 0.0)


def test_a_full_update_and_a_short_one():
    agent = agent_of(fixed=Batch(64, 1))  # 4 times M0
    for number in range(16):  # without evidence the gain is 1
        assert update(agent) == (True, (Batch(64, 1), Verdict.GO, False, 1.0, number + 1.0))
    finite, advice = update(agent)
    assert finite and 1 < advice.gain < 4 and agent.factor(0) == advice.gain
    _, short = update(agent, samples=16)
    assert short.gain == 1 and agent.factor(0) == 1
    assert short.progress == advice.progress + 1
    with pytest.raises(PolluxError, match="step_begin"):
        agent.samples(16)


def test_update_that_is_not_finite_is_skipped():
    agent = agent_of()
    finite, advice = update(agent, micro=float("nan"))
    assert not finite and advice.skip and advice.progress == 0


def test_invalid_arguments_are_refused():
    agent = agent_of(groups=2)
    with pytest.raises(PolluxError, match="step_begin") as caught:
        agent.gradients(1, [1.0, 1.0], [1.0, 1.0])
    assert caught.value.code == 22
    agent.step_begin()
    with pytest.raises(ValueError):
        agent.gradients(1, [1.0], [1.0])
    with pytest.raises(PolluxError):
        agent.gradients(1, [1.0, 1.0], [5.0, 5.0])  # a sum, not a mean
    for options, word in [
        ({"max_batch": 1}, "max_batch"),
        ({"rule": "none"}, "no learning-rate rule"),
        ({"groups": 0}, "groups"),
        ({"observe": True}, "fixed"),
        ({"period_s": -1.0}, "period"),
    ]:
        with pytest.raises(PolluxError, match=word):
            Agent(64, world=TWO_REPLICAS, **options)


def test_single_gradients():
    agent = agent_of(ONE_REPLICA, fixed=Batch(64, 0))
    for step in range(3):
        agent.step_begin()
        assert agent.paired == (step > 0)
        assert agent.gradients_single(*([[0.5], [2.0]] if agent.paired else [None, None]))
        agent.decide()
        agent.follow()
        agent.step_end()
    status = agent.status()
    assert status.noise_biased and status.grad == (0.5, 1.0, 1.0) and status.noise_scale == 128


def test_numbers_are_broadcast_in_place():
    first, second = agent_of(), agent_of(World(1, 1, 1, 2, 0))
    with pytest.raises(PolluxError, match="broadcast"):
        second.follow()
    to = second.decide()
    for step in range(5):
        numbers = first.decide()
        to[:] = numbers[:]
        assert first.follow() == second.follow()
        assert second.decide() is to


def test_status_and_fit():
    agent = agent_of(period_s=1.0)
    status = agent.status()
    assert status.fit is None and status.best is None and status.noise_scale != status.noise_scale
    for _ in range(30):
        update(agent)
    status = agent.status()
    assert status.fit.model.gamma >= 1 and status.best.goodput > 0
    assert status.samples == 1 and status.max_profiled_replicas == 2
    assert status.grad == pytest.approx((1.0, 0.5, 4.0)) and status.progress == 30
    assert status.decision_grad == pytest.approx((1.0, 0.5, 4.0))
    assert agent.grads() == (status.grad[:2], status.decision_grad)
    assert status.report_error == 0


def test_state_round_trip():
    agent = agent_of(groups=3)
    for _ in range(5):
        update(agent)
    data = agent.save_state()
    other = agent_of(ONE_REPLICA, groups=3)
    other.restore_state(data)
    assert other.status().progress == 5 and other.status().grad == agent.status().grad
    assert other.save_state() == data
    for bad in (b"", b"none", data[:-1], bytes(len(data))):
        with pytest.raises(PolluxError):
            other.restore_state(bad)
    assert other.save_state() == data


def test_total_stop_and_fixed():
    agent = agent_of()
    agent.set_total(2)
    agent.set_fixed(Batch(32, 0))
    assert [update(agent)[1].verdict for _ in range(2)] == [Verdict.GO, Verdict.DONE]
    agent.set_total(0)
    agent.set_fixed(None)
    with pytest.raises(PolluxError):
        agent.set_fixed(Batch(-1, 0))
    assert not agent.stopping()
    agent.stop()
    assert agent.stopping() and update(agent)[1].verdict is Verdict.STOP


def test_signal_requests_a_stop():
    received = []
    before = signal.signal(signal.SIGUSR1, lambda *_: received.append(1))
    agent = agent_of()
    agent.catch(signal.SIGUSR1)
    with pytest.raises(PolluxError) as caught:
        agent.catch(signal.SIGUSR2)
    assert caught.value.code == 16
    os.kill(os.getpid(), signal.SIGUSR1)
    assert agent.stopping() and received == [1]
    agent.close()
    signal.signal(signal.SIGUSR1, before)


def test_calls_after_close_are_refused():
    agent = agent_of()
    agent.close()
    agent.close()
    for call in (agent.step_begin, agent.decide, agent.status, agent.save_state):
        with pytest.raises(ctypes.ArgumentError, match="this agent is closed"):
            call()


def test_last_report_at_exit_of_the_interpreter(tmp_path):
    path = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(path)
        server.settimeout(10)
        done = python(
            "from pollux.agent import Agent\n"
            "agent = Agent(64)\n"
            "for _ in range(3):\n"
            "    agent.step_begin(); agent.decide(); agent.follow(); agent.step_end()\n",
            POLLUX_SOCKET=path,
            POLLUX_GENERATION="1",
        )
        assert done.returncode == 0, done.stderr
        reports = []
        while not reports or reports[-1]["progress"] < 3:
            reports.append(json.loads(server.recv(65536)))
    assert reports[-1]["progress"] == 3 and reports[-1]["generation"] == 1


def test_checkpoint_dir(monkeypatch):
    monkeypatch.setenv("POLLUX_CHECKPOINT_DIR", "/some/where")
    assert agent_of().checkpoint_dir() == "/some/where"


# ---- Checkpoints ------------------------------------------------------------------------------


def save(directory, **files):
    with Checkpoint.begin(directory) as checkpoint:
        for name, data in files.items():
            checkpoint.write(name, data)
        checkpoint.commit(3)


def test_checkpoint_round_trip(tmp_path):
    directory = tmp_path / "checkpoints"
    assert Checkpoint.newest(directory) == (None, "")
    whole = os.urandom(100_000)
    for data in (b"one", bytearray(b"two"), memoryview(whole)[::1], b""):
        save(directory, model=data)
        newest, note = Checkpoint.newest(directory)
        assert newest.read("model") == bytes(data) and note == ""
    assert newest.number == 4
    assert sorted(os.listdir(directory)) == ["checkpoint-2", "checkpoint-3", "checkpoint-4"]


def test_checkpoint_of_files_written_directly(tmp_path):
    with Checkpoint.begin(tmp_path) as checkpoint:
        with open(os.path.join(checkpoint.path, "model.pt"), "wb") as file:
            file.write(b"by torch")
        assert checkpoint.number == 0
        checkpoint.commit(1)
        assert checkpoint.number == 1
    assert Checkpoint.newest(tmp_path)[0].read("model.pt") == b"by torch"


def test_incomplete_checkpoint_is_ignored(tmp_path):
    save(tmp_path, model=b"first")
    with Checkpoint.begin(tmp_path) as checkpoint:
        checkpoint.write("model", b"second")
    assert [str(path.name) for path in tmp_path.iterdir()] == ["checkpoint-1"]
    # A process that is killed while it writes leaves only its temporary folder.
    done = python(
        "import os, pollux.checkpoint as c\n"
        f"begun = c.Checkpoint.begin({str(tmp_path)!r})\n"
        "begun.write('model', b'third')\nos.kill(os.getpid(), 9)"
    )
    assert done.returncode == -9
    assert Checkpoint.newest(tmp_path)[0].read("model") == b"first"
    save(tmp_path, model=b"fourth")
    assert Checkpoint.newest(tmp_path)[0].number == 2


def test_old_generation_cannot_publish(tmp_path, monkeypatch):
    """A process is suspended before its commit; a newer generation reads; then it continues."""
    monkeypatch.setenv("POLLUX_CHECKPOINT_DIR", str(tmp_path))
    monkeypatch.setenv("POLLUX_GENERATION", "1")
    save(tmp_path, model=b"first")
    old = subprocess.Popen(
        [sys.executable, "-c",
         "import os, signal, pollux.checkpoint as c\n"
         f"with c.Checkpoint.begin({str(tmp_path)!r}) as begun:\n"
         "    begun.write('model', b'late')\n"
         "    os.kill(os.getpid(), signal.SIGSTOP)\n"
         "    begun.commit(1)\n"],
        stderr=subprocess.PIPE, text=True)
    assert os.WIFSTOPPED(os.waitpid(old.pid, os.WUNTRACED)[1])
    monkeypatch.setenv("POLLUX_GENERATION", "2")
    assert Checkpoint.newest(tmp_path)[0].read("model") == b"first"
    save(tmp_path, model=b"second")
    old.send_signal(signal.SIGCONT)
    assert "replaced by generation 2" in old.communicate()[1] and old.returncode == 1
    assert Checkpoint.newest(tmp_path)[0].read("model") == b"second"
    monkeypatch.setenv("POLLUX_GENERATION", "1")
    with pytest.raises(PolluxError) as refused:
        Checkpoint.newest(tmp_path)
    assert refused.value.code == errno.ESTALE


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "manifest"])
def test_damaged_checkpoint_is_skipped(tmp_path, damage):
    save(tmp_path, model=b"first" * 1000)
    save(tmp_path, model=b"second" * 1000)
    file = tmp_path / "checkpoint-2" / ("MANIFEST" if damage == "manifest" else "model")
    if damage == "remove":
        file.unlink()
    else:
        data = bytearray(file.read_bytes())
        if damage == "cut":
            data = data[:-1]
        else:
            data[len(data) // 2] ^= 1
        file.write_bytes(data)
    newest, note = Checkpoint.newest(tmp_path)
    assert newest.number == 1 and "checkpoint-2" in note
    shutil.rmtree(tmp_path / "checkpoint-1")
    with pytest.raises(PolluxError, match="checkpoint-2") as caught:
        Checkpoint.newest(tmp_path)
    assert caught.value.code == 74


def test_invalid_checkpoint_calls(tmp_path):
    with pytest.raises(PolluxError, match="nowhere"):
        Checkpoint.begin(tmp_path / "nowhere" / "deeper")
    with Checkpoint.begin(tmp_path) as checkpoint:
        for name in ("", ".hidden", "a/b", "x" * 129, "MANIFEST"):
            with pytest.raises(PolluxError):
                checkpoint.write(name, b"")
        with pytest.raises(PolluxError):
            checkpoint.commit(0)
        checkpoint.commit(1)
        with pytest.raises(PolluxError, match="has no file 'model'") as caught:
            checkpoint.read("model")
        assert caught.value.code == 2
    with pytest.raises(ctypes.ArgumentError, match="this checkpoint is closed"):
        checkpoint.commit(1)


def test_agent_state_equals_the_file_of_c(tmp_path):
    """pollux_agent_save writes the bytes that save_state returns."""
    agent = agent_of()
    update(agent)
    error = _library.CError()
    with Checkpoint.begin(tmp_path) as checkpoint:
        code = _library.library().pollux_agent_save(
            agent._handle, checkpoint._handle, ctypes.byref(error)
        )
        _library.check(code, error)
        checkpoint.commit(1)
    assert Checkpoint.newest(tmp_path)[0].read("pollux-agent") == agent.save_state()


# ---- Positions in the data --------------------------------------------------------------------


def test_indices():
    index = _library.library().pollux_sampler_index
    for length in (1, 10, 1000):
        for pass_ in (0, 5):
            whole = indices(7, length, pass_, 0, length)
            assert sorted(whole) == list(range(length))
            assert list(whole) == [index(7, length, pass_, i) for i in range(length)]
            parts = [*indices(7, length, pass_, 0, length // 3)]
            parts += indices(7, length, pass_, length // 3, length - length // 3)
            assert parts == list(whole)
    assert len(indices(7, 10, 0, 10, 0)) == 0
    assert indices(-1, 10, 0, 0, 10) == indices((1 << 64) - 1, 10, 0, 0, 10)
    assert indices(7, 1000, 0, 0, 1000) != indices(7, 1000, 1, 0, 1000)


@pytest.mark.parametrize("place", [(0, 0, 0, 1), (10, 0, 5, 6), (10, 0, -1, 3), (10, -1, 0, 3)])
def test_invalid_indices(place):
    with pytest.raises(PolluxError):
        indices(7, *place)
