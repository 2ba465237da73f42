"""A reference path whose hops are not numbered through: a ``get_data`` of capabilities 2-4 counts for no gate."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import screen_toy as toy
from screen_session import predicted, referred, scene_on

from toolenv.model import GroundTruth
from vakra_tui.state.analysis import truth_view
from vakra_tui.state.comparison import ComparedRows, Side, compared
from vakra_tui.state.diagnosis import Place
from vakra_tui.state.lines import plain, text_of
from vakra_tui.state.panes import truth
from vakra_tui.state.panes.compared import detail_lines
from vakra_tui.state.panes.waterfall import broke_lines
from vakra_tui.state.scene import Scene

pytestmark = pytest.mark.asyncio

MADE = (("get_data", {}), ("get_top_brand", {}), ("get_data", {}), ("get_locations", {"name": "Dixie Brewing"}))


def gapped() -> Any:
    """The reference answers ``R0`` to ``R3`` in its file."""
    (instance,) = referred(*MADE)
    (turn,) = instance.ground_truth.turns
    told = msgspec.structs.replace(turn, responses=("R0", "R1", "R2", "R3"))
    return [msgspec.structs.replace(instance, ground_truth=GroundTruth(turns=(told,)))]


async def scene(**changes: Any) -> Scene:
    answers = {**toy.ANSWERS, "get_data": json.dumps({"none": 1})}
    runs = predicted(("get_top_brand", {}), ("get_locations", {"name": "Dixie Brewing"}))
    return await scene_on(instances=gapped(), runs=runs, environment=toy.ToyEnvironment(answers), **changes)


async def test_hops_have_one_number_before_and_after_they_are_executed() -> None:
    shown = await scene()
    numbers = [hop.number for hop in shown.truth.hops]
    assert numbers == [2, 4]
    before = truth_view(shown.instance, None, None, ended=False)
    assert [(hop.number, hop.call.name) for hop in before.hops] == [(2, "get_top_brand"), (4, "get_locations")]


async def test_each_hop_has_the_response_that_the_file_holds_for_it() -> None:
    assert [hop.file_response for hop in (await scene()).truth.hops] == ["R1", "R3"]


async def test_both_sides_of_such_a_path_are_compared() -> None:
    side = Side("a", "run", "a", await scene())
    found = compared(side, side)
    rows = ComparedRows(found)
    for width in (160, 80):
        told = [plain(rows.line(index)) for index in range(rows.layout(width))]
        assert any("recovered @1" in row or "\u2713 @1" in row for row in told)
    hops = [item for item in found.items if item.kind == "hop"]
    assert [text_of(detail_lines(item, found)).splitlines()[0] for item in hops] == [
        "hop 2 API get_top_brand",
        "hop 4 API get_locations",
    ]


@pytest.mark.parametrize(("hints", "first", "second"), [(0, False, False), (1, True, False), (2, True, True)])
async def test_a_hint_shows_the_next_hop_whatever_its_number(hints: int, first: bool, second: bool) -> None:
    hidden = msgspec.structs.replace(await scene(), reference_shown=False, hints=hints)
    told = text_of(truth.truth_lines(hidden))
    assert ("get_top_brand" in told, "get_locations" in told) == (first, second)


@pytest.mark.parametrize(("hints", "told"), [(0, False), (1, True)])
async def test_what_is_right_is_told_with_its_hop(hints: int, told: bool) -> None:
    hidden = msgspec.structs.replace(await scene(), reference_shown=False, hints=hints)
    place = Place(gate="tool_sequence", hop=2, what="it is missing", right="get_top_brand()")
    assert ("RIGHT" in text_of(broke_lines(hidden, [place], 0))) is told
