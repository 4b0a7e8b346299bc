# SPDX-License-Identifier: Apache-2.0
"""The base class of loaders around another loader."""
from __future__ import annotations

from typing import Any


class Delegating:
    """Attributes that it does not have are those of another object."""

    def __init__(self, other: Any) -> None:
        self._attributes_of = other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._attributes_of, name)
