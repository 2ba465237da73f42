"""Offline ruling: do the answer's claims follow from what was seen? (contract, "Gate 2")"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from eval.gates.evidence import capped
from eval.model import Evidence, Ruling
from eval.offline.due import Due, DueIndex, due_values
from eval.offline.reading import declines, prepared, read_answer
from sessions.dataflow import PredictionAnalysis, ResponseFacts, tables
from toolenv.model import Json
from toolenv.values import Atom, Key, atoms, keys_equal, occurs

SHOWN = 5
MOST_DIFFERENCES = 12
"""Numbers of one response up to which their differences are looked at: among many any number is one by chance."""

_LARGEST = 1e300

MOST_DERIVED = 3
"""Values of an answer up to which one may be derived; a list of many is read off and not computed."""


def grounded_ruling(
    answer: str,
    truth: Json,
    questions: Sequence[str],
    prediction: PredictionAnalysis,
    wording: str | None = None,
    told: Json = None,
    quoted: bool = False,
) -> Ruling:
    """The ruling on an answer: each due value that it gives must have been shown, or follow from one response.

    ``questions`` are the user's turns, ``told`` are the answers of the dialogue before, ``wording`` is the refusal
    that the policy asks for, if it does, ``quoted`` is as for consistency. A question grounds only what stands beside
    something that was shown: it may have named the value to choose. Values in rows that were never shown do not
    ground an answer.
    """
    every = DueIndex(due_values(truth))
    reading = read_answer(answer, questions, wording, {due.needle for due in every.due})
    if reading.is_empty:
        return Ruling(outcome="undecided", reason="the answer is empty")
    given = every.given(reading.text)
    refuses = not quoted and declines(truth, wording)
    if reading.refusal is not None and (refuses or not given):
        return Ruling(outcome="pass", decided_by="offline", reason="a refusal claims nothing")
    if refuses or not given:
        return Ruling(outcome="undecided", reason="the answer gives no value that could be looked for")
    if len(given) < len(every.due):
        return Ruling(outcome="undecided", reason="the answer says something that the rules cannot look for")
    shown_at: list[tuple[Atom, int, str]] = []
    unseen: list[Due] = []
    for due in given:
        step, how = _source(due, prediction, derived=len(given) <= MOST_DERIVED)
        if step is not None:
            shown_at.append((due.value, step, how))
        else:
            unseen.append(due)
    known = {id(due) for text in map(str, atoms(told)) for due in every.given(prepared(text))}
    if shown_at:
        known |= {id(due) for question in questions for due in every.given(prepared(question))}
    unseen = [due for due in unseen if id(due) not in known]
    hidden = _hidden(unseen, prediction)
    if hidden and prediction.answered_by_reference:
        shown_at.extend((due.value, step, "in rows not shown, known to the reference path") for due, step in hidden)
        behind = {id(due) for due, _ in hidden}
        unseen = [due for due in unseen if id(due) not in behind]
    elif hidden:
        due, step = hidden[0]
        more = f" and {len(hidden) - 1} more" if len(hidden) > 1 else ""
        reason = f"{due.text}{more} is in rows of the table of step {step} that were never shown"
        where = [(due.value, step, "not shown") for due, step in hidden]
        return Ruling(outcome="fail", decided_by="offline", reason=reason, evidence=_evidence(where))
    if unseen:
        shown = ", ".join(due.text for due in unseen[:SHOWN])
        return Ruling(outcome="undecided", reason=f"{shown} does not stand in any predicted response")
    steps = ", ".join(map(str, sorted({step for _, step, _ in shown_at})))
    reason = f"every value of the answer was shown ({f'step {steps}' if steps else 'in the dialogue'})"
    return Ruling(outcome="pass", decided_by="offline", reason=reason, evidence=_evidence(shown_at))


def _source(due: Due, prediction: PredictionAnalysis, *, derived: bool) -> tuple[int | None, str]:
    """The step that shows a value, and how; ``derived`` allows for values that follow from one response."""
    step = prediction.find_value(due.key)
    if step is not None:
        return step, "shown"
    if due.kind == "null":
        step = prediction.find_empty()
        return step, "empty result"
    step = _in_passage(due.value, prediction)
    if step is not None:
        return step, "in a passage"
    if isinstance(due.key, int | float):
        for number, found in prediction.facts.items():
            if _rounded(due.key, _tame(found.printed)):
                return number, "rounded"
            how = next(_derivations(due.key, found), None) if derived else None
            if how is not None:
                return number, how
    return None, ""


def _in_passage(value: Atom, prediction: PredictionAnalysis) -> int | None:
    """The step that retrieved a passage with a value, or with every part of one that joins names (``A and B``)."""
    parts = [value]
    if isinstance(value, str):
        parts += [part for part in re.split(r"\s+and\s+|\s*,\s*", value) if part]
    wanted = parts[:1] if len(parts) < 3 else parts[1:]
    for number, passage in prediction.passages:
        if occurs(value, passage) or all(occurs(part, passage) for part in wanted):
            return number
    return None


def _derivations(wanted: int | float, found: ResponseFacts) -> Iterator[str]:
    """How a number follows from one response."""
    if any(keys_equal(wanted, length) for length in found.lengths):
        yield "count"
    shown = _tame(found.printed)
    for items in filter(None, map(_tame, found.lists)):
        total = sum(items)
        results = {"sum": total, "mean": total / len(items), "minimum": min(items), "maximum": max(items)}
        yield from (how for how, value in results.items() if _same(wanted, value))
    if len(shown) <= MOST_DIFFERENCES and any(_same(wanted, a - b) for a in shown for b in shown if a is not b):
        yield "difference"


def _tame(values: Iterable[Key]) -> list[int | float]:
    """The numbers among values that can be computed with."""
    return [value for value in values if isinstance(value, int | float) and -_LARGEST < value < _LARGEST]


def _same(wanted: int | float, value: int | float) -> bool:
    return keys_equal(wanted, value) or _rounded(wanted, [value])


def _rounded(wanted: int | float, shown: Sequence[int | float]) -> bool:
    """Whether an answer's own number, written with decimals, is a float of the response rounded."""
    text = repr(wanted)
    if not isinstance(wanted, float) or "e" in text or text.endswith(".0"):
        return False
    half = 0.5 * 10.0 ** -len(text.partition(".")[2]) * (1 + 1e-9)
    return any(isinstance(other, float) and abs(other - wanted) <= half for other in shown)


def _hidden(unseen: Sequence[Due], prediction: PredictionAnalysis) -> list[tuple[Due, int]]:
    """The values that stand in a table's rows, with the step of the first such table."""
    left = {due.key: due for due in unseen}
    found: list[tuple[Due, int]] = []
    for number, table in prediction.tables:
        found.extend((left.pop(k), number) for k in tables.held(table, left))
    order = {id(due): position for position, due in enumerate(unseen)}
    return sorted(found, key=lambda item: order[id(item[0])])


def _evidence(places: Sequence[tuple[Atom, int, str]]) -> tuple[Evidence, ...]:
    """One entry for each step and way in which values were shown; of many values the first ones."""
    grouped: dict[tuple[int, str], list[Atom]] = {}
    for value, step, how in places:
        grouped.setdefault((step, how), []).append(value)
    return tuple({"step": step, "how": how, **capped("values", values)} for (step, how), values in grouped.items())
