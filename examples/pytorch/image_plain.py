# SPDX-License-Identifier: Apache-2.0
"""An image classifier on generated data, with plain DDP:

    torchrun --nproc_per_node 2 image_plain.py
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler

from generated import CLASSES, images


class Block(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1)
        self.shortcut = nn.Conv2d(inside, outside, 1, stride)
        self.norms = nn.ModuleList(nn.GroupNorm(4, outside) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](self.first(x)).relu()
        return (self.norms[1](self.second(y)) + self.shortcut(x)).relu()


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), Block(8, 16, 2), Block(16, 32, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, CLASSES))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train an image classifier.")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch", type=int, default=64, help="samples per update, in all")
    parser.add_argument("--samples", type=int, default=16384, help="samples to train with")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--target", type=float, default=0.0, help="stop at this validation loss")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    replicas, rank = dist.get_world_size(), dist.get_rank()
    if gpu:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = "cuda" if gpu else "cpu"
    torch.manual_seed(args.seed)

    data, held_out = images(args.samples, args.seed + 1), images(2048, args.seed + 2)
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, args.batch // replicas, sampler=sampler)
    validation = DataLoader(held_out, 256, sampler=DistributedSampler(held_out, shuffle=False))
    model = nn.parallel.DistributedDataParallel(network().to(device))
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.3)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        schedule.step()

        model.eval()
        sums = torch.zeros(3, device=device)
        with torch.no_grad():
            for x, y in validation:
                out, y = model(x.to(device)), y.to(device)
                sums += torch.stack([cross_entropy(out, y, reduction="sum"),
                                     (out.argmax(1) == y).sum(), torch.ones_like(y).sum()])
        dist.all_reduce(sums)
        loss, right = (sums[:2] / sums[2]).tolist()
        if rank == 0:
            print(f"epoch {epoch + 1}: validation loss {loss:.3f}, {right:.1%} right", flush=True)
        if loss <= args.target:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
