# SPDX-License-Identifier: Apache-2.0
"""A training whose end is tested by test_ends.py.

    end_program.py FOLDER HOW RANK      in update 12 this replica is interrupted by Ctrl-C
                                        (interrupt), killed (kill) or fails (raise); none: nothing
"""
from __future__ import annotations

import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import pollux.torch as px


def main(folder: str, how: str, rank: int) -> None:
    px.init(f"{folder}/saved")
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    loader = DataLoader(TensorDataset(torch.randn(200, 4)), batch_size=8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = px.prepare(model, optimizer, loader, local_batch=(1, 4))
    for _epoch in px.epochs(2):
        for (x,) in loader:
            if px.session().number == 12 and px.updating() and px.rank() == rank:
                if how == "interrupt":
                    os.kill(os.getpid(), signal.SIGINT)
                    os.kill(os.getpid(), signal.SIGINT)  # torchrun repeats it
                elif how == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                elif how == "raise":
                    raise ValueError("an error of the program")
            model(x).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    print("updates:", px.session().number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
