"""The judge's instructions, one text file each, and the version that stands for all of them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from string import Template

EDITION = 1
"""Raised when the meaning of a prompt changes; the digest beside it tells any change of the words."""

NAMES = (
    "again",
    "consistent",
    "frame",
    "grounded",
    "policy",
    "released_consistent",
    "released_grounded",
    "tool_sequence",
)


@cache
def prompt(name: str) -> Template:
    """One of the texts; ``$boundary`` and ``$problem`` stand for what differs from case to case."""
    return Template(_text(name))


@cache
def prompt_version() -> str:
    """Edition and digest of all texts, e.g. ``1-4f0c2a91``; part of the report and of every cache key."""
    digest = hashlib.sha256()
    for name in NAMES:
        digest.update(f"{name}\0{_text(name)}\0".encode())
    return f"{EDITION}-{digest.hexdigest()[:8]}"


@cache
def _text(name: str) -> str:
    return files("eval.judges").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")
