# SPDX-License-Identifier: Apache-2.0
"""The `pollux` command for notebooks and scripts: runs it and parses its JSON.

Options are those of the command, with _ for -.  True: an option without a value.  A list: several
values.  None: the option is left out.

    pollux.decide(problem, policy="pollux-jct", explain=True)
    pollux.simulate("workload.csv", policy=["pollux", "tiresias"], nodes=16)
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from errno import EINVAL, EIO, ENOENT
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Union

from ._library import PolluxError, build_folder

_REFUSED = 2  # exit status of the command for wrong usage or bad input


def command() -> str:
    """The path of the `pollux` command.  Looked for in this order: $POLLUX_COMMAND, the build tree,
    where this package is installed, PATH."""
    given = os.environ.get("POLLUX_COMMAND")
    if given:
        return given
    build = build_folder()
    if build and os.access(build / "pollux", os.X_OK):
        return str(build / "pollux")
    beside = [folder.parent / "bin" for folder in Path(__file__).parents if folder.name == "lib"]
    found = shutil.which("pollux", path=str(beside[0])) if beside else None
    found = found or shutil.which("pollux")
    if not found:
        looked = f"in {build} and on PATH; run `make`" if build else "on PATH; install pollux"
        raise PolluxError(ENOENT, f"no `pollux` command {looked}, or set POLLUX_COMMAND")
    return found


def _words(options: Mapping[str, Any]) -> List[str]:
    words = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            several = isinstance(value, (list, tuple))
            words.append(f"{option}={','.join(map(str, value)) if several else value}")
    return words


def _run(words: List[str], text: Optional[str] = None) -> Any:
    """Run the command and parse its output."""
    try:
        done = subprocess.run(
            [command(), *words],
            input=text if text is not None else "",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    except OSError as error:
        raise PolluxError(error.errno or EIO, f"cannot run {command()}: {error}") from None
    said = done.stderr.strip()
    prefix = f"pollux {words[0]}: "
    said = said[len(prefix):] if said.startswith(prefix) else said
    if done.returncode != 0:
        code = EINVAL if done.returncode == _REFUSED else EIO
        raise PolluxError(code, said or f"pollux {words[0]} ended with {done.returncode}")
    if said:
        warnings.warn(said, stacklevel=3)
    return json.loads(done.stdout)


def decide(
    problem: Union[Mapping[str, Any], str, "os.PathLike[str]"], **options: Any
) -> Dict[str, Any]:
    """The plan that a policy makes for a cluster and its jobs: a problem as pollux-decide(1)
    describes it, or the path of its file.  Options: policy, seed, explain."""
    words = ["decide", "--json", *_words(options), "--"]
    if isinstance(problem, Mapping):
        return _run([*words, "-"], json.dumps(problem, allow_nan=False))
    return _run([*words, os.path.abspath(problem)])


def simulate(*workloads: Union[str, "os.PathLike[str]"], **options: Any) -> Dict[str, Any]:
    """Workloads, files or folders of them, under policies on a simulated cluster; without any, a
    built-in one.  Options: those of pollux-sim(1) but json."""
    paths = [os.path.abspath(path) for path in workloads]
    return _run(["sim", "--json=-", *_words(options), "--", *paths])
