# SPDX-License-Identifier: Apache-2.0
"""Generated data, without a download: images of ten classes, and text of an artificial language.

Equal arguments give equal data.  The patterns and the language are always the same; `seed` only
selects the samples, so use different seeds for training and validation.  The samples are noisy, so
that gradients are noisy as with real data.
"""
from __future__ import annotations

import random

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

CLASSES = 10
SIDE = 16
LETTERS = " abcdefghijklmnopqrstuvwxyz"


def images(samples: int, seed: int) -> TensorDataset:
    """(samples, 1, SIDE, SIDE) images and their classes.  Each class has a pattern; its position
    and contrast vary, and noise is added."""
    patterns = torch.randn(CLASSES, 1, 4, 4, generator=torch.Generator().manual_seed(-1))
    patterns = torch.nn.functional.interpolate(patterns, SIDE, mode="bicubic", align_corners=False)
    draw = torch.Generator().manual_seed(seed)
    classes = torch.randint(CLASSES, (samples,), generator=draw)
    rows = torch.arange(SIDE) + torch.randint(5, (samples, 1), generator=draw)
    columns = torch.arange(SIDE) + torch.randint(5, (samples, 1), generator=draw)
    moved = patterns[classes.view(-1, 1, 1), 0,
                     rows.unsqueeze(2) % SIDE, columns.unsqueeze(1) % SIDE]
    strength = 0.5 + torch.rand(samples, 1, 1, generator=draw)
    noise = 2 * torch.randn(samples, SIDE, SIDE, generator=draw)
    return TensorDataset((strength * moved + noise).unsqueeze(1), classes)


def sentences(samples: int, seed: int, length: int = 32) -> TensorDataset:
    """(samples, length) letters as numbers, and for each letter the next one."""
    words = _language()
    draw = random.Random(seed)
    word, letters = next(iter(words)), []
    while len(letters) < samples * length + 1:
        letters.extend(word + " ")
        word = draw.choices(*words[word])[0]
    codes = torch.tensor([LETTERS.index(letter) for letter in letters[: samples * length + 1]])
    return TensorDataset(codes[:-1].view(samples, length), codes[1:].view(samples, length))


def _language() -> dict[str, tuple[list[str], list[float]]]:
    """64 words; for each, the words that can follow it and their weights."""
    draw = random.Random(1)
    words: list[str] = []
    while len(words) < 64:
        word = "".join(draw.choices(LETTERS[1:], k=draw.randint(1, 6)))
        if word not in words:
            words.append(word)
    return {word: (draw.sample(words, 8), [draw.expovariate(1) for _ in range(8)])
            for word in words}


def letters_of(codes: Tensor) -> str:
    """The letters of codes, as text."""
    return "".join(LETTERS[code] for code in codes.tolist())
