"""The sample's sources: facts, questions and passages as they lie beside this module, one folder a domain.

``schema.sql`` holds the CREATE statements, ``<table>.tsv`` the stated facts, ``passages.tsv`` the documents; of these
the files are made that ``vakra-tui build`` reads. ``questions.yaml``, ``tasks.yaml`` and the plan of all domains,
``plan.yaml``, are read by it as they stand. ``python -m vakra_tui.sample DIR`` writes all of them into a folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from vakra_tui.sample.modelled import MODELLED

PLAN = "plan.yaml"
_READ_AS_THEY_STAND = ("questions.yaml", "tasks.yaml")


def sources_folder() -> Traversable:
    return files("vakra_tui.sample").joinpath("sources")


def domains() -> tuple[str, ...]:
    """The sample's domains, in alphabetical order."""
    return tuple(sorted(item.name for item in sources_folder().iterdir() if item.is_dir()))


def content_version() -> str:
    """A digest of all source files and of the modules that write them out: the built dataset's key in the cache."""
    digest = hashlib.sha256(sources_folder().joinpath(PLAN).read_bytes())
    for package in ("vakra_tui.sample", "toolenv.build"):
        for item in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if item.name.endswith(".py"):
                digest.update(item.read_bytes())
    for domain in domains():
        for item in sorted(sources_folder().joinpath(domain).iterdir(), key=lambda entry: entry.name):
            digest.update(f"{domain}/{item.name}\0".encode())
            digest.update(item.read_bytes())
    return digest.hexdigest()[:16]


def write_sources(folder: Path) -> Path:
    """Write what ``vakra-tui build --plan`` reads of the sample into a folder; the path of the plan.

    Raises ``NotBuildable`` when stated facts do not fit their tables.
    """
    from toolenv.build.database import create_database

    for domain in domains():
        where = sources_folder().joinpath(domain)
        (folder / domain).mkdir(parents=True, exist_ok=True)
        for name in _READ_AS_THEY_STAND:
            (folder / domain / name).write_text(_text(where, name), encoding="utf-8")
        documents = json.dumps(list(_documents(domain)), ensure_ascii=False, indent=1)
        (folder / domain / "documents.json").write_text(documents + "\n", encoding="utf-8")
        create_database(folder / f"{domain}.sqlite", _text(where, "schema.sql"), _tables(domain, where))
    plan = folder / PLAN
    plan.write_text(_text(sources_folder(), PLAN), encoding="utf-8")
    return plan


def load_passages(domain: str) -> tuple[tuple[str, str], ...]:
    """The documents of one domain, each with its id and its text."""
    text = _text(sources_folder().joinpath(domain), "passages.tsv")
    pairs = [line.split("\t", 1) for line in text.split("\n") if line]
    return tuple((key, words) for key, words in pairs)


def _documents(domain: str) -> Iterator[Mapping[str, str | bool]]:
    for key, words in load_passages(domain):
        shared = {"shared": True} if key.endswith("-shared") else {}
        yield {"doc_id": key, "text": words, **shared}


def _tables(domain: str, where: Traversable) -> Mapping[str, list[tuple[Any, ...]]]:
    from toolenv.build.database import rows_from_text

    names = sorted(item.name.removesuffix(".tsv") for item in where.iterdir() if item.name.endswith(".tsv"))
    stated: dict[str, list[tuple[Any, ...]]] = {
        name: list(rows_from_text(_text(where, f"{name}.tsv"))) for name in names if name != "passages"
    }
    return {**stated, **MODELLED[domain](stated)}


def _text(folder: Traversable, name: str) -> str:
    return folder.joinpath(name).read_text(encoding="utf-8")
