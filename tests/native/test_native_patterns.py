"""Patterns and loads of native sessions: as released, and none that hangs a session."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.native.asking import ask, failure
from tests.native.native_world import World, make_database, universe
from toolenv.errors import EnvironmentFailure
from toolenv.native import loading, patterns, reading


@pytest.mark.parametrize(
    ("pattern", "texts", "wanted"),
    [
        ("i", ["istanbul", "ISTANBUL", "İstanbul", "x"], [True, True, False, False]),
        ("İ", ["İstanbul", "istanbul", "i"], [True, False, False]),
        ("[[:alpha:]]b", ["ab", "1b", ":b"], [True, False, False]),
        (r"a\Z", ["ba", "ab"], [True, False]),
        ("a$", ["a", "a\n", "ab"], [True, True, False]),
        (r"\d", ["1", "٣", "x"], [True, True, False]),
        (r"(?<=a)b", ["ab", "cb"], [True, False]),
        (r"(a)\1", ["aa", "ab"], [True, False]),
        (r"\s", ["a\x0bb", "ab"], [True, False]),
        ("ß", ["ẞ", "ss"], [True, False]),
        ("", ["", "a"], [True, True]),
    ],
)
def test_text_columns_match_as_arrow_does(pattern: str, texts: list[str], wanted: list[bool]) -> None:
    matches = patterns.contains(pattern, texts, arrow=True)
    assert [matches(text) for text in texts] == wanted


@settings(max_examples=150, deadline=None)
@given(
    pattern=st.text("ab1.*+?|()[]^$ -{,}", max_size=7),
    cells=st.lists(st.none() | st.text("abAB1é ", max_size=5), min_size=1, max_size=6),
)
def test_searching_all_cells_at_once_finds_what_searching_each_does(pattern: str, cells: list[str | None]) -> None:
    texts = [cell for cell in cells if cell is not None]
    for search in (patterns.places_holding, patterns.places_matching):
        if search is patterns.places_holding and patterns.has_wildcards(pattern):
            continue
        found = search(cells, pattern)
        if found is not None:
            matches = patterns.contains(pattern, [*texts, "é"], arrow=True)
            assert found == [row for row, cell in enumerate(cells) if cell is not None and matches(cell)]


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("a.b", "a*b", True),
        ("a_b", "a\nb", False),
        ("line%", "line\nbreak", False),
        ("line%", "line\n", True),
        ("%", "", True),
        ("%", "a\nb", False),
        ("a%b%c", "aXbYc", True),
        ("a%a", "a", False),
        ("ab%bc", "abc", False),
        ("A%", "abc", False),
        ("100%", "100%", True),
        (r"a\%", "a\\x", True),
        ("a+", "a+", True),
        (".*", "anything", True),
        ("\ud800", "x", False),
    ],
)
def test_like_as_released(pattern: str, text: str, wanted: bool) -> None:
    assert patterns.like(pattern)(text) is wanted


@pytest.mark.parametrize("pattern", ["(", "*", "a{2,1}", "[z-a]", "(?P<n", "\\", "a+" * 10_000, "\ud800"])
async def test_what_is_no_pattern_is_a_failed_call(world: World, pattern: str) -> None:
    session = await world.session("slot")
    await ask(session, "get_data")
    arguments = {"data_label": "retrieved_shop_1", "key_name": "shop_name", "value": pattern, "condition": "contains"}
    kind, is_error, text = await failure(session, "filter_data", **arguments)
    assert (kind, is_error) == ("tool_failed", False)
    assert "pattern" in text or "regular expression" in text


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(?=(a+)+$)b", r"(a*)*\1$", "%a%a%a%a%a%a%a%b"])
async def test_no_pattern_can_hang_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.setattr(patterns, "DEADLINE_S", 0.2)
    long = "a" * 5000 + "c\n"
    script = f"CREATE TABLE t (text TEXT, mixed); INSERT INTO t VALUES ('{long}', '{long}'), ('', 1);"
    session = await World(make_database(tmp_path / "t.sqlite", script), universe("u", {"": "t"})).session()
    await ask(session, "get_data")
    condition = "like" if "%" in pattern else "contains"
    started = time.monotonic()
    for key in ("text", "mixed"):
        arguments = {"data_label": "retrieved_data_1", "key_name": key, "value": pattern, "condition": condition}
        await session.call("filter_data", arguments)
    assert time.monotonic() - started < 30
    assert (await ask(session, "get_data"))["num_records"] == 2


async def test_a_load_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ", ".join(["(1)"] * 3000)
    script = f"CREATE TABLE a (k); CREATE TABLE b (k); INSERT INTO a VALUES {rows}; INSERT INTO b VALUES {rows};"
    joined = universe("u", {"A": "a", "B": "b", "C": "a"}, [("A.k", "B.k"), ("B.k", "C.k")])
    world = World(make_database(tmp_path / "t.sqlite", script), joined)
    monkeypatch.setattr(reading, "DEADLINE_S", 0.3)
    with pytest.raises(EnvironmentFailure, match="took longer"):
        await (await world.session()).call("get_data", {})
    monkeypatch.setattr(reading, "DEADLINE_S", 60.0)
    monkeypatch.setattr(reading, "CELL_CAP", 30_000)
    monkeypatch.setattr(loading, "_FEW_CELLS", 0)
    with pytest.raises(EnvironmentFailure, match="more than"):
        await (await world.session()).call("get_data", {})
