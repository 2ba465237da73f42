"""What may be passed on names no folder of this machine, whatever failed: reports, predictions, sessions."""

from __future__ import annotations

import json
import shlex
import sqlite3
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small_world import World

ANSWERING = 'import sys\nfor line in sys.stdin: print(\'{"answer": "2"}\', flush=True)\n'


def no_database(world: World) -> None:
    database(world).write_bytes(b"no database" * 999)


def broken_pages(world: World) -> None:
    content = database(world).read_bytes()
    database(world).write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def missing_database(world: World) -> None:
    database(world).unlink()


def missing_table(world: World) -> None:
    connection = sqlite3.connect(database(world))
    with connection:
        connection.execute("DROP TABLE goods")
    connection.close()


def cut_reference(world: World) -> None:
    file = world.file("output", "farm")
    file.write_text(file.read_text()[:300])


def cut_question(world: World) -> None:
    file = world.file("input", "farm")
    file.write_text(file.read_text()[:300])


def cut_prediction(world: World) -> None:
    file = world.predictions("farm")
    file.write_text(file.read_text()[:300])


FAULTS = [no_database, broken_pages, missing_database, missing_table, cut_reference, cut_question, cut_prediction]


def database(world: World) -> Path:
    return world.data / "databases" / "farm" / "farm.sqlite"


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def stored(file: Path) -> Iterator[str]:
    """Every text of a store, large ones unpacked; but for the folder by which a session finds its dataset again."""
    connection = sqlite3.connect(file)
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        rows = connection.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in rows.description]
        for row in rows:
            for name, value in zip(names, row, strict=True):
                if isinstance(value, str | bytes) and (table, name) != ("session", "dataset_path"):
                    yield unpacked(value)
    connection.close()


def unpacked(value: str | bytes) -> str:
    if isinstance(value, str):
        return value
    try:
        return zlib.decompress(value).decode("utf-8", "replace")
    except zlib.error:
        return value.decode("utf-8", "replace")


@pytest.mark.parametrize("by_an_agent", [False, True], ids=["run", "agent"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_failure_carries_a_path_of_this_machine(
    fault: Callable[[World], None], by_an_agent: bool, world: World
) -> None:
    fault(world)
    agent = f"command:{shlex.join([sys.executable, '-c', ANSWERING])}"
    source = ["--agent", agent, "--predictions-out", "made"] if by_an_agent else ["--run", str(world.run)]
    done = world.done("--batch", world.data, *source, "--out", "report.json")
    report = json.loads((world.root / "report.json").read_text())
    assert report["instances"], done.stderr
    assert report["dataset"].pop("path") == str(world.data.resolve())
    found = [*texts(report), *stored(world.root / "data-home" / "vakra-tui" / "sessions.sqlite")]
    made = sorted((world.root / "made").rglob("*.json"))
    assert bool(made) == by_an_agent
    for file in made:
        found.extend(texts(json.loads(file.read_text())))
    assert [text for text in found for root in (world.root, world.root.resolve()) if str(root) in text] == []
