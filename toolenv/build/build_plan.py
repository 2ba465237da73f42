"""The plan of a build: which files and settings each domain of a dataset is made from.

A plan file (format ``vakra-tui/plan@1``, JSON or YAML) lists ``domains``; paths in it are relative to its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolenv.build.generate import BuildSettings
from toolenv.build.questions import read_text, read_yaml
from toolenv.errors import DataError
from toolenv.model import Value

FORMAT = "vakra-tui/plan@1"


class BuildFiles(Value, frozen=True):
    """The files of one domain. ``tasks`` are instances stated in full; ``distractors`` are further document files, each
    a collection named after its file."""

    database: Path
    questions: Path
    domain: str
    documents: Path | None = None
    distractors: tuple[Path, ...] = ()
    tasks: Path | None = None


class DomainPlan(Value, frozen=True):
    """One domain of a dataset: what it is made from and how."""

    files: BuildFiles
    settings: BuildSettings = BuildSettings()


class BuildPlan(Value, frozen=True):
    """A dataset to be. With ``strict`` everything that is asked for must come of it, and no two tasks of a domain may
    ask the same once their values are taken out; else what cannot be is left out and reported."""

    domains: tuple[DomainPlan, ...]
    strict: bool = False


class _Domain(Value, frozen=True, forbid_unknown_fields=True):
    """One entry of a plan file, with the command's names."""

    domain: str
    db: str
    questions: str
    tasks: str | None = None
    documents: str | None = None
    distractors: tuple[str, ...] = ()
    topic: str | None = None
    seed: int = 0
    chains: int = BuildSettings().chains
    multi_source: int = BuildSettings().multi_source
    hop_weights: tuple[float, ...] = BuildSettings().hop_weights
    train_share: float = BuildSettings().train_share
    lookups: int = 0


class _Plan(Value, frozen=True, forbid_unknown_fields=True):
    format: str
    domains: tuple[_Domain, ...]
    strict: bool = False


def read_plan_file(path: Path) -> BuildPlan:
    """The plan of a file. Raises ``DataError`` that names the file and what is wrong with it."""
    text = read_text(path)
    content: Mapping[str, Any] = read_yaml(path, text)
    try:
        plan = msgspec.convert(content, _Plan)
    except msgspec.ValidationError as error:
        raise DataError(f"{path} is not a plan: {error}") from error
    if plan.format != FORMAT:
        raise DataError(f"{path} has the format {plan.format!r}; known is {FORMAT!r}")
    return BuildPlan(domains=tuple(_domain_plan(entry, path.parent) for entry in plan.domains), strict=plan.strict)


def _domain_plan(entry: _Domain, folder: Path) -> DomainPlan:
    files = BuildFiles(
        database=folder / entry.db,
        questions=folder / entry.questions,
        domain=entry.domain,
        documents=folder / entry.documents if entry.documents is not None else None,
        distractors=tuple(folder / name for name in entry.distractors),
        tasks=folder / entry.tasks if entry.tasks is not None else None,
    )
    settings = {name: getattr(entry, name) for name in BuildSettings.__struct_fields__}
    return DomainPlan(files=files, settings=BuildSettings(**settings))
