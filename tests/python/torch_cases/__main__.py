# SPDX-License-Identifier: Apache-2.0
"""One replica: runs all cases for WORLD_SIZE replicas, or those whose name has argument 1 in it."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.dont_write_bytecode = True

from torch_cases import run_all  # noqa: E402

replicas = int(os.environ["WORLD_SIZE"])
if replicas > 1:
    import torch.distributed as dist
    dist.init_process_group("gloo")
passed = run_all(replicas, *sys.argv[1:2])
if replicas > 1:
    dist.barrier()
sys.stdout.flush()
os._exit(not passed)
