# SPDX-License-Identifier: Apache-2.0
"""Starts the replicas of a program as torchrun does, for tests:

    run("worker.py", 2, "argument").check()         run to the end; a failure shows the output

    with Replicas("worker.py", 2) as replicas:      act while they run
        replicas.signal(signal.SIGTERM, 1)
        assert replicas.wait().codes == [143, 143]

Afterwards all processes are ended, also the workers that replicas have started.
"""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

PACKAGE = Path(__file__).resolve().parents[2] / "bindings" / "python"
TIMEOUT_S = 300.0


class Ended(NamedTuple):
    """Exit codes and output of all replicas, by rank.  -9: killed, for example at the deadline."""

    codes: list[int]
    outputs: list[str]

    def check(self) -> list[str]:
        """The outputs.  Fails unless all exit codes are 0."""
        report = "\n".join(f"---- replica {rank}, exit code {code}\n{output}"
                           for rank, (code, output) in enumerate(zip(*self)))
        assert not any(self.codes), report
        return self.outputs


class Replicas:
    """Processes of sys.executable with a script and its arguments.  Those that have not ended at
    the deadline are killed."""

    def __init__(self, script: Any, count: int, *args: Any, timeout: float = TIMEOUT_S,
                 environment: Optional[dict[str, str]] = None) -> None:
        self._deadline = time.monotonic() + timeout
        self._outputs = [tempfile.TemporaryFile("w+b") for _ in range(count)]
        port = free_port()
        command = [sys.executable, str(script), *map(str, args)]
        self.processes = [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                             stderr=subprocess.STDOUT, start_new_session=True,
                             env=variables(rank, count, port, environment or {}))
            for rank, output in enumerate(self._outputs)]

    def __enter__(self) -> "Replicas":
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.kill()
        for output in self._outputs:
            output.close()

    def wait_for(self, seen: Callable[[str], Any]) -> None:
        """Until seen(output of replica 0), or until that has ended; at most until the deadline."""
        while not seen(self.output()) and self.processes[0].poll() is None \
                and time.monotonic() < self._deadline:
            time.sleep(0.01)

    def wait(self) -> Ended:
        for process in self.processes:
            try:
                process.wait(max(self._deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                break
        self.kill()
        return Ended([process.returncode for process in self.processes],
                     [self.output(rank) for rank in range(len(self.processes))])

    def output(self, rank: int = 0) -> str:
        """The output of a replica so far."""
        output = self._outputs[rank]
        size = os.fstat(output.fileno()).st_size
        return os.pread(output.fileno(), size, 0).decode(errors="replace")

    def signal(self, number: int, *ranks: int) -> None:
        """Send a signal to these replicas, or to all."""
        for rank in ranks or range(len(self.processes)):
            self.processes[rank].send_signal(number)

    def kill(self) -> None:
        """Kill all replicas and their children."""
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def run(script: Any, count: int, *args: Any, timeout: float = TIMEOUT_S,
        environment: Optional[dict[str, str]] = None) -> Ended:
    """Run a script in count replicas until all have ended."""
    with Replicas(script, count, *args, timeout=timeout, environment=environment) as replicas:
        return replicas.wait()


def variables(rank: int, count: int, port: int, others: dict[str, str]) -> dict[str, str]:
    """The variables that torchrun sets on one machine, and the path of this tree's package.  One
    thread per replica: they share few cores, and sums keep their order."""
    path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1",
        "RANK": str(rank), "WORLD_SIZE": str(count),
        "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **others,
    }


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
