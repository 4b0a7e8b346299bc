# SPDX-License-Identifier: Apache-2.0
"""How replicas find each other: makes the process group of torch.distributed."""
from __future__ import annotations

import atexit
import os
import sys
from typing import Mapping, Optional

import torch
import torch.distributed as dist

from ..agent import World

FIRST_PORT, PORTS = 20000, 10000  # below the ephemeral ports of common systems


def join(world: World, backend: Optional[str]) -> None:
    """Make the process group.  Does nothing with one replica, or if the program has made one.
    torchrun and polluxd set the address of replica 0; for Slurm and Open MPI it is derived from
    their variables."""
    if dist.is_initialized():
        _check(world, dist.get_rank(), dist.get_world_size())
        return
    if world.replicas == 1:
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(world.local_rank % torch.cuda.device_count())
    os.environ.setdefault("MASTER_ADDR", _address(world, os.environ))
    os.environ.setdefault("MASTER_PORT", str(_port(os.environ)))
    atexit.register(_leave)
    dist.init_process_group(backend or ("nccl" if torch.cuda.is_available() else "gloo"),
                            rank=world.rank, world_size=world.replicas)


def _leave() -> None:
    """Destroy the process group at the end of the program, as torch asks for.  Not after an error:
    other replicas may wait in a collective operation, and the destruction could wait for them."""
    if dist.is_initialized() and getattr(sys, "last_value", None) is None:
        dist.destroy_process_group()


def _check(world: World, rank: int, replicas: int) -> None:
    """Check that a process group of the program has the same replicas."""
    if (rank, replicas) != (world.rank, world.replicas):
        raise RuntimeError(
            f"torch.distributed was initialised with rank {rank} of {replicas}, and the "
            f"environment says {world.rank} of {world.replicas}: set RANK, WORLD_SIZE, LOCAL_RANK "
            "and LOCAL_WORLD_SIZE, as torchrun does")


def _address(world: World, environment: Mapping[str, str]) -> str:
    """The address of replica 0."""
    if environment.get("MASTER_ADDR"):
        return environment["MASTER_ADDR"]
    if world.nodes == 1:
        return "127.0.0.1"
    for name in ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        if environment.get(name):
            return first_host(environment[name])
    raise RuntimeError(
        f"{world.replicas} replicas on {world.nodes} nodes cannot find each other: set MASTER_ADDR "
        "and MASTER_PORT to an address of replica 0, as torchrun does")


def _port(environment: Mapping[str, str]) -> int:
    """A port that is equal on all replicas of a job and differs from most other jobs' ports."""
    number = environment.get("SLURM_JOB_ID") or environment.get("OMPI_MCA_ess_base_jobid") or "0"
    step = environment.get("SLURM_STEP_ID", "0")
    return FIRST_PORT + (_number(number) * 31 + _number(step)) % PORTS


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def first_host(hosts: str) -> str:
    """The first host of a Slurm node list: rack2-node07 for rack[2-4]-node[07-09,12],other."""
    name, depth, taken = "", 0, False
    for letter in hosts:
        if letter == "[":
            depth, taken = depth + 1, False
        elif letter == "]":
            depth -= 1
        elif depth == 0 and letter == ",":
            break
        elif depth and letter in "-,":
            taken = True
        elif not (depth and taken):
            name += letter
    return name
