# SPDX-License-Identifier: Apache-2.0
"""Generated data, without a download: images of ten classes, handwritten-like digits, clusters, a
function with noise, and text of an artificial language.

Equal arguments give equal data.  What there is to learn is always the same; `seed` only
selects the samples, so use different seeds for training and validation.  The samples are noisy, so
that gradients are noisy as with real data.
"""
from __future__ import annotations

import random

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, avg_pool2d, grid_sample, interpolate, pad
from torch.utils.data import TensorDataset

CLASSES = 10
SIDE = 16
LETTERS = " abcdefghijklmnopqrstuvwxyz"
# The digits 0 to 9, seven rows of five pixels each.
FONT = ("01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110",
        "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110",
        "00010 00110 01010 10010 11111 00010 00010", "11111 10000 11110 00001 00001 10001 01110",
        "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000",
        "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100")


def images(samples: int, seed: int) -> TensorDataset:
    """(samples, 1, SIDE, SIDE) images and their classes.  Each class has a pattern; its position
    and contrast vary, and noise is added."""
    patterns = torch.randn(CLASSES, 1, 4, 4, generator=torch.Generator().manual_seed(-1))
    patterns = interpolate(patterns, SIDE, mode="bicubic", align_corners=False)
    draw = torch.Generator().manual_seed(seed)
    classes = torch.randint(CLASSES, (samples,), generator=draw)
    rows = torch.arange(SIDE) + torch.randint(5, (samples, 1), generator=draw)
    columns = torch.arange(SIDE) + torch.randint(5, (samples, 1), generator=draw)
    moved = patterns[classes.view(-1, 1, 1), 0,
                     rows.unsqueeze(2) % SIDE, columns.unsqueeze(1) % SIDE]
    strength = 0.5 + torch.rand(samples, 1, 1, generator=draw)
    noise = 2 * torch.randn(samples, SIDE, SIDE, generator=draw)
    return TensorDataset((strength * moved + noise).unsqueeze(1), classes)


def digits(samples: int, seed: int, wrong: float = 0.0) -> TensorDataset:
    """(samples, 1, 8, 8) images of digits and their classes: a distorted bitmap of 32 x 32 pixels,
    and how much of each 4 x 4 block is set.  Pixels at the border are nearly always 0.  `wrong` is
    the share of samples with a wrong class."""
    glyphs = torch.tensor([[[float(pixel) for pixel in row] for row in digit.split()]
                           for digit in FONT]).unsqueeze(1)
    glyphs = pad(interpolate(glyphs, (28, 20), mode="bilinear", align_corners=False), (6, 6, 2, 2))
    draw = torch.Generator().manual_seed(seed)
    classes = torch.randint(CLASSES, (samples,), generator=draw)
    angle, wide, high, slant, right, down, level = \
        torch.randn(7, samples, generator=draw) * torch.tensor(
            [0.2, 0.12, 0.1, 0.2, 0.12, 0.08, 0.12]).unsqueeze(1)
    rows = [torch.stack([(1 + wide) * angle.cos(), slant - angle.sin(), right], 1),
            torch.stack([angle.sin(), (1.05 + high) * angle.cos(), down], 1)]
    grid = affine_grid(torch.stack(rows, 1), [samples, 1, 32, 32], align_corners=False)
    bitmaps = grid_sample(glyphs[classes], grid, align_corners=False)
    pixels = avg_pool2d((bitmaps > (0.5 + level).view(-1, 1, 1, 1)).float(), 4)
    noise = 0.08 * (pixels > 0) * torch.randn(pixels.shape, generator=draw)
    other = (classes + torch.randint(1, CLASSES, (samples,), generator=draw)) % CLASSES
    mistaken = torch.rand(samples, generator=draw) < wrong
    return TensorDataset((pixels + noise).clamp(0, 1), torch.where(mistaken, other, classes))


def clusters(samples: int, seed: int) -> TensorDataset:
    """(samples, 32) numbers and their classes.  Each class has three Gaussian clusters."""
    centres = 0.8 * torch.randn(3 * CLASSES, 32, generator=torch.Generator().manual_seed(-1))
    draw = torch.Generator().manual_seed(seed)
    which = torch.randint(3 * CLASSES, (samples,), generator=draw)
    return TensorDataset(centres[which] + torch.randn(samples, 32, generator=draw),
                         which % CLASSES)


def curve(samples: int, seed: int) -> TensorDataset:
    """(samples, 16) numbers, and for each row (samples, 1) a smooth function of it, with noise."""
    fixed = torch.Generator().manual_seed(-1)
    directions = torch.randn(16, 24, generator=fixed) / 3
    phases, heights = torch.randn(24, generator=fixed), torch.randn(24, generator=fixed) / 3
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, 16, generator=draw)
    y = (x @ directions + phases).sin() @ heights + 0.2 * torch.randn(samples, generator=draw)
    return TensorDataset(x, y.unsqueeze(1))


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
