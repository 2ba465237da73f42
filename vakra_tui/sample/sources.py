"""The sample's sources: facts, questions and passages as they lie beside this module, one folder a domain.

``schema.sql`` holds the CREATE statements, ``<table>.tsv`` the stated facts, ``passages.tsv`` the documents,
``questions.yaml`` further questions that only become endpoints, ``tasks.yaml`` the instances.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import msgspec

from toolenv.build.database import create_database, rows_from_text
from toolenv.build.source import DomainSource, Passage, Question, Task
from vakra_tui.sample.modelled import MODELLED

TOPICS: Mapping[str, str] = {
    "elements": "Science & Materials",
    "missions": "Space & Exploration",
    "waters": "Rivers, Lakes & Water",
}
"""Domain -> topic group; the names that the policies of the sample use."""

LOOKUPS: Mapping[str, int] = {"elements": 140, "missions": 60, "waters": 48}
"""Domain -> number of endpoints that the schema's own look-ups fill up to."""


def sources_folder() -> Traversable:
    return files("vakra_tui.sample").joinpath("sources")


def domains() -> tuple[str, ...]:
    """The sample's domains that have sources, in alphabetical order."""
    return tuple(d for d in TOPICS if sources_folder().joinpath(d, "tasks.yaml").is_file())


def content_version() -> str:
    """A digest of all source files and of the modules that write them out: the built dataset's key in the cache."""
    digest = hashlib.sha256()
    for package in ("vakra_tui.sample", "toolenv.build"):
        for item in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if item.name.endswith(".py"):
                digest.update(item.read_bytes())
    for domain in domains():
        for item in sorted(sources_folder().joinpath(domain).iterdir(), key=lambda entry: entry.name):
            digest.update(f"{domain}/{item.name}\0".encode())
            digest.update(item.read_bytes())
    return digest.hexdigest()[:16]


def load_domain(domain: str, folder: Path) -> DomainSource:
    """The source of one domain; its database is made in ``folder``."""
    import yaml

    where = sources_folder().joinpath(domain)
    database = folder / f"{domain}.sqlite"
    create_database(database, _text(where, "schema.sql"), _tables(domain, where))
    tasks = [_task(entry) for entry in yaml.safe_load(_text(where, "tasks.yaml"))]
    extra = where.joinpath("questions.yaml")
    questions = yaml.safe_load(extra.read_text(encoding="utf-8")) if extra.is_file() else []
    return DomainSource(
        name=domain,
        database=database,
        topic=TOPICS[domain],
        questions=tuple(Question(question=entry["query"], sql=entry["sql"]) for entry in questions),
        tasks=tuple(tasks),
        passages=tuple(_passages(_text(where, "passages.tsv"))),
        offered=tuple(other for other in domains() if other != domain),
        lookups=LOOKUPS[domain],
    )


def load_passages(domain: str) -> tuple[Passage, ...]:
    """The documents of one domain."""
    return tuple(_passages(_text(sources_folder().joinpath(domain), "passages.tsv")))


def _tables(domain: str, where: Traversable) -> Mapping[str, list[tuple[Any, ...]]]:
    names = sorted(item.name.removesuffix(".tsv") for item in where.iterdir() if item.name.endswith(".tsv"))
    stated: dict[str, list[tuple[Any, ...]]] = {
        name: list(rows_from_text(_text(where, f"{name}.tsv"))) for name in names if name != "passages"
    }
    return {**stated, **MODELLED[domain](stated)}


def _passages(text: str) -> list[Passage]:
    lines = [line.split("\t", 1) for line in text.split("\n") if line]
    return [Passage(doc_id=key, text=words, shared=key.endswith("-shared")) for key, words in lines]


def _task(entry: dict[str, Any]) -> Task:
    """A task from its short form: one turn may stand without ``turns``, and one SQL hop without ``hops``."""
    turns = entry.pop("turns", None)
    if turns is None:
        turn = {name: entry.pop(name) for name in ("query", "hops", "answer", "sql") if name in entry}
        turns = [turn]
    return msgspec.convert({**entry, "turns": [_turn(turn) for turn in turns]}, Task)


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    hops = turn.get("hops", [])
    if "sql" in turn:
        hops = [{"query": turn["query"], "sql": turn["sql"]}]
    tagged = [{**hop, "source": "sql" if "sql" in hop else "document"} for hop in hops]
    return {"query": turn["query"], "hops": tagged, "answer": turn.get("answer")}


def _text(folder: Traversable, name: str) -> str:
    return folder.joinpath(name).read_text(encoding="utf-8")
