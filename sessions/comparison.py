"""Two trajectories of one instance side by side: aligned call by call, and what differs in a pair of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from sessions.divergence import frozen, step_keys
from sessions.trajectory import Answer, CallTool, Decision, GiveUp, Message, Step
from toolenv.decoding import decoded
from toolenv.model import Json, Value
from toolenv.recorded.aliases import own_name

Relation = Literal["same", "changed", "only_left", "only_right"]
"""``same``: one tool with equal arguments (or equal answers); ``changed``: one tool with others, or another answer."""

CELLS = 250_000
"""Pairs of steps that are weighed at once. Longer trajectories are aligned in pieces, so that the work stays linear."""

READ = 1_000_000
"""Characters of a response up to which it is read as JSON to be compared value by value."""

LISTED = 50
"""Differences between two values that are listed before they are only counted."""


class Pair(Value, frozen=True):
    """One row of an alignment: indexes from 0 into the left and the right steps, None where a side has nothing.

    ``elsewhere`` is, for a step that stands alone, the index of a step of the other side that stands alone too: the
    same call made at another place, or (``likewise`` False) a call of the same tool there.
    """

    left: int | None
    right: int | None
    relation: Relation
    elsewhere: int | None = None
    likewise: bool = True


def aligned(left: Sequence[Step], right: Sequence[Step], domain: str = "") -> list[Pair]:
    """Two trajectories side by side, in order: equal steps in one row, then steps of one tool, the rest alone.

    Other spellings of a name of ``domain``'s tools are that name.
    """
    left, right = _spelled(left, right, domain)
    names: dict[Any, int] = {}
    keys = step_keys(left, names), step_keys(right, names)
    longest = min(len(left), len(right))
    start = 0
    while start < longest and keys[0][start] == keys[1][start]:
        start += 1
    ends = 0
    while ends < longest - start and keys[0][-1 - ends] == keys[1][-1 - ends]:
        ends += 1
    pairs = [Pair(left=n, right=n, relation="same") for n in range(start)]
    pairs += _between(left, right, keys, (start, len(left) - ends), (start, len(right) - ends))
    pairs += [Pair(left=len(left) - n, right=len(right) - n, relation="same") for n in range(ends, 0, -1)]
    return _with_moved(pairs, left, right, keys)


def _spelled(left: Sequence[Step], right: Sequence[Step], domain: str) -> tuple[Sequence[Step], Sequence[Step]]:
    """Both sides with one spelling for each tool."""
    spelling = _spelling(_tools(left) | _tools(right), domain)
    if not spelling:
        return left, right
    return [_renamed(step, spelling) for step in left], [_renamed(step, spelling) for step in right]


def _spelling(names: set[str], domain: str) -> dict[str, str]:
    """The shorter of two spellings of one tool, for the longer one."""
    if not domain:
        return {}
    found = {name: own_name(name, domain, names - {name}) for name in names}
    return {name: other for name, other in found.items() if other in names and len(other) < len(name)}


def _renamed(step: Step, spelling: Mapping[str, str]) -> Step:
    decision = step.decision
    if not isinstance(decision, CallTool) or decision.call.name not in spelling:
        return step
    call = msgspec.structs.replace(decision.call, name=spelling[decision.call.name])
    return msgspec.structs.replace(step, decision=CallTool(call=call))


def _tools(steps: Sequence[Step]) -> set[str]:
    return {step.decision.call.name for step in steps if isinstance(step.decision, CallTool)}


_Keys = tuple[list[Any], list[Any]]
_Stretch = tuple[int, int]


def _between(left: Sequence[Step], right: Sequence[Step], keys: _Keys, lefts: _Stretch, rights: _Stretch) -> list[Pair]:
    """The alignment of two stretches, in as many pieces as their length asks for."""
    rows, columns = lefts[1] - lefts[0], rights[1] - rights[0]
    pieces = 1
    while (rows // pieces + 1) * (columns // pieces + 1) > CELLS:
        pieces += 1
    pairs: list[Pair] = []
    for piece in range(pieces):
        pairs += _piece(
            left,
            right,
            keys,
            (lefts[0] + rows * piece // pieces, lefts[0] + rows * (piece + 1) // pieces),
            (rights[0] + columns * piece // pieces, rights[0] + columns * (piece + 1) // pieces),
        )
    return pairs


def _piece(left: Sequence[Step], right: Sequence[Step], keys: _Keys, lefts: _Stretch, rights: _Stretch) -> list[Pair]:
    """The pairing of greatest likeness that keeps the order of both sides."""
    rows, columns = range(*lefts), range(*rights)
    likeness = [[_likeness(left[row], right[column], keys, row, column) for column in columns] for row in rows]
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for row in range(len(rows) - 1, -1, -1):
        above, here, weights = best[row + 1], best[row], likeness[row]
        for column in range(len(columns) - 1, -1, -1):
            alone = max(above[column], here[column + 1])
            weight = weights[column]
            here[column] = max(alone, weight + above[column + 1]) if weight else alone
    pairs: list[Pair] = []
    row = column = 0
    while row < len(rows) or column < len(columns):
        if row < len(rows) and column < len(columns):
            weight = likeness[row][column]
            if weight and best[row][column] == weight + best[row + 1][column + 1]:
                relation: Relation = "same" if weight == SAME else "changed"
                pairs.append(Pair(left=rows[row], right=columns[column], relation=relation))
                row, column = row + 1, column + 1
                continue
        if column == len(columns) or (row < len(rows) and best[row][column] == best[row + 1][column]):
            pairs.append(Pair(left=rows[row], right=None, relation="only_left"))
            row += 1
        else:
            pairs.append(Pair(left=None, right=columns[column], relation="only_right"))
            column += 1
    return pairs


SAME = 4.0
"""The likeness of equal steps: more than that of two pairs of one tool with other arguments is never given up for."""


def _likeness(left: Step, right: Step, keys: _Keys, row: int, column: int) -> float:
    """``SAME`` for equal steps, from 1 to 2 for steps of one kind, 0 for steps that cannot stand side by side."""
    if keys[0][row] == keys[1][column]:
        return SAME
    one, other = left.decision, right.decision
    if isinstance(one, CallTool) and isinstance(other, CallTool):
        if one.call.name != other.call.name or left.opening != right.opening:
            return 0.0
        written, given = arguments(left), arguments(right)
        names = written.keys() | given.keys()
        equal = sum(name in written and name in given and written[name] == given[name] for name in names)
        return 1.0 + (equal / len(names) if names else 0.0)
    if isinstance(one, Answer | GiveUp) and isinstance(other, Answer | GiveUp):
        return 1.0
    if isinstance(one, Message) and isinstance(other, Message):
        return 1.0 if one.role == other.role else 0.0
    return 0.0


def _with_moved(pairs: list[Pair], left: Sequence[Step], right: Sequence[Step], keys: _Keys) -> list[Pair]:
    """The pairs, those that stand alone with the step that they stand for on the other side: equal ones first."""
    partners: dict[tuple[str, int], tuple[int, bool]] = {}
    tools = [_tool(step) for step in left], [_tool(step) for step in right]
    for names, likewise in ((keys, True), (tools, False)):
        waiting: dict[Any, list[int]] = {}
        for pair in pairs:
            if pair.left is None and pair.right is not None and ("right", pair.right) not in partners:
                waiting.setdefault(names[1][pair.right], []).append(pair.right)
        for pair in pairs:
            if pair.right is not None or pair.left is None or ("left", pair.left) in partners:
                continue
            name = names[0][pair.left]
            if name is not None and (others := waiting.get(name)):
                other = others.pop(0)
                partners["left", pair.left] = other, likewise
                partners["right", other] = pair.left, likewise
    return [_beside(pair, partners) for pair in pairs]


def _tool(step: Step) -> str | None:
    """The tool of a call; None for what is no call."""
    return step.decision.call.name if isinstance(step.decision, CallTool) else None


def _beside(pair: Pair, partners: Mapping[tuple[str, int], tuple[int, bool]]) -> Pair:
    alone = ("left", pair.left) if pair.right is None else ("right", pair.right) if pair.left is None else None
    found = partners.get(alone) if alone is not None else None  # type: ignore[arg-type]
    if found is None:
        return pair
    return Pair(left=pair.left, right=pair.right, relation=pair.relation, elsewhere=found[0], likewise=found[1])


class Difference(Value, frozen=True):
    """One value that is not alike on both sides. ``path`` is written as ``filters[0].value``, empty for the whole."""

    path: str
    kind: Literal["value", "only_left", "only_right"]
    left: Json = None
    right: Json = None


class Differences(Value, frozen=True):
    """The first differences of two values, and how many there are in all."""

    listed: tuple[Difference, ...] = ()
    total: int = 0


class Handles(Value, frozen=True):
    """What the handles of both sides stand for: equal numbers, equal tables as far as the calls behind them tell."""

    left: Mapping[str, int] = {}
    right: Mapping[str, int] = {}


def handles(left: Sequence[Step], right: Sequence[Step], domain: str = "") -> Handles:
    """The handles that two trajectories made; ``domain`` as in ``aligned``."""
    left, right = _spelled(left, right, domain)
    names: dict[Any, int] = {}
    return Handles(left=_made(left, names), right=_made(right, names))


def _made(steps: Sequence[Step], names: dict[Any, int]) -> dict[str, int]:
    made: dict[str, int] = {}
    step_keys(steps, names, made)
    return made


def arguments(step: Step) -> Mapping[str, Json]:
    """The arguments of a call as they were executed; of one that is no JSON object its text, under an empty name."""
    if not isinstance(step.decision, CallTool):
        return {}
    call = step.decision.call
    if call.raw_arguments is not None:
        return {"": call.raw_arguments}
    return call.arguments if step.executed_arguments is None else step.executed_arguments


def argument_differences(left: Step, right: Step, known: Handles) -> Differences:
    """What differs in the arguments of two calls, value by value; of an answer or a message its words."""
    if isinstance(left.decision, CallTool) and isinstance(right.decision, CallTool):
        return differences(arguments(left), arguments(right), known)
    return differences(words(left.decision), words(right.decision), known)


def words(decision: Decision) -> str | None:
    """What an answer, a message or the end without an answer says; None for a call and for no answer."""
    if isinstance(decision, Answer | Message):
        return decision.text
    return None


Responses = Literal["same", "differs", "one", "none"]
"""How the responses of a pair stand to each other; ``one``: only one side has any."""


def responses(left: Step | None, right: Step | None, known: Handles) -> Responses:
    """Whether two responses say the same: equal texts, or equal as JSON whatever the handles are called."""
    one = left.result if left is not None else None
    other = right.result if right is not None else None
    if one is None or other is None:
        return "none" if one is None and other is None else "one"
    if one.failed != other.failed:
        return "differs"
    if one.text == other.text:
        return "same"
    values = _decoded(one.text), _decoded(other.text)
    if values[0] is UNREAD or values[1] is UNREAD:
        return "differs"
    return "same" if frozen(values[0], known.left) == frozen(values[1], known.right) else "differs"


def response_differences(left: Step, right: Step, known: Handles) -> Differences:
    """What differs in two responses: value by value where both are JSON, else the first lines that differ."""
    one = left.result.text if left.result is not None else ""
    other = right.result.text if right.result is not None else ""
    values = _decoded(one), _decoded(other)
    if values[0] is UNREAD or values[1] is UNREAD:
        return _line_differences(one, other)
    return differences(values[0], values[1], known)


UNREAD: Json = object()
"""In place of a response that is no JSON, or too long or nested too deeply to be read for its values."""


def _decoded(text: str) -> Json:
    if len(text) > READ:
        return UNREAD
    try:
        return decoded(text)
    except ValueError:
        return UNREAD


def _line_differences(one: str, other: str) -> Differences:
    """Two texts line by line, in place."""
    lefts, rights = one.split("\n"), other.split("\n")
    found: list[Difference] = []
    total = 0
    for number in range(max(len(lefts), len(rights))):
        left = lefts[number] if number < len(lefts) else None
        right = rights[number] if number < len(rights) else None
        if left == right:
            continue
        total += 1
        if len(found) < LISTED:
            found.append(_difference(f"line {number + 1}", left, right, left is not None, right is not None))
    return Differences(listed=tuple(found), total=total)


def differences(left: Json, right: Json, known: Handles) -> Differences:
    """The values that differ between two JSON values: by name in objects, by place in lists."""
    found: list[Difference] = []
    total = 0
    waiting: list[tuple[str, Json, Json]] = [("", left, right)]
    while waiting:
        path, one, other = waiting.pop()
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            inner = [
                (f"{path}.{name}" if path else str(name), one.get(name, ABSENT), other.get(name, ABSENT))
                for name in dict.fromkeys((*one, *other))
            ]
            waiting.extend(reversed(inner))
        elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
            longest = max(len(one), len(other))
            inner = [
                (f"{path}[{n}]", one[n] if n < len(one) else ABSENT, other[n] if n < len(other) else ABSENT)
                for n in range(longest)
            ]
            waiting.extend(reversed(inner))
        elif one is ABSENT or other is ABSENT or frozen(one, known.left) != frozen(other, known.right):
            total += 1
            if len(found) < LISTED:
                found.append(_difference(path, one, other, one is not ABSENT, other is not ABSENT))
    return Differences(listed=tuple(found), total=total)


ABSENT: Json = object()


def _difference(path: str, left: Json, right: Json, in_left: bool, in_right: bool) -> Difference:
    if in_left and in_right:
        return Difference(path=path, kind="value", left=left, right=right)
    if in_left:
        return Difference(path=path, kind="only_left", left=left)
    return Difference(path=path, kind="only_right", right=right)
