"""The forms in which trajectories leave the program: the same for the command and for the screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sessions.trajectory import Trajectory
from toolenv.errors import DataError
from toolenv.model import Json, Prediction, ToolSpec, Value

FORMS: dict[str, tuple[str, str]] = {
    "submission": ("json", "records of a run"),
    "jsonl": ("jsonl", "everything, to be imported again"),
    "markdown": ("md", "a bug report"),
    "openai": ("jsonl", "chat messages for fine-tuning"),
    "preferences": ("jsonl", "pairs of a repaired and the failed trajectory"),
    "atif": ("json", "ATIF 1.7"),
}
"""Form -> the ending of its files, and what it is."""


class Exported(Value, frozen=True):
    """One trajectory to export.

    ``form`` says in which form it was imported. ``chosen`` is its repair, which begins with the same ``shared`` steps.
    """

    key: str
    name: str
    trajectory: Trajectory
    form: str = ""
    verdict: Json = None
    passed: bool | None = None
    extra: Mapping[str, Json] = {}
    tools: tuple[ToolSpec, ...] = ()
    prediction: Prediction | None = None
    chosen: Trajectory | None = None
    shared: int = 0
    repair_sentence: str = ""


def shared_steps(one: Trajectory, other: Trajectory) -> int:
    """How many steps two trajectories have in common at their beginning."""
    count = 0
    for left, right in zip(one.steps, other.steps, strict=False):
        if left != right:
            break
        count += 1
    return count


def rendered(found: Sequence[Exported], form: str, *, single: bool) -> bytes:
    """The bytes of an export. Raises ``DataError`` where there is nothing of that form."""
    from sessions.formats.model import finite

    if form == "markdown":
        from sessions.formats.markdown import report

        texts = [
            report(each.trajectory, verdict=each.verdict, title=each.name, repair=each.repair_sentence)
            for each in found
        ]
        return _utf8("\n".join(texts))
    if form == "submission":
        records = [_record(each) for each in found]
        return _utf8(json.dumps(finite(records), ensure_ascii=False, indent=1) + "\n")
    if form == "jsonl":
        from sessions.formats.lines import lines_of

        written = (line for each in found for line in lines_of(each.trajectory, name=each.name, extra=dict(each.extra)))
        return _utf8("".join(f"{line}\n" for line in written))
    values = list(_values(found, form))
    if form == "preferences" and not values:
        raise DataError("there is no pair to export: nothing that failed was repaired")
    if form == "atif" and single:
        return _utf8(json.dumps(finite(values[0]), ensure_ascii=False, indent=1) + "\n")
    return _utf8("".join(json.dumps(finite(value), ensure_ascii=False) + "\n" for value in values))


def _record(one: Exported) -> dict[str, Any]:
    """A record of a run; what a submission file had besides goes back into its record."""
    from sessions.branches import as_prediction
    from sessions.submissions import submission_record

    record = submission_record(one.prediction or as_prediction(one.trajectory))
    if one.form != "submission":
        return record
    beside = one.extra.get("output")
    if isinstance(beside, list) and beside and isinstance(beside[-1], dict):
        (turn,) = record["output"]
        record["output"] = [{**beside[-1], **turn}]
    return {**one.extra, **record}


def _values(found: Sequence[Exported], form: str) -> Iterator[dict[str, Any]]:
    from sessions.formats import atif, chat

    for each in found:
        if form == "openai":
            yield chat.conversation(each.trajectory, each.tools)
        elif form == "atif":
            yield atif.document(each.trajectory, session_id=each.key, tools=each.tools, passed=each.passed)
        elif each.chosen is not None:
            yield chat.preference(each.chosen, each.trajectory, each.repair_sentence, each.shared)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
