# SPDX-License-Identifier: Apache-2.0
"""The rendezvous address and port if only the variables of Slurm are set; the end of the process
group."""
import pytest
from replicas import run

torch = pytest.importorskip("torch")
from pollux.agent import World  # noqa: E402
from pollux.torch import rendezvous  # noqa: E402


@pytest.mark.parametrize("hosts, first", [
    ("alpha", "alpha"),
    ("alpha,beta", "alpha"),
    ("node[3-5]", "node3"),
    ("node[007,9-12],other", "node007"),
    ("rack[2-4]-node[07-09,12],z", "rack2-node07"),
    ("gpu-a-1,gpu-a-2", "gpu-a-1"),
    ("n[1].site.org,n2", "n1.site.org"),
])
def test_first_host(hosts, first):
    assert rendezvous.first_host(hosts) == first


def test_address():
    one, two = World(0, 0, 1, 2, 0), World(0, 0, 2, 2, 0)
    assert rendezvous._address(one, {}) == "127.0.0.1"
    assert rendezvous._address(two, {"SLURM_JOB_NODELIST": "n[4-5]"}) == "n4"
    nodes = {"SLURM_JOB_NODELIST": "n[4-5]", "SLURM_STEP_NODELIST": "n5"}
    assert rendezvous._address(two, nodes) == "n5"
    with pytest.raises(RuntimeError, match="set MASTER_ADDR"):
        rendezvous._address(two, {})


def test_port():
    ports = {rendezvous._port({"SLURM_JOB_ID": str(job), "SLURM_STEP_ID": str(step)})
             for job in range(40) for step in range(3)}
    assert len(ports) == 120 and all(20000 <= port < 30000 for port in ports)
    assert rendezvous._port({"SLURM_JOB_ID": "x"}) == 20000


PROGRAM = """
import atexit, os, sys
import torch.distributed as dist


@atexit.register  # the last function that is called
def tell():
    print("process group:", dist.is_initialized(), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()  # torch may abort at exit without it


if "own" in sys.argv:
    dist.init_process_group("gloo")
import pollux.torch as px
px.init()
print("replicas:", dist.get_world_size(), flush=True)
px.close()
assert dist.is_initialized()
if "fail" in sys.argv:
    raise RuntimeError("of the program")
"""


@pytest.mark.parametrize("how, open_at_the_end", [("", False), ("own", True), ("fail", True)])
def test_process_group_is_destroyed_at_the_end(tmp_path, how, open_at_the_end):
    """That of px.init().  One of the program is its own; after an error others may wait in it."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    ended = run(script, 2, how)
    assert ended.codes == [int(how == "fail")] * 2, ended.outputs
    for output in ended.outputs:
        assert "replicas: 2\n" in output and f"process group: {open_at_the_end}\n" in output
