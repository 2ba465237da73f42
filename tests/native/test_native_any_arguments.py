"""Whatever arguments a tool is given, a session answers and goes on."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.native.conftest import SCRIPT
from tests.native.native_world import World, make_database, universe
from toolenv.native.tools import selection_tools, slot_tools
from toolenv.schema import refusal

JOIN: Any = ({"S": "shop", "V": "sale"}, [("S.id", "V.shop_id")])
COLUMNS = ["shop_id", "shop_name", "shop_city", "sale_sid", "sale_shop_id", "sale_price", "sale_day"]
HANDLES = ["retrieved_shop_1", "sorted_shop_1", "retrieved_sale_2", "retrieved_shop_9", "filtered_shop_1"]
NUMBERS = [0, 1, -1, 2, 10**30, -(2**63), 1.5, 1e308, float("nan"), float("inf")]
WORDS = [
    *HANDLES,
    *COLUMNS,
    "",
    "%",
    "(",
    "a" * 50,
    "\ud800",
    "\x00",
    "%Y",
    "min",
    "equal_to",
    "contains",
    "like",
    "abs",
]

scalars = st.sampled_from([*WORDS, *NUMBERS, None, True, False]) | st.text(max_size=4)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["start_index", "pattern", "x"]), inner)
    ),
    max_leaves=4,
)
TOOLS = {**slot_tools(), **selection_tools(tuple(COLUMNS))}


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[str, dict[str, Any]]]:
    chain = []
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(sorted(TOOLS)))
        arguments: dict[str, Any] = {}
        for key, part in TOOLS[name].checked.input_schema["properties"].items():
            fitting = {
                "data_label": st.sampled_from(HANDLES),
                "data_label_1": st.sampled_from(HANDLES),
                "data_label_2": st.sampled_from(HANDLES),
                "key_name": st.sampled_from(COLUMNS),
            }.get(key, st.sampled_from(part["enum"]) if "enum" in part else values)
            if draw(st.integers(0, 9)):
                arguments[key] = draw(fitting if draw(st.integers(0, 5)) else values)
        chain.append((name, arguments))
    return chain


async def run(chain: list[tuple[str, dict[str, Any]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = make_database(Path(folder) / "s.sqlite", SCRIPT)
        for style in ("slot", "sel"):
            session = await World(path, universe("u", *JOIN, style=style)).session()
            await session.call("get_data", {})
            sort = {"data_label": "retrieved_shop_1", "key_name": "sale_price"}
            await session.call("sort_data" if style == "slot" else "sort_data_descending", sort)
            await session.call("retrieve_data", {"data_label": "sorted_shop_1", "key_name": "sale_price"})
            for name, arguments in chain:
                result = await session.call(name, arguments)
                assert result.failed == (result.error_kind is not None)
                if result.error_kind == "refused_arguments":
                    assert refusal(TOOLS[name].spec, arguments) is not None
                if not result.failed and result.handle is not None:
                    assert json.loads(result.text)["handle"] == result.handle
                    view = await session.table(result.handle)
                    assert view is not None
                    assert len(view.rows(0, 99)) == view.num_records or not view.columns
                    assert view.fingerprint
            assert not (await session.call("get_data", {})).failed


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chain=calls())
def test_no_arguments_break_a_session(chain: list[tuple[str, dict[str, Any]]]) -> None:
    asyncio.run(run(chain))
