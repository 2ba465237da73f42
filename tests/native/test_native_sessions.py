"""Tools, handles, switches, forks, memory and notes of native sessions."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.native.asking import ask, failure, names
from tests.native.native_world import World, make_database, universe
from toolenv.native import NativeSession
from toolenv.native.tools import selection_tools, slot_tools

# --- tools -----------------------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("style", ["slot", "selection_beer_factory"])
def test_schemas_are_those_of_the_release(shared: Path, style: str) -> None:
    listed = json.loads((shared / "golden" / f"tools_list_{style}.json").read_text("utf-8"))
    wanted = {tool["name"]: tool["inputSchema"] for tool in listed}
    columns = tuple(name[4:-1] for name in wanted if name.startswith("get_") and name != "get_data")
    ours = slot_tools() if style == "slot" else selection_tools(columns)
    assert {name: tool.spec.input_schema for name, tool in ours.items()} == wanted
    if style == "slot":
        assert list(ours) == list(wanted)


def test_every_tool_has_a_description_of_its_own() -> None:
    tools = [*slot_tools().values(), *selection_tools(("a",)).values()]
    assert all(len(tool.spec.description) > 20 for tool in tools)


async def test_a_selection_session_lists_the_getters_of_its_universe_from_the_start(world: World) -> None:
    session = await world.session("sel")
    listed = await names(session)
    assert listed[:7] == [
        "get_shop_ids",
        "get_shop_names",
        "get_shop_citys",
        "get_sale_sids",
        "get_sale_shop_ids",
        "get_sale_prices",
        "get_sale_days",
    ]
    assert len(listed) == 7 + 25 + 1
    await ask(session, "get_data")
    assert await names(session) == listed


async def test_a_switch_replaces_getters_and_tells_listeners(world: World) -> None:
    session = await world.session("sel")
    changes: list[str] = []
    session.on_tools_changed(lambda: changes.append("changed"))
    await ask(session, "get_data")
    assert changes == []
    await ask(session, "get_data", tool_universe_id="sales")
    assert changes == ["changed"]
    listed = await names(session)
    assert [name for name in listed if name.startswith("get_")] == [
        "get_sale_sids",
        "get_sale_shop_ids",
        "get_sale_prices",
        "get_sale_days",
        "get_data",
    ]
    kind, is_error, _ = await failure(session, "get_shop_ids", data_label="retrieved_sale_1")
    assert (kind, is_error) == ("unknown_tool", True)
    await ask(session, "get_data", tool_universe_id="shops")
    assert len(await names(session)) == 9
    assert len(changes) == 2


async def test_tools_of_the_other_style_and_hidden_ones_are_unknown(world: World) -> None:
    session = await world.session("slot")
    for name in ("compute_data_sum", "truncate", "initialize_active_data", "peek_fcn", "group_data_by", ""):
        assert (await failure(session, name, database_path="/etc/passwd"))[:2] == ("unknown_tool", True)


async def test_an_unknown_tool_is_told_its_neighbours(world: World) -> None:
    session = await world.session("slot")
    assert "filter_data" in (await failure(session, "filter_dta"))[2]
    assert "did you mean" not in (await failure(session, "zzz"))[2]


# --- handles ---------------------------------------------------------------------------------------------------------


async def test_handles_count_by_prefix_and_are_named_after_the_first_column(world: World) -> None:
    session = await world.session("slot")
    assert (await ask(session, "get_data"))["handle"] == "retrieved_shop_1"
    assert (await ask(session, "get_data", tool_universe_id="slot"))["handle"] == "retrieved_shop_2"
    sort = {"data_label": "retrieved_shop_1", "key_name": "sale_price"}
    assert (await ask(session, "sort_data", **sort))["handle"] == "sorted_shop_1"
    columns = {"data_label": "sorted_shop_1", "key_name": ["sale_day", "shop_id"]}
    assert (await ask(session, "retrieve_data", **columns))["handle"] == "retrieved_sale_3"
    assert (await ask(session, "get_data", tool_universe_id="shops"))["handle"] == "retrieved_data_1"


async def test_a_switch_forgets_handles_and_a_failed_one_leaves_no_table(world: World) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    for arguments in ({"tool_universe_id": "broken"}, {}, {"tool_universe_id": "broken"}):
        kind, is_error, text = await failure(session, "get_data", **arguments)
        assert (kind, is_error) == ("tool_failed", False)
        assert "nowhere" in text
        assert await session.table("retrieved_shop_1") is None
    assert len(await names(session)) == 26, "no getters without columns"
    assert (await ask(session, "get_data", tool_universe_id="slot"))["handle"] == "retrieved_shop_1"


async def test_an_unknown_universe_changes_nothing(world: World) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    kind, is_error, text = await failure(session, "get_data", tool_universe_id="no-such")
    assert (kind, is_error) == ("tool_failed", False)
    assert "no-such" in json.loads(text)["error"]
    assert (await ask(session, "get_data"))["handle"] == "retrieved_shop_2"


async def test_sessions_and_forks_never_see_each_others_handles(world: World) -> None:
    environment = world.environment()
    first = await environment.open(world.instance("slot"))
    second = await environment.open(world.instance("slot"))
    await first.call("get_data", {})
    assert await second.table("retrieved_shop_1") is None
    sort = {"data_label": "retrieved_shop_1", "key_name": "shop_name"}
    assert (await second.call("sort_data", sort)).error_kind == "tool_failed"
    fork = await first.fork()
    assert (await fork.call("sort_data", sort)).handle == "sorted_shop_1"
    assert await first.table("sorted_shop_1") is None
    assert (await first.call("sort_data", {**sort, "ascending": True})).handle == "sorted_shop_1"
    mine, theirs = await first.table("sorted_shop_1"), await fork.table("sorted_shop_1")
    assert mine is not None
    assert theirs is not None
    assert list(mine.column(1)) == list(reversed(list(theirs.column(1))))
    await first.close()
    assert (await fork.call("sort_data", sort)).handle == "sorted_shop_2"


async def test_views_are_equal_exactly_where_their_content_is(world: World) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    price = {"key_name": "sale_price", "value": 0, "condition": "greater_than"}
    await ask(session, "filter_data", data_label="retrieved_shop_1", **price)
    await ask(session, "sort_data", data_label="filtered_shop_1", key_name="sale_price")
    await ask(session, "sort_data", data_label="retrieved_shop_1", key_name="sale_price")
    await ask(session, "filter_data", data_label="sorted_shop_2", **price)
    views = [await session.table(handle) for handle in ("sorted_shop_1", "filtered_shop_2", "filtered_shop_1")]
    rows = [list(view.rows(0, 9)) for view in views if view is not None]
    assert rows[0] == rows[1] != rows[2]
    prints = [view.fingerprint for view in views if view is not None]
    assert prints[0] == prints[1] != prints[2]
    view = views[0]
    assert view is not None
    assert view.rows(1, 2) == rows[0][1:2]
    assert [column.name for column in view.columns][:2] == ["shop_id", "shop_name"]


async def test_work_in_threads_answers_the_same(world: World) -> None:
    plain, threaded = await world.session("slot"), await world.session("slot", offload=True)
    for name, arguments in (
        ("get_data", {}),
        ("sort_data", {"data_label": "retrieved_shop_1", "key_name": "sale_day"}),
        ("filter_data", {"data_label": "sorted_shop_1", "key_name": "nope", "value": 1, "condition": "like"}),
    ):
        one, other = await plain.call(name, arguments), await threaded.call(name, arguments)
        assert (one.text, one.handle, one.error_kind) == (other.text, other.handle, other.error_kind)


# --- handles where lists are wanted ----------------------------------------------------------------------------------


async def test_handles_are_taken_where_lists_are(world: World) -> None:
    session = await world.session("sel")
    await ask(session, "get_data")
    table = "retrieved_shop_1"
    short = await ask(session, "truncate", truncate_array=table, n=2)
    assert (short["handle"], short["num_records"]) == ("truncated_shop_1", 2)
    distinct = await ask(session, "select_unique_values", unique_array=table)
    assert (distinct["handle"], distinct["num_records"]) == ("unique_shop_1", 5)
    assert await ask(session, "truncate", truncate_array=[1, 2, 3], n=2) == [1, 2]
    assert await ask(session, "select_unique_values", unique_array=[1, 1.0, "1"]) == [1, "1"]
    assert (await failure(session, "truncate", truncate_array="nope", n=1))[:2] == ("refused_arguments", True)
    assert (await failure(session, "truncate", truncate_array=table, n=-1))[:2] == ("refused_arguments", True)
    assert (await failure(session, "truncate", truncate_array={"a": []}, n=1))[:2] == ("tool_failed", False)


async def test_a_table_of_one_column_is_a_list(world: World) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    await ask(session, "retrieve_data", data_label="retrieved_shop_1", key_name="sale_price")
    column = "retrieved_sale_2"
    assert await ask(session, "select_unique_values", unique_array=column) == [2.5, None, 4.0, -1.5]
    doubled = await session.call("Calculator", {"input_1": column, "input_2": 2, "operation": "multiply"})
    assert doubled.text == "[5.0, NaN, 8.0, -3.0, NaN]"
    ranked = await ask(session, "sort_data", data_label="retrieved_shop_1", ranking_array=column)
    assert ranked["key_details"][3]["first_3_values"] == [12, 10, 13]
    whole = {"input_1": "retrieved_shop_1", "input_2": 2, "operation": "add"}
    assert (await failure(session, "Calculator", **whole))[0] == "tool_failed"


async def test_a_result_too_long_to_be_written_is_a_failed_call(world: World) -> None:
    session = await world.session("slot")
    large = 10**4000
    for given in (large, [large, 1]):
        asked = {"input_1": given, "input_2": large, "operation": "multiply"}
        kind, _, text = await failure(session, "Calculator", **asked)
        assert kind == "tool_failed" and "cannot be written" in text


# --- memory ----------------------------------------------------------------------------------------------------------


async def test_rows_that_were_dropped_are_made_again(world: World) -> None:
    roomy, tight = await world.session("slot"), await world.session("slot", memory_limit=0)
    chain: list[tuple[str, dict[str, Any]]] = [
        ("get_data", {}),
        ("sort_data", {"data_label": "retrieved_shop_1", "key_name": "sale_price"}),
        (
            "filter_data",
            {"data_label": "sorted_shop_1", "key_name": "shop_city", "value": None, "condition": "not_equal_to"},
        ),
        ("transform_data", {"data_label": "filtered_shop_1", "key_name": "sale_day", "operation_type": "datetime"}),
        ("concatenate_data", {"data_label_1": "retrieved_shop_1", "data_label_2": "transformed_shop_1"}),
        ("retrieve_data", {"data_label": "concatenated_shop_1", "key_name": "sale_price", "distinct": True}),
        ("retrieve_data", {"data_label": "transformed_shop_1", "key_name": ["sale_day", "shop_id"], "limit": 3}),
    ]
    for name, arguments in [*chain, *chain[1:]]:
        assert (await roomy.call(name, arguments)).text == (await tight.call(name, arguments)).text
    for handle in ("sorted_shop_1", "transformed_shop_2", "concatenated_shop_1", "retrieved_sale_3"):
        one, other = await roomy.table(handle), await tight.table(handle)
        assert one is not None
        assert other is not None
        assert list(one.rows(0, 99)) == list(other.rows(0, 99))
        assert one.columns == other.columns
        assert one.fingerprint == other.fingerprint


async def test_a_long_chain_can_be_made_again(world: World) -> None:
    session = await world.session("shops", memory_limit=0)
    handle = (await ask(session, "get_data"))["handle"]
    for number in range(1500):
        sort = {"data_label": handle, "key_name": "name", "ascending": bool(number % 2)}
        handle = str((await session.call("sort_data", sort)).handle)
    view = await session.table(handle)
    assert view is not None
    assert [row[1] for row in view.rows(0, 4)] == ["Ada", "Bo", "Cy", "Di"]


async def test_memory_of_many_calls_stays_under_the_limit_and_closing_frees_it(tmp_path: Path) -> None:
    rows = ", ".join(f"({number}, 'name {number % 97}')" for number in range(2000))
    path = make_database(tmp_path / "t.sqlite", f"CREATE TABLE t (id INTEGER, name TEXT); INSERT INTO t VALUES {rows};")
    world = World(path, universe("u", {"": "t"}))
    limit = 1_000_000
    session = await world.session(memory_limit=limit)
    budget = session._services.cache.budget
    await ask(session, "get_data")
    for number in range(600):
        keep = {"data_label": "retrieved_data_1", "key_name": "id", "condition": "not_equal_to", "value": number}
        await session.call("filter_data", keep)
        assert budget.used <= limit
    held = budget.used
    await session.close()
    assert budget.used < held / 4


async def test_tables_are_shared_between_universes_and_sessions(world: World) -> None:
    environment = world.environment()
    for name in ("slot", "sel", "shops", "sales", "slot"):
        session = await environment.open(world.instance(name))
        await session.call("get_data", {})
    cache = environment._services.cache
    assert len(cache._stored) == 2
    assert len(cache._loaded) == 3, "the two styles of one join are one table"


async def test_views_and_tables_without_rowid_are_read_directly(tmp_path: Path) -> None:
    script = """
        CREATE TABLE a (k TEXT PRIMARY KEY, v INTEGER) WITHOUT ROWID;
        INSERT INTO a VALUES ('x', 1), ('y', 2);
        CREATE TABLE b (rowid TEXT, oid TEXT, _rowid_ TEXT, k TEXT);
        INSERT INTO b VALUES ('r', 'o', 'w', 'y');
        CREATE VIEW c AS SELECT k, v * 10 AS tenfold FROM a;
        CREATE TABLE d (k TEXT, n INTEGER); INSERT INTO d VALUES ('x', 1), ('y', NULL), ('x', 3), ('q', 0);
        DELETE FROM d WHERE n = 1;
    """
    path = make_database(tmp_path / "t.sqlite", script)
    chain = [("A.k", "B.k"), ("A.k", "C.k"), ("A.k", "D.k")]
    world = World(path, universe("u", {"A": "a", "B": "b", "C": "c", "D": "d"}, chain), universe("d", {"": "d"}))
    session = await world.session("u")
    await ask(session, "get_data")
    view = await session.table("retrieved_a_1")
    assert view is not None
    assert view.rows(0, 9) == [("y", 2, "r", "o", "w", "y", "y", 20, "y", None)]
    session = await world.session("d")
    await ask(session, "get_data")
    view = await session.table("retrieved_data_1")
    assert view is not None
    assert view.rows(0, 9) == [("y", None), ("x", 3), ("q", 0)]


# --- known quirks are said -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "tool", "arguments"),
    [
        ("S6", "aggregate_data", {"key_name": "sale_price", "aggregation_operation": "count", "distinct": True}),
        ("S7", "filter_data", {"key_name": "shop_id", "value": 1.7, "condition": "equal_to"}),
        (
            "S8",
            "aggregate_data",
            {"data_label": "sorted_shop_1", "key_name": "sale_price", "aggregation_operation": "argmax"},
        ),
        ("S10", "aggregate_data", {"key_name": "sale_price", "aggregation_operation": "count"}),
        ("S12", "filter_data", {"key_name": "sale_day", "value": "2020.", "condition": "contains"}),
        ("S12", "filter_data", {"key_name": "shop_name", "value": "a%", "condition": "like"}),
        (
            "S15",
            "transform_data",
            {"key_name": "sale_day", "operation_type": "datetime", "operation_args": {"pattern": "%H"}},
        ),
        (
            "S16",
            "filter_data",
            {"data_label": "sorted_shop_2", "key_name": "sale_day", "value": 2, "condition": "equal_to"},
        ),
    ],
)
async def test_a_known_quirk_carries_a_note(world: World, row: str, tool: str, arguments: dict[str, Any]) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    worst = {"data_label": "retrieved_shop_1", "ranking_array": [1, 5, 2, 3, 4]}
    await ask(session, "sort_data", **worst)
    await ask(session, "sort_data", data_label="retrieved_shop_1", ranking_array=[1, 2, 3, 4, 5])
    result = await session.call(tool, {"data_label": "retrieved_shop_1", **arguments})
    assert not result.failed, result.text
    assert any(row in note for note in result.notes), result.notes


async def test_an_ordinary_result_carries_no_note(world: World) -> None:
    session = await world.session("slot")
    assert (await session.call("get_data", {})).notes == ()
    like = {"key_name": "shop_name", "value": "A%", "condition": "like"}
    assert (await session.call("filter_data", {"data_label": "retrieved_shop_1", **like})).notes == ()
    count = {"key_name": "shop_id", "aggregation_operation": "count", "distinct": True}
    assert (await session.call("aggregate_data", {"data_label": "retrieved_shop_1", **count})).notes == ()
    divided = await session.call("Calculator", {"input_1": 1, "input_2": -2, "operation": "divide"})
    assert divided.text == "nan"
    assert any("S9" in note for note in divided.notes)


async def test_joins_that_are_not_what_was_declared_are_said(world: World) -> None:
    declared = universe("left", {"S": "shop", "V": "sale"}, [("S.id", "V.shop_id", "LEFT"), ("S.id", "V.sid", "INNER")])
    session = await World(world.path, declared).session()
    result = await session.call("get_data", {})
    assert json.loads(result.text)["num_records"] == 5
    assert sum("S11" in note for note in result.notes) == 2


# --- many at once ----------------------------------------------------------------------------------------------------


async def test_sessions_in_threads_answer_as_they_would_alone(world: World) -> None:
    chain: list[tuple[str, dict[str, Any]]] = [
        ("get_data", {}),
        (
            "filter_data",
            {"data_label": "retrieved_shop_1", "key_name": "shop_city", "value": "Bern", "condition": "equal_to"},
        ),
        ("sort_data", {"data_label": "filtered_shop_1", "key_name": "sale_price"}),
        ("aggregate_data", {"data_label": "sorted_shop_1", "key_name": "sale_price", "aggregation_operation": "mean"}),
        ("get_data", {"tool_universe_id": "shops"}),
        ("aggregate_data", {"data_label": "retrieved_data_1", "aggregation_operation": "count"}),
    ]
    alone = [(await (session := await world.session("slot")).call(*chain[0])).text]
    alone += [(await session.call(name, arguments)).text for name, arguments in chain[1:]]
    environment = world.environment(offload=True, memory_limit=2000)

    async def run() -> list[str]:
        own = await environment.open(world.instance("slot"))
        return [(await own.call(name, arguments)).text for name, arguments in chain]

    def open_files() -> list[str]:
        """Files, temporary ones too; no sockets or pipes, which servers of other tests close when they like."""
        found = []
        for link in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # that of this very folder
                found.append(str(link.readlink()))
        return sorted(target for target in found if target.startswith("/") and not target.startswith("/proc/"))

    files = open_files()
    assert all(texts == alone for texts in await asyncio.gather(*(run() for _ in range(40))))
    assert open_files() == files, "no file stays open"


async def test_sessions_that_take_the_same_step_share_its_table(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "t.sqlite", "CREATE TABLE t (id INTEGER, name TEXT); INSERT INTO t VALUES (1, '1');"
    )
    world = World(path, universe("u", {"": "t"}))
    environment = world.environment()
    tables = []
    for _ in range(2):
        session = await environment.open(world.instance())
        assert isinstance(session, NativeSession)
        await ask(session, "get_data")
        keep = {"data_label": "retrieved_data_1", "key_name": "name", "condition": "equal_to"}
        made = [await ask(session, "filter_data", **keep, value=value) for value in ("1", 1, 1.0)]
        tables.append([session._handles[answer["handle"]] for answer in made])
    assert all(one is other for one, other in zip(*tables, strict=True))
    assert len(set(map(id, tables[0]))) == 3
    assert [table.count for table in tables[0]] == [1, 1, 0]
