# SPDX-License-Identifier: Apache-2.0
"""An image classifier on generated data: a loop with accelerate, with Pollux.  It differs from a
script without it by the import and the options of Accelerator, and by px.epochs() instead of
range().

    pollux submit with_accelerate.py              # or with python3, torchrun, srun
"""
import argparse

import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

import pollux.torch as px
from generated import CLASSES, images
from pollux.torch.accelerate import Accelerator


def main() -> None:
    parser = argparse.ArgumentParser(description="Train an image classifier.")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32, help="samples per update, in all")
    parser.add_argument("--samples", type=int, default=8192, help="samples to train with")
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()

    accelerator = Accelerator(max_batch=16 * args.batch, local_batch=(8, 256))      # 1
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
        nn.Flatten(), nn.Linear(512, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9)
    loader = DataLoader(images(args.samples, 1), args.batch, shuffle=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, len(loader) * args.epochs)
    model, optimizer, loader, validation, schedule = accelerator.prepare(
        model, optimizer, loader, DataLoader(images(1024, 2), 256), schedule)

    for epoch in px.epochs(args.epochs):                                            # 2
        model.train()
        updates = 0
        for x, y in loader:
            accelerator.backward(cross_entropy(model(x), y))
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 5.0)
                updates += 1
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()

        model.eval()
        found = []
        with torch.no_grad():
            for x, y in validation:
                loss = cross_entropy(model(x), y, reduction="none")
                found.append(accelerator.gather_for_metrics(loss))
        accelerator.print(f"epoch {epoch + 1}: validation loss {torch.cat(found).mean():.3f}, "
                          f"{updates} updates", flush=True)


if __name__ == "__main__":
    main()
