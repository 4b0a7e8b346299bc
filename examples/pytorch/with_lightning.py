# SPDX-License-Identifier: Apache-2.0
"""An image classifier on generated data: Lightning with Pollux.  Two lines differ from a script
without it: an import, and the strategy of the Trainer.

    pollux submit with_lightning.py              # or with python3, torchrun, srun
"""
import argparse

import lightning.pytorch as pl
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader

from generated import CLASSES, images
from pollux.torch.lightning import ElasticStrategy                                  # 1


class Classifier(pl.LightningModule):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.network = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
            nn.Flatten(), nn.Linear(512, CLASSES))

    def training_step(self, batch, batch_idx):
        x, y = batch
        return cross_entropy(self.network(x), y)

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("loss", cross_entropy(self.network(x), y), sync_dist=True)

    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero and not self.trainer.sanity_checking:
            loss = self.trainer.callback_metrics["loss"]
            print(f"epoch {self.trainer.current_epoch + 1}: validation loss {loss:.3f}, "
                  f"{self.trainer.global_step} updates", flush=True)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), self.rate, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer,
                "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def main() -> None:
    parser = argparse.ArgumentParser(description="Train an image classifier.")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32, help="samples per update, in all")
    parser.add_argument("--samples", type=int, default=8192, help="samples to train with")
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()

    torch.manual_seed(0)
    trainer = pl.Trainer(
        max_epochs=args.epochs, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False,
        strategy=ElasticStrategy(max_batch=16 * args.batch, local_batch=(8, 256)))  # 2
    trainer.fit(Classifier(args.lr), DataLoader(images(args.samples, 1), args.batch, shuffle=True),
                DataLoader(images(1024, 2), 256))


if __name__ == "__main__":
    main()
