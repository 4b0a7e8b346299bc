# SPDX-License-Identifier: Apache-2.0
"""docs/pytorch.md is correct: its Python blocks run, its diffs are those of the examples, its links
have targets, and it names every option and metric."""
from __future__ import annotations

import difflib
import inspect
import re

import pytest
import torch
from conftest import ROOT
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import pollux.torch as px

PAGE = (ROOT / "docs" / "pytorch.md").read_text()
EXAMPLES = ROOT / "examples" / "pytorch"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def variables() -> dict:
    """The variables that a block of the page uses without defining them."""
    data = TensorDataset(torch.randn(64, 4), torch.randint(3, (64,)))
    model = nn.Linear(4, 3)

    def train_one_epoch(model, opt, loader):
        for x, y in loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            opt.step()

    return dict(torch=torch, px=px, DataLoader=DataLoader, model=model, held_out=data,
                opt=torch.optim.SGD(model.parameters(), 0.1), train_one_epoch=train_one_epoch,
                loader=DataLoader(data, 16, shuffle=True),
                loss_function=nn.functional.cross_entropy)


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.split("\n")[0].strip())
def test_python_blocks_run(block):
    names = variables()
    try:
        if "px.init" not in block:
            px.init()
            names["model"], names["opt"], names["loader"] = px.prepare(
                names["model"], names["opt"], names["loader"])
        exec(compile(block, "docs/pytorch.md", "exec"), names)
    finally:
        px.close()


def difference(name: str) -> list[str]:
    plain, with_pollux = ((EXAMPLES / f"{name}{kind}.py").read_text().splitlines()
                          for kind in ("_plain", ""))
    lines = difflib.unified_diff(plain, with_pollux, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++"))]


def contains(block: str, lines: list[str]) -> bool:
    """Whether the lines contain the block, as consecutive whole lines."""
    return "\n" + block.rstrip("\n") + "\n" in "\n" + "\n".join(lines) + "\n"


def test_readme_has_the_first_block():
    assert blocks("python")[0] in (ROOT / "README.md").read_text()


def test_diffs_are_those_of_the_examples():
    image, text = blocks("diff")
    assert image.splitlines() == difference("image")
    assert contains(text, difference("text"))


@pytest.mark.parametrize("name", ["image", "text"])
def test_examples_differ_only_by_pollux(name):
    """Pollux removes more lines than it adds, and does not change the lines that train."""
    lines = difference(name)
    added = [line for line in lines if line.startswith("+")]
    removed = [line for line in lines if line.startswith("-")]
    assert len(added) < len(removed) < 30
    for line in ("backward()", "optimizer.step()", "schedule.step()", "zero_grad()", "(model("):
        assert not any(line in each for each in added + removed)


def test_every_option_is_documented():
    """Every argument of init and prepare, every name of px and every metric is on the page."""
    for function in (px.init, px.prepare):
        for name in inspect.signature(function).parameters:
            assert re.search(rf"\b{name}\b", PAGE), f"{function.__name__}({name}=)"
    for name in set(px.__all__) - {"session", "STOPPED"}:
        assert f"px.{name}" in PAGE, name
    px.init()
    px.prepare(*(variables()[name] for name in ("model", "opt", "loader")))
    names = px.metrics()
    px.close()
    assert all(f"`{name}`" in PAGE for name in names), list(names)


def test_links_have_targets():
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGE):
        if not target.startswith("http"):
            assert (ROOT / "docs" / target).exists(), target
    headings = {re.sub(r"[^a-z0-9 -]", "", line.lower()).replace(" ", "-")
                for line in re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)}
    for anchor in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert anchor in headings, anchor
