"""Predicted calls aligned to ground-truth calls: by tool, then by arguments (contract, "Sieve")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sessions.dataflow import tables
from sessions.dataflow.calls import MadeCall, MadeCalls
from sessions.dataflow.flows import handles_of
from toolenv.model import Json, ToolSpec
from toolenv.recorded.aliases import own_name
from toolenv.schema import ArgumentNames, arguments_of

Level = Literal["same", "argument_values", "argument_names"]


@dataclass(frozen=True, slots=True)
class ArgumentDifference:
    """One argument that is not as in the ground truth.

    ``kind``: ``missing`` (required, or given by the ground truth with a value that is no default), ``unknown`` (the
    schema does not have it), ``value``.
    """

    argument: str
    kind: Literal["missing", "unknown", "value"]
    expected: Json = None
    given: Json = None


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """A ground-truth call and the predicted call that stands for it."""

    truth: MadeCall
    predicted: MadeCall
    differences: tuple[ArgumentDifference, ...]

    @property
    def level(self) -> Level:
        if any(d.kind != "value" for d in self.differences):
            return "argument_names"
        return "argument_values" if self.differences else "same"


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the calls of the two sides stand to each other.

    ``lacking`` maps a tool to how many calls of it are too few; ``extra`` are predicted calls that stand for none.
    """

    pairs: tuple[AlignedPair, ...]
    lacking: Mapping[str, int]
    extra: tuple[MadeCall, ...]


def align(truth: MadeCalls, predicted: MadeCalls, tools: Sequence[ToolSpec], domain: str = "") -> Alignment:
    """Align the calls of a prediction to those of the ground truth: the cheapest pairing tool by tool.

    Spellings of one tool with a registry's prefix or as a long operation id (of ``domain``) are one tool.
    """
    listed = {tool.name: tool for tool in tools}
    known = set(listed) or {made.call.name for made in truth.scored}
    truth_handles = {made.index: known for made, known in handles_of(truth)}
    predicted_handles = {made.index: known for made, known in handles_of(predicted)}
    wanted, given = (_by_tool(side.scored, domain, known) for side in (truth, predicted))
    counts = {name: len(calls) - len(given.get(name, ())) for name, calls in wanted.items()}
    pairs: list[AlignedPair] = []
    for name, calls in wanted.items():
        candidates = given.get(name, [])
        names = arguments_of(listed[name]) if name in listed else None
        table = [
            [
                _differences(one, other, names, truth_handles[one.index], predicted_handles[other.index])
                for other in candidates
            ]
            for one in calls
        ]
        for row, column in _cheapest([[_cost(cell) for cell in row] for row in table]):
            pairs.append(AlignedPair(truth=calls[row], predicted=candidates[column], differences=table[row][column]))
    pairs.sort(key=lambda pair: pair.truth.number)
    used = Counter(pair.predicted.index for pair in pairs)
    return Alignment(
        pairs=tuple(pairs),
        lacking={name: count for name, count in counts.items() if count > 0},
        extra=tuple(made for made in predicted.scored if made.index not in used),
    )


def _by_tool(calls: Sequence[MadeCall], domain: str, known: set[str]) -> dict[str, list[MadeCall]]:
    grouped: dict[str, list[MadeCall]] = {}
    for made in calls:
        grouped.setdefault(own_name(made.call.name, domain, known), []).append(made)
    return grouped


def _cost(differences: tuple[ArgumentDifference, ...]) -> int:
    """Fewer differences first; a wrong name weighs more than any number of wrong values."""
    return sum(1000 if difference.kind != "value" else 1 for difference in differences)


def _differences(
    truth: MadeCall,
    predicted: MadeCall,
    names: ArgumentNames | None,
    truth_handles: Mapping[str, MadeCall],
    predicted_handles: Mapping[str, MadeCall],
) -> tuple[ArgumentDifference, ...]:
    expected, given = truth.arguments, predicted.arguments
    defaults = names.defaults if names is not None else {}
    required = names.required if names is not None else frozenset()
    known = set(names.known) | set(expected) if names is not None else set(expected)
    found: list[ArgumentDifference] = []
    if predicted.call.raw_arguments is not None:
        return tuple(ArgumentDifference(name, "missing", value) for name, value in expected.items()) or (
            ArgumentDifference("", "unknown", None, predicted.call.raw_arguments),
        )
    for name in dict.fromkeys((*expected, *sorted(required))):
        if name in given:
            continue
        needed = name in required or (
            name in expected and not (name in defaults and _same(expected[name], defaults[name]))
        )
        if needed:
            found.append(ArgumentDifference(name, "missing", expected.get(name)))
    for name, value in given.items():
        if name not in known:
            found.append(ArgumentDifference(name, "unknown", None, value))
            continue
        if truth.source == "RAG" and name == _question(names):
            continue
        reference = expected.get(name, defaults.get(name, _ABSENT))
        if not _same_argument(reference, value, truth_handles, predicted_handles):
            found.append(ArgumentDifference(name, "value", None if reference is _ABSENT else reference, value))
    return tuple(found)


_ABSENT: Json = object()


def _question(names: ArgumentNames | None) -> str:
    """The argument of a retriever that holds the question: its first required one."""
    if names is not None and "question" not in names.known:
        return next((name for name in names.known if name in names.required), "question")
    return "question"


def _same(left: Json, right: Json) -> bool:
    """Exact equality after coercion: case counts, 100 and 100.0 are one number, a boolean is no number."""
    pairs: list[tuple[Json, Json]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return False
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, Mapping) and isinstance(other, Mapping):
            if one.keys() != other.keys():
                return False
            pairs.extend((one[name], other[name]) for name in one)
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: Json, other: Json) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (one != one and other != other)  # NaN is the same argument as NaN
    return type(one) is type(other) and bool(one == other)


def _same_argument(
    expected: Json, given: Json, truth_handles: Mapping[str, MadeCall], predicted_handles: Mapping[str, MadeCall]
) -> bool:
    """Equality of two argument values, handles by what is behind them."""
    if isinstance(expected, str) and isinstance(given, str):
        left, right = truth_handles.get(expected), predicted_handles.get(given)
        if left is not None or right is not None:
            return (
                left is not None and right is not None and _same_handle(left, right, truth_handles, predicted_handles)
            )
    return _same(expected, given)


def _same_handle(
    left: MadeCall, right: MadeCall, truth_handles: Mapping[str, MadeCall], predicted_handles: Mapping[str, MadeCall]
) -> bool:
    """Whether two handles stand for one table: its rows where both can be shown, else the calls that made it."""
    if left.table is not None and right.table is not None:
        return tables.same_table(left.table, right.table)
    if left.call.name != right.call.name or left.arguments.keys() != right.arguments.keys():
        return False
    earlier = (
        {name: made for name, made in known.items() if made.index < maker.index}
        for known, maker in ((truth_handles, left), (predicted_handles, right))
    )
    first, second = earlier
    return all(_same_argument(value, right.arguments[name], first, second) for name, value in left.arguments.items())


def _cheapest(costs: list[list[int]]) -> list[tuple[int, int]]:
    """The pairing of rows with columns of least total cost (Hungarian method); as many pairs as the shorter side."""
    rows, columns = len(costs), len(costs[0]) if costs else 0
    if not rows or not columns:
        return []
    if rows > columns:
        turned = [[costs[row][column] for row in range(rows)] for column in range(columns)]
        return sorted((row, column) for column, row in _cheapest(turned))
    infinite = sum(map(sum, costs)) + 1
    row_potential, column_potential = [0] * (rows + 1), [0] * (columns + 1)
    partner, previous = [0] * (columns + 1), [0] * (columns + 1)
    for row in range(1, rows + 1):
        partner[0] = row
        column = 0
        least, used = [infinite] * (columns + 1), [False] * (columns + 1)
        while partner[column]:
            used[column] = True
            current, step, nearest = partner[column], infinite, 0
            for other in range(1, columns + 1):
                if used[other]:
                    continue
                reduced = costs[current - 1][other - 1] - row_potential[current] - column_potential[other]
                if reduced < least[other]:
                    least[other], previous[other] = reduced, column
                if least[other] < step:
                    step, nearest = least[other], other
            for other in range(columns + 1):
                if used[other]:
                    row_potential[partner[other]] += step
                    column_potential[other] -= step
                else:
                    least[other] -= step
            column = nearest
        while column:
            partner[column] = partner[previous[column]]
            column = previous[column]
    return sorted((partner[column] - 1, column - 1) for column in range(1, columns + 1) if partner[column])
