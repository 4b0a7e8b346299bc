# SPDX-License-Identifier: Apache-2.0
"""A small GPT-2, made from a configuration, learns an artificial language: transformers.Trainer
with Pollux.  Two lines differ from a script without it: the import of Trainer, and its options.

    pollux submit with_transformers.py              # or with python3, torchrun, srun
"""
import argparse

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, TrainerCallback, TrainingArguments

from generated import LETTERS, sentences
from pollux.torch.transformers import Trainer                                       # 1


class Sentences(Dataset):
    """Texts as the Trainer takes them; the model itself predicts the next letter."""

    def __init__(self, samples: int, seed: int) -> None:
        self.texts = sentences(samples, seed).tensors[0]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.texts[index], "labels": self.texts[index]}


class Print(TrainerCallback):
    def on_evaluate(self, args, state, control, metrics, **_objects):
        if state.is_world_process_zero:
            print(f"epoch {round(state.epoch)}: validation loss {metrics['eval_loss']:.3f} nats "
                  f"per letter, {state.global_step} updates", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small language model.")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32, help="samples per update, in all")
    parser.add_argument("--samples", type=int, default=4096, help="samples to train with")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--output", default="trained", help="directory of the Trainer")
    args = parser.parse_args()

    config = GPT2Config(vocab_size=len(LETTERS), n_positions=32, n_embd=48, n_layer=2, n_head=4,
                        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0)
    torch.manual_seed(0)
    trainer = Trainer(
        GPT2LMHeadModel(config),
        TrainingArguments(
            args.output, num_train_epochs=args.epochs, learning_rate=args.lr, warmup_steps=50,
            per_device_train_batch_size=args.batch, per_device_eval_batch_size=256,
            eval_strategy="epoch", save_strategy="no", report_to=[], disable_tqdm=True,
            use_cpu=not torch.cuda.is_available()),
        train_dataset=Sentences(args.samples, 1), eval_dataset=Sentences(512, 2),
        callbacks=[Print()],
        max_batch=16 * args.batch, local_batch=(8, 256))                            # 2
    trainer.train()


if __name__ == "__main__":
    main()
