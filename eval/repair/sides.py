"""The two sides of a search with their calls made comparable: who made each handle, and which call stands for which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sessions.dataflow import Flow, MadeCall, MadeCalls
from sessions.dataflow.flows import handles_of
from toolenv.model import Json, ToolCall

Side = Literal["predicted", "truth"]


@dataclass(frozen=True, slots=True)
class Ref:
    """A handle in an argument: the table that call ``number`` of a side made (0: the opening)."""

    side: Side
    number: int


@dataclass(frozen=True)
class SideCall:
    """One call of a side. ``template`` are its arguments as executed, with a ``Ref`` for every handle."""

    side: Side
    made: MadeCall
    template: Any

    @property
    def number(self) -> int:
        return self.made.number

    @property
    def call(self) -> ToolCall:
        return self.made.call


@dataclass(frozen=True)
class Sides:
    """Both sides of a search. ``pairs`` maps a predicted call's number to that of the ground-truth call that it stands
    for, in order and one to one; ``flows`` are, by predicted call, the values that came from earlier responses."""

    predicted: tuple[SideCall, ...]
    truth: tuple[SideCall, ...]
    pairs: Mapping[int, int]
    flows: Mapping[int, tuple[Flow, ...]] = field(default_factory=dict)
    truth_flows: Mapping[int, tuple[Flow, ...]] = field(default_factory=dict)

    @property
    def standing_for(self) -> dict[int, int]:
        """Ground-truth call -> the predicted call that stands for it."""
        return {hop: step for step, hop in self.pairs.items()}

    def side(self, side: Side) -> tuple[SideCall, ...]:
        return self.predicted if side == "predicted" else self.truth

    def differing(self, step: int, hop: int) -> tuple[str, ...]:
        """The arguments in which two calls differ, handles compared by the calls that made them."""
        return differing(self.predicted[step - 1], self.truth[hop - 1], self.pairs)


def side_calls(side: Side, calls: MadeCalls) -> tuple[SideCall, ...]:
    """The calls of a side, numbered from 1 without gaps, their handles as references."""
    known = {made.index: handles for made, handles in handles_of(calls)}
    return tuple(
        SideCall(side=side, made=made, template=_template(dict(made.arguments), known[made.index], side))
        for made in calls.calls
    )


def _template(value: Json, handles: Mapping[str, MadeCall], side: Side) -> Any:
    if isinstance(value, str):
        maker = handles.get(value)
        return value if maker is None else Ref(side, maker.number)
    if isinstance(value, list | tuple):
        return [_template(item, handles, side) for item in value]
    if isinstance(value, dict):
        return {name: _template(item, handles, side) for name, item in value.items()}
    return value


def differing(predicted: SideCall, truth: SideCall, pairs: Mapping[int, int] | None = None) -> tuple[str, ...]:
    """Names of arguments in which two calls differ. Handles are equal where their makers stand for each other; without
    ``pairs`` any two handles are."""
    if predicted.call.raw_arguments is not None:
        return tuple(truth.template) or ("arguments",)
    names = dict.fromkeys((*truth.template, *predicted.template))
    return tuple(
        name
        for name in names
        if not _same(predicted.template.get(name, _ABSENT), truth.template.get(name, _ABSENT), pairs)
    )


_ABSENT = object()


def _same(left: Any, right: Any, pairs: Mapping[int, int] | None) -> bool:
    if isinstance(left, Ref) and isinstance(right, Ref):
        return pairs is None or left.number == right.number == 0 or pairs.get(left.number) == right.number
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return (type(left) is type(right) and bool(left == right)) or _numbers(left, right)


def _numbers(left: Any, right: Any) -> bool:
    return (
        isinstance(left, int | float)
        and isinstance(right, int | float)
        and not isinstance(left, bool)
        and not isinstance(right, bool)
        and left == right
    )


GAP = 3.0
"""What it costs that a call stands for none; two of them cost more than any pair."""

OTHER_TOOL = 5.5


def aligned(predicted: Sequence[SideCall], truth: Sequence[SideCall]) -> dict[int, int]:
    """Which predicted call stands for which ground-truth call: the cheapest alignment in order.

    The same call costs nothing, one with other arguments little, one of another tool nearly as much as two calls
    without counterpart. Of equal ones the earliest is taken, and a call that succeeded rather than one that failed.
    """
    rows, columns = len(predicted), len(truth)
    costs = [[_cost(one, other) for other in truth] for one in predicted]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for row in range(rows, -1, -1):
        for column in range(columns, -1, -1):
            if row == rows or column == columns:
                best[row][column] = GAP * (rows - row + columns - column)
                continue
            best[row][column] = min(
                best[row + 1][column + 1] + costs[row][column],
                best[row + 1][column] + GAP,
                best[row][column + 1] + GAP,
            )
    pairs: dict[int, int] = {}
    row = column = 0
    while row < rows and column < columns:
        here = best[row][column]
        if here == best[row + 1][column + 1] + costs[row][column]:
            pairs[predicted[row].number] = truth[column].number
            row, column = row + 1, column + 1
        elif here == best[row + 1][column] + GAP:
            row += 1
        else:
            column += 1
    return pairs


def _cost(predicted: SideCall, truth: SideCall) -> float:
    failed = 0.25 if predicted.made.failed else 0.0
    if predicted.call.name != truth.call.name:
        shared = set(predicted.template.items() if _plain(predicted.template) else ()) & set(
            truth.template.items() if _plain(truth.template) else ()
        )
        return OTHER_TOOL - min(1.0, 0.25 * len(shared)) + failed
    count = len(differing(predicted, truth))
    return failed + (0.0 if not count else min(4.0, 1.0 + 0.5 * count))


def _plain(template: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str | int | float | bool | Ref | None) for value in template.values())
