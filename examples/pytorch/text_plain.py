# SPDX-License-Identifier: Apache-2.0
"""A small transformer that predicts the next letter of an artificial language, with plain DDP:

    torchrun --nproc_per_node 2 text_plain.py
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler

from generated import LETTERS, sentences


class Transformer(nn.Module):
    """A few layers of causal attention."""

    def __init__(self, width: int = 48, heads: int = 4, layers: int = 2, length: int = 32) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(LETTERS), width)
        self.positions = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width),
                                            enable_nested_tensor=False)
        self.out = nn.Linear(width, len(LETTERS))
        mask = torch.full((length, length), float("-inf")).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layers(self.letters(x) + self.positions, self.mask))


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small language model.")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32, help="samples per update, in all")
    parser.add_argument("--samples", type=int, default=8192, help="samples to train with")
    parser.add_argument("--lr", type=float, default=2e-3)
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

    data, held_out = sentences(args.samples, args.seed + 1), sentences(1024, args.seed + 2)
    sampler = DistributedSampler(data, seed=args.seed)
    loader = DataLoader(data, args.batch // replicas, sampler=sampler)
    validation = DataLoader(held_out, 256, sampler=DistributedSampler(held_out, shuffle=False))
    model = nn.parallel.DistributedDataParallel(Transformer().to(device))
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 100))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(x.to(device)).flatten(0, 1), y.to(device).flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()

        model.eval()
        sums = torch.zeros(2, device=device)
        with torch.no_grad():
            for x, y in validation:
                out, y = model(x.to(device)).flatten(0, 1), y.to(device).flatten()
                sums += torch.stack([cross_entropy(out, y, reduction="sum"),
                                     torch.ones_like(y).sum()])
        dist.all_reduce(sums)
        loss = (sums[0] / sums[1]).item()
        if rank == 0:
            print(f"epoch {epoch + 1}: validation loss {loss:.3f} nats per letter", flush=True)
        if loss <= args.target:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
