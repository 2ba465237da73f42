"""Databases as they are found: odd text, bytes, infinities, equal names, read-only folders, damaged files."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.native.native_world import World, make_database, universe
from toolenv.errors import EnvironmentFailure, NoEnvironment
from toolenv.native import NativeSession

TABLE = {"": "t"}


async def peek(session: NativeSession, **arguments: Any) -> dict[str, Any]:
    result = await session.call("get_data", arguments)
    assert not result.failed, result.text
    return dict(json.loads(result.text))


async def cells(session: NativeSession, handle: str) -> list[tuple[Any, ...]]:
    view = await session.table(handle)
    assert view is not None
    return list(view.rows(0, view.num_records))


async def kept(session: NativeSession, key: str, value: Any, condition: str = "equal_to") -> int:
    arguments = {"data_label": "retrieved_data_1", "key_name": key, "value": value, "condition": condition}
    return int(json.loads((await session.call("filter_data", arguments)).text)["num_records"])


# --- text that is not UTF-8 ------------------------------------------------------------------------------------------

LATIN_1 = "x'c56c616e64'"


async def test_text_of_another_encoding_keeps_every_row_and_is_marked(tmp_path: Path) -> None:
    script = f"""
        CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO t VALUES (1, CAST({LATIN_1} AS TEXT)), (2, 'Åland'), (3, CAST(x'410042' AS TEXT));
    """
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE)).session()
    opened = await session.call("get_data", {})
    assert json.loads(opened.text)["num_records"] == 3
    assert any("name" in note and "Latin-1" in note for note in opened.notes)
    assert await cells(session, "retrieved_data_1") == [(1, "Åland"), (2, "Åland"), (3, "A\x00B")]
    assert await kept(session, "name", "Åland") == 2
    assert await kept(session, "name", "A\x00B") == 1
    again = await session.call("get_data", {})
    assert again.text.replace("retrieved_data_2", "retrieved_data_1") == opened.text


async def test_odd_text_in_either_side_of_a_join_survives(tmp_path: Path) -> None:
    script = f"""
        CREATE TABLE a (id INTEGER, name TEXT);
        CREATE TABLE b (a_id INTEGER, note TEXT);
        INSERT INTO a VALUES (1, CAST({LATIN_1} AS TEXT));
        INSERT INTO b VALUES (1, 'ok'), (1, CAST(x'ff' AS TEXT));
    """
    joined = universe("u", {"A": "a", "B": "b"}, [("A.id", "B.a_id")])
    session = await World(make_database(tmp_path / "t.sqlite", script), joined).session()
    opened = await session.call("get_data", {})
    assert {"a_name", "b_note"} <= set(opened.notes[-1].replace(",", "").split())
    assert await cells(session, "retrieved_a_1") == [(1, "Åland", 1, "ok"), (1, "Åland", 1, "ÿ")]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.binary(max_size=12), min_size=1, max_size=5))
async def test_any_bytes_stored_as_text_come_back_as_text(tmp_path: Path, texts: list[bytes]) -> None:
    path = tmp_path / "any.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (v TEXT)")
        connection.executemany("INSERT INTO t VALUES (CAST(? AS TEXT))", [(text,) for text in texts])
        connection.commit()
    session = await World(path, universe("u", TABLE)).session()
    assert (await peek(session))["num_records"] == len(texts)
    for text, (cell,) in zip(texts, await cells(session, "retrieved_data_1"), strict=True):
        assert isinstance(cell, str)
        assert cell.encode() == text or cell.encode("latin-1") == text


# --- bytes -----------------------------------------------------------------------------------------------------------


async def test_a_binary_cell_spoils_no_row_and_no_other_column(tmp_path: Path) -> None:
    script = """
        CREATE TABLE t (id INTEGER, pic BLOB, note TEXT);
        INSERT INTO t VALUES (1, x'89504e47', 'png'), (2, 'plain', ''), (3, x'', 'empty'), (4, NULL, NULL);
    """
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE)).session()
    opened = await session.call("get_data", {})
    assert (opened.failed, opened.is_error, opened.error_kind) == (True, True, "tool_failed")
    assert opened.handle == "retrieved_data_1"
    assert "pic" in opened.text
    assert await cells(session, "retrieved_data_1") == [
        (1, {"$base64": "iVBORw=="}, "png"),
        (2, "plain", ""),
        (3, {"$base64": ""}, "empty"),
        (4, None, None),
    ]
    columns = {"data_label": "retrieved_data_1", "key_name": ["id", "note"]}
    shown = await session.call("retrieve_data", columns)
    assert json.loads(shown.text)["handle"] == "retrieved_data_2", "the failed call has used number 1"
    null = {"data_label": "retrieved_data_1", "key_name": "pic", "value": None, "condition": "equal_to"}
    assert json.loads((await session.call("filter_data", null)).text)["num_records"] == 1
    contains = {"data_label": "retrieved_data_1", "key_name": "pic", "value": "a", "condition": "contains"}
    assert (await session.call("filter_data", contains)).error_kind == "tool_failed"


async def test_a_getter_of_a_binary_column_fails_and_the_session_goes_on(tmp_path: Path) -> None:
    script = "CREATE TABLE t (id INTEGER, pic BLOB); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, x'00');"
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE, style="sel")).session()
    assert (await peek(session))["num_records"] == 4, "no binary cell among the three that are shown"
    result = await session.call("get_pics", {"data_label": "retrieved_data_1"})
    assert (result.failed, result.is_error) == (True, True)
    assert (await session.call("get_ids", {"data_label": "retrieved_data_1"})).text == "[1, 2, 3, 4]"


# --- infinities ------------------------------------------------------------------------------------------------------


async def test_infinities_are_numbers_and_not_nulls(tmp_path: Path) -> None:
    script = "CREATE TABLE t (id INTEGER, v REAL); INSERT INTO t VALUES (1, 9e999), (2, -9e999), (3, 0.1), (4, NULL);"
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE)).session()
    text = (await session.call("get_data", {})).text
    assert '"first_3_values": [Infinity, -Infinity, 0.1]' in text
    assert await cells(session, "retrieved_data_1") == [
        (1, float("inf")),
        (2, float("-inf")),
        (3, 0.1),
        (4, None),
    ]
    assert await kept(session, "v", None) == 1
    assert await kept(session, "v", 1e300, "greater_than") == 1
    aggregate = {"data_label": "retrieved_data_1", "key_name": "v", "aggregation_operation": "max"}
    assert (await session.call("aggregate_data", aggregate)).text == "inf"


# --- numbers out of range --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63) - 1, 10**400, "9" * 400, 1e30, "1985", 1985.0])
async def test_numbers_of_any_size_are_compared_or_refused_and_the_next_call_works(tmp_path: Path, value: Any) -> None:
    script = "CREATE TABLE t (id INTEGER, v REAL); INSERT INTO t VALUES (1985, 1.5), (9223372036854775807, 2.5);"
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE)).session()
    await peek(session)
    for key in ("id", "v"):
        arguments = {"data_label": "retrieved_data_1", "key_name": key, "value": value, "condition": "equal_to"}
        result = await session.call("filter_data", arguments)
        assert result.failed or json.loads(result.text)["num_records"] <= 1
    assert await kept(session, "id", 1985) == 1


@pytest.mark.parametrize("value", [True, None, "1", [1], {}])
async def test_arguments_of_the_wrong_type_are_refused(tmp_path: Path, value: Any) -> None:
    session = await World(make_database(tmp_path / "t.sqlite", "CREATE TABLE t (id)"), universe("u", TABLE)).session()
    await peek(session)
    arguments = {"data_label": "retrieved_data_1", "key_name": "id", "limit": value}
    result = await session.call("retrieve_data", arguments)
    assert (result.error_kind, result.is_error) == ("refused_arguments", True)


# --- equal names -----------------------------------------------------------------------------------------------------


async def test_equal_column_names_of_two_tables_stay_apart(tmp_path: Path) -> None:
    script = """
        CREATE TABLE Team (id INTEGER, name TEXT); INSERT INTO Team VALUES (1, 'Bears');
        CREATE TABLE Coach (id INTEGER, name TEXT, team_id INTEGER); INSERT INTO Coach VALUES (7, 'Kim', 1);
    """
    joined = universe("u", {"T": "Team", "C": "Coach"}, [("T.ID", "C.Team_Id")])
    session = await World(make_database(tmp_path / "t.sqlite", script), joined).session()
    details = (await peek(session))["key_details"]
    assert [(item["name"], item["first_3_values"]) for item in details] == [
        ("Team_id", [1]),
        ("Team_name", ["Bears"]),
        ("Coach_id", [7]),
        ("Coach_name", ["Kim"]),
        ("Coach_team_id", [1]),
    ]


async def test_names_that_become_equal_are_reported_and_keep_the_last_values(tmp_path: Path) -> None:
    script = 'CREATE TABLE t ("a b" INTEGER, x TEXT, "a-b" INTEGER); INSERT INTO t VALUES (1, \'x\', 2);'
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", TABLE)).session()
    result = await session.call("get_data", {})
    details = json.loads(result.text)["key_details"]
    assert [(item["name"], item["first_3_values"]) for item in details] == [("a_b", [2]), ("x", ["x"])]
    assert any("a_b" in note and "S11" in note for note in result.notes)


@pytest.mark.parametrize("name", ['we"ird', "sel'ect", "order", "a;drop table t", "日本", "x[1]", "per%cent"])
async def test_names_are_never_read_as_sql(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    script = f"CREATE TABLE {quoted} (id INTEGER, {quoted} TEXT); INSERT INTO {quoted} VALUES (1, 'v');"
    joined = universe("j", {"A": name, name: name}, [("A.id", f"{name}.id")])
    world = World(make_database(tmp_path / "t.sqlite", script), universe("u", {"": name}), joined)
    session = await world.session()
    assert (await peek(session))["num_records"] == 1
    assert (await peek(session, tool_universe_id="j"))["num_records"] == 1


# --- read-only places, damaged files ---------------------------------------------------------------------------------


async def test_a_cleanly_closed_wal_database_opens_and_nothing_is_written_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    make_database(folder / "w.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    assert [entry.name for entry in folder.iterdir()] == ["w.sqlite"]
    (folder / "w.sqlite").chmod(0o444)
    folder.chmod(0o555)
    try:
        session = await World(folder / "w.sqlite", universe("u", TABLE)).session()
        assert (await peek(session))["num_records"] == 1
        assert [entry.name for entry in folder.iterdir()] == ["w.sqlite"]
    finally:
        folder.chmod(0o755)


async def test_rows_that_still_lie_in_the_wal_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);")
        writer.commit()
        assert (tmp_path / "w.sqlite-wal").exists()
        session = await World(path, universe("u", TABLE)).session()
        assert (await peek(session))["num_records"] == 2


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, None])
async def test_a_file_that_is_no_database_is_an_environment_failure_with_its_name(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "broken.sqlite"
    if content is None:
        make_database(path, "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(100000));")
        whole = bytearray(path.read_bytes())
        whole[4096 * 3 :] = os.urandom(len(whole) - 4096 * 3)
        whole[4096 : 4096 + 200] = b"\xff" * 200
        path.write_bytes(bytes(whole))
    else:
        path.write_bytes(content)
    session = await World(path, universe("u", TABLE)).session()
    if content == b"":
        result = await session.call("get_data", {})
        assert result.error_kind == "tool_failed"
        assert "no such table" in result.text
    else:
        with pytest.raises(EnvironmentFailure, match=r"broken\.sqlite"):
            await session.call("get_data", {})


async def test_a_domain_without_a_database_has_no_environment(tmp_path: Path) -> None:
    world = World(tmp_path / "missing.sqlite", universe("u", TABLE))
    environment = world.environment()
    assert not environment.serves(1, "d")
    with pytest.raises(NoEnvironment, match="domain d"):
        await environment.open(world.instance("u"))


async def test_a_database_that_changes_under_a_session_is_noticed(tmp_path: Path) -> None:
    path = make_database(tmp_path / "t.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);")
    session = await World(path, universe("u", TABLE)).session(memory_limit=0)
    await peek(session)
    await session.call("sort_data", {"data_label": "retrieved_data_1", "key_name": "a"})
    make_database(path, "INSERT INTO t VALUES (3);")
    with pytest.raises(EnvironmentFailure, match="has changed"):
        await session.call("sort_data", {"data_label": "retrieved_data_1", "key_name": "a", "ascending": True})


# --- ties ------------------------------------------------------------------------------------------------------------


async def test_ties_keep_the_file_order_and_every_run_says_the_same(tmp_path: Path) -> None:
    script = """
        CREATE TABLE t (id INTEGER, goals INTEGER, weight TEXT);
        INSERT INTO t VALUES (3, 10, '9'), (1, 10, '100'), (2, 10, '20'), (4, NULL, '');
    """
    path = make_database(tmp_path / "t.sqlite", script)
    shutil.copy(path, tmp_path / "copy.sqlite")
    texts = []
    for file in (path, tmp_path / "copy.sqlite", path):
        session = await World(file, universe("u", TABLE)).session()
        await peek(session)
        for key, ascending in (("goals", False), ("goals", True), ("weight", False)):
            arguments = {"data_label": "retrieved_data_1", "key_name": key, "ascending": ascending}
            texts.append((await session.call("sort_data", arguments)).text)
        orders = [[row[0] for row in await cells(session, f"sorted_data_{number}")] for number in (1, 2, 3)]
        assert orders == [[3, 1, 2, 4], [3, 1, 2, 4], [3, 2, 1, 4]]
    assert texts[:3] == texts[3:6] == texts[6:]
