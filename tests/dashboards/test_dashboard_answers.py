"""What an endpoint answers: envelopes, cells that JSON has no word for, and errors that a caller can act on."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.zoo_endpoints import ToolsFactory, endpoint
from toolenv.errors import EnvironmentFailure


def contents(path: Path) -> dict[str, bytes]:
    """Everything in the folder of a file."""
    return {entry.name: entry.read_bytes() for entry in path.parent.iterdir()}


def remove(path: Path) -> None:
    path.unlink()


def spoil(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)


def spoil_behind(path: Path) -> None:
    """Damage the pages of a table that is larger than the first ones."""
    with sqlite3.connect(path) as connection:
        connection.executemany("INSERT INTO keeper (name) VALUES (?)", [("x" * 500,)] * 200)
    connection.close()
    whole = bytearray(path.read_bytes())
    for page in range(4 * 4096, len(whole), 4096):
        whole[page : page + 100] = b"\xff" * 100
    path.write_bytes(whole)


NAMES = "SELECT name FROM animal WHERE legs = :legs ORDER BY id"


def strict(text: str) -> Any:
    """Decode as a strict parser would: no NaN, no Infinity."""
    return json.loads(text, parse_constant=lambda token: pytest.fail(f"bare {token} in {text}"))


@pytest.mark.parametrize(
    ("shape", "sql", "body"),
    [
        ("list", "SELECT name FROM animal WHERE id < 3", ["Löwe", "snake"]),
        ("scalar", "SELECT count(*) FROM animal", 4),
        ("objects", "SELECT id, name FROM animal WHERE id = 1", [{"id": 1, "name": "Löwe"}]),
        ("rows", "SELECT id, legs FROM animal WHERE id = 3", [[3, None]]),
        ("scalar", "SELECT name FROM animal WHERE id = 99", []),
        ("list", "SELECT name FROM animal WHERE id = 99", []),
        ("scalar", "SELECT max(weight) FROM animal WHERE id = 99", None),
        ("scalar", "SELECT count(*) FROM animal WHERE id = 99", 0),
    ],
)
async def test_envelope(tools_of: ToolsFactory, shape: Any, sql: str, body: Any) -> None:
    result = await tools_of(endpoint("get", sql, shape)).call("get", {})
    assert not result.failed
    assert result.text == json.dumps({"found": body}, indent=2)


async def test_cells_that_json_has_no_word_for_keep_their_rows(tools_of: ToolsFactory) -> None:
    tools = tools_of(endpoint("get", "SELECT weight, photo FROM animal ORDER BY id", "rows"))
    assert strict((await tools.call("get", {})).text)["found"] == [
        [190.5, {"$base64": "AP8="}],
        ["Infinity", {"$base64": ""}],
        ["-Infinity", None],
        [0.1, "text"],
    ]


async def test_text_that_is_not_utf8_is_read_as_latin1_and_marked(tools_of: ToolsFactory) -> None:
    tools = tools_of(
        endpoint("all", "SELECT name FROM animal ORDER BY id"),
        endpoint("one", "SELECT id FROM animal WHERE name = :name", name="string"),
    )
    everything = await tools.call("all", {})
    assert strict(everything.text)["found"] == ["Löwe", "snake", None, "Åland"]
    assert any("Latin-1" in note for note in everything.notes)
    found = await tools.call("one", {"name": "Löwe"})
    assert strict(found.text)["found"] == [1]
    assert found.notes == ()


async def test_equal_column_names_lose_no_value(tools_of: ToolsFactory) -> None:
    tools = tools_of(
        endpoint("get", "SELECT * FROM keeper JOIN animal ON animal.id = keeper.animal_id", "objects"),
        endpoint("mixed", "SELECT id, legs AS ID, name FROM animal WHERE id = 1", "objects"),
    )
    (row,) = strict((await tools.call("get", {})).text)["found"]
    assert (row["id"], row["name"], row["id_2"], row["name_2"]) == (7, "Ada", 1, "Löwe")
    assert strict((await tools.call("mixed", {})).text)["found"] == [{"id": 1, "ID_2": 4, "name": "Löwe"}]


@pytest.mark.parametrize("legs", [2**63, -(2**63) - 1, 10**30, 1e22, 1e300])
async def test_a_number_out_of_range_fails_with_its_reason(tools_of: ToolsFactory, legs: float) -> None:
    tools = tools_of(endpoint("get", NAMES, legs="integer"))
    result = await tools.call("get", {"legs": legs})
    assert result.failed
    assert not result.is_error
    assert result.text.startswith("Error calling API: ")
    assert "legs" in result.text or "p0" in result.text
    assert strict((await tools.call("get", {"legs": 2**63 - 1})).text)["found"] == ["Åland"]


@pytest.mark.parametrize("legs", [4, 4.0])
async def test_a_whole_number_passes_as_integer(tools_of: ToolsFactory, legs: float) -> None:
    result = await tools_of(endpoint("get", NAMES, legs="integer")).call("get", {"legs": legs})
    assert strict(result.text)["found"] == ["Löwe"]


@pytest.mark.parametrize("name", ["O'Neil & Ünï/?=%#+ ;", "a\nb\0c", "😀", "\ud800", "x" * 50_000])
async def test_any_text_can_be_sent(tools_of: ToolsFactory, name: str) -> None:
    tools = tools_of(endpoint("get", "SELECT :name", "scalar", name="string"))
    result = await tools.call("get", {"name": name})
    assert not result.failed
    if name != "\ud800":
        assert strict(result.text) == {"found": name}


async def test_a_statement_that_never_ends_is_stopped(tools_of: ToolsFactory) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    tools = tools_of(endpoint("get", endless, "scalar"), endpoint("next", "SELECT 1", "scalar"), deadline_s=0.05)
    result = await tools.call("get", {})
    assert result.failed
    assert "took longer than 0.05 s" in result.text
    assert not (await tools.call("next", {})).failed


async def test_an_answer_with_too_many_rows_is_refused(tools_of: ToolsFactory) -> None:
    tools = tools_of(endpoint("get", "SELECT id FROM animal"), row_cap=3)
    result = await tools.call("get", {})
    assert result.failed
    assert "more than 3 rows" in result.text


async def test_a_value_that_would_fill_the_memory_is_refused(tools_of: ToolsFactory) -> None:
    result = await tools_of(endpoint("get", "SELECT zeroblob(200000000)", "scalar")).call("get", {})
    assert result.failed
    assert "too big" in result.text


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM animal RETURNING id",
        "ATTACH DATABASE '/tmp/elsewhere.sqlite' AS other",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('x')",
        "CREATE TABLE t (a)",
        "SELECT * FROM no_such_table",
        "SELECT (",
    ],
)
async def test_only_reading_is_allowed(tools_of: ToolsFactory, database_file: Path, sql: str) -> None:
    before = contents(database_file)
    result = await tools_of(endpoint("get", sql)).call("get", {})
    assert result.failed
    assert result.text.startswith("Error calling API: ")
    assert contents(database_file) == before


async def test_offload_gives_the_same_answers_to_many_at_once(tools_of: ToolsFactory) -> None:
    tools = tools_of(endpoint("get", NAMES, legs="integer"), offload=True)
    wanted = {0: ["snake"], 4: ["Löwe"], 5: []}
    answers = await asyncio.gather(*(tools.call("get", {"legs": n}) for n in [0, 4, 5] * 20))
    assert [strict(a.text)["found"] for a in answers] == [wanted[n] for n in [0, 4, 5] * 20]


async def test_a_database_that_is_not_there_is_a_failure_of_the_environment(
    tools_of: ToolsFactory, database_file: Path
) -> None:
    tools = tools_of(endpoint("get", "SELECT 1"))
    remove(database_file)
    with pytest.raises(EnvironmentFailure, match="is not there"):
        await tools.call("get", {})


async def test_a_file_that_is_no_database_is_a_failure_of_the_environment(
    tools_of: ToolsFactory, database_file: Path
) -> None:
    tools = tools_of(endpoint("get", "SELECT 1"))
    spoil(database_file)
    with pytest.raises(EnvironmentFailure, match="cannot be opened"):
        await tools.call("get", {})


async def test_damage_behind_the_first_pages_is_a_failure_of_the_environment(
    tools_of: ToolsFactory, database_file: Path
) -> None:
    spoil_behind(database_file)
    with pytest.raises(EnvironmentFailure, match="cannot be read"):
        await tools_of(endpoint("get", "SELECT name FROM keeper")).call("get", {})


async def test_a_write_ahead_log_beside_the_database_is_read(tools_of: ToolsFactory, database_file: Path) -> None:
    writer = sqlite3.connect(database_file)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE animal SET name = 'lion' WHERE id = 1")
        writer.commit()
        result = await tools_of(endpoint("get", "SELECT name FROM animal WHERE id = 1", "scalar")).call("get", {})
    finally:
        writer.close()
    assert strict(result.text) == {"found": "lion"}


async def test_the_last_user_closes_the_connection(tools_of: ToolsFactory, database_file: Path) -> None:
    tools = tools_of(endpoint("get", "SELECT 1", "scalar"))

    def handles() -> int:
        return sum(1 for link in Path("/proc/self/fd").iterdir() if _target(link) == database_file)

    for _ in range(3):
        tools.database.acquire()
    await tools.call("get", {})
    assert handles() == 1
    for _ in range(3):
        tools.database.release()
    assert handles() == 0
    assert not (await tools.call("get", {})).failed


def _target(link: Path) -> Path | None:
    try:
        return link.readlink()
    except OSError:
        return None
