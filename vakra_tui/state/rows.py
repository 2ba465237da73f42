"""The rows of the timeline, made from an executed trajectory and from what of the recording is still to come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sessions.trajectory import Answer, CallTool, ExecutedTrajectory, GiveUp, Message, Step
from toolenv.decoding import decoded
from toolenv.environment import TableView
from toolenv.model import Json, Prediction
from vakra_tui.state.scene import ArgumentRow, Origin, StepOutcome, StepRow

if TYPE_CHECKING:
    from sessions.drivers.recording import Recording

Traced = tuple[str, bool | None, tuple[Origin, ...]]
"""Where an argument comes from in words, whether it was seen anywhere, and the origin of each of its scalars."""

NO_ANSWER = frozenset({"timed_out", "cancelled", "environment", "not_recorded"})
"""Error kinds that say that no answer came, which is neither a wrong call nor a tool's failure."""


def outcome_of(step: Step) -> StepOutcome:
    """What came of a step, in one word."""
    decision = step.decision
    if isinstance(decision, Answer):
        return "answer"
    if isinstance(decision, GiveUp):
        return "gave up"
    if isinstance(decision, Message):
        return "message"
    result = step.result
    if result is None:
        return "no answer"
    if result.error_kind in NO_ANSWER:
        return "no answer"
    if result.error_kind == "refused_arguments":
        return "refused"
    return "failed" if result.failed or result.is_error else "ok"


def rows_of(
    executed: ExecutedTrajectory,
    prediction: Prediction | None,
    *,
    recovers: Mapping[int, tuple[int, ...]],
    provenance: Mapping[int, Mapping[str, Traced]],
    violations: Mapping[int, str],
    ahead: Recording | None,
) -> tuple[StepRow, ...]:
    """One row a step, then one a call (and the answer) of the recording that was not executed yet.

    ``recovers``, ``provenance`` and ``violations`` are keyed by call number. ``ahead`` is the recording of
    which what is left is to be shown, None for none.
    """
    from sessions.drivers.recording import Standing

    rows: list[StepRow] = []
    number = 0
    for index, step in enumerate(executed.trajectory.steps):
        table = executed.tables[index] if index < len(executed.tables) else None
        counts = is_numbered(step)
        number += counts
        shown = number if counts else 0
        rows.append(
            executed_row(
                step,
                shown,
                table,
                recovers.get(shown, ()) if counts else (),
                provenance.get(shown, {}) if counts else {},
                violations.get(shown, "") if counts else "",
                prediction,
            )
        )
    if ahead is not None and not executed.trajectory.finished:
        done = Standing(ahead.prediction.calls, ahead.left_out).next(executed.trajectory.steps)
        rows += pending_rows(ahead.prediction, done, number)
    return tuple(rows)


def is_numbered(step: Step) -> bool:
    """The opening and what is said between the calls have no number, and nothing is known of them by one."""
    return not step.opening and not isinstance(step.decision, Message)


def executed_row(
    step: Step,
    number: int,
    table: TableView | None,
    recovers: tuple[int, ...],
    origins: Mapping[str, Traced],
    violation: str,
    prediction: Prediction | None,
) -> StepRow:
    """The row of one executed step; ``number`` is 0 for a step that has none."""
    decision = step.decision
    call = decision.call if isinstance(decision, CallTool) else None
    answer = (
        decision.text if isinstance(decision, Answer) else decision.reason if isinstance(decision, GiveUp) else None
    )
    tool = call.name if call is not None else decision.role if isinstance(decision, Message) else "final answer"
    arguments: tuple[ArgumentRow, ...] = ()
    if call is not None and call.raw_arguments is None:
        arguments = tuple(_arguments(step, call.arguments, origins))
    file_response, has_file, differs = _file_response(step, number, prediction)
    return StepRow(
        number=number,
        actor=step.actor,
        tool=tool,
        outcome=outcome_of(step),
        call=call,
        answer=answer,
        step=step,
        table=table,
        recovers=recovers,
        policy=violation,
        ungrounded=any(check.name == "provenance" and check.outcome == "violation" for check in step.checks),
        coerced=step.executed_arguments is not None,
        arguments=arguments,
        file_response=file_response,
        has_file_response=has_file,
        response_differs=differs,
    )


def _arguments(step: Step, arguments: Mapping[str, Json], origins: Mapping[str, Traced]) -> list[ArgumentRow]:
    executed = step.executed_arguments or {}
    rows = []
    for name, value in arguments.items():
        origin, grounded, traced = origins.get(name, ("", None, ()))
        coerced = name in executed and json.dumps(executed[name], default=str) != json.dumps(value, default=str)
        rows.append(
            ArgumentRow(
                name=name,
                value=value,
                origin=origin,
                grounded=grounded,
                executed=executed.get(name) if coerced else None,
                coerced=coerced,
                origins=traced,
            )
        )
    return rows


def _file_response(step: Step, number: int, prediction: Prediction | None) -> tuple[Json, bool, bool]:
    """The response that the prediction's file holds for this call, and whether it says something else."""
    if prediction is None or prediction.responses is None or step.actor != "recording" or step.result is None:
        return None, False, False
    offset = 1 if step.opening or _repeats_opening(prediction) else 0
    index = number - 1 + offset
    if not 0 <= index < len(prediction.responses):
        return None, False, False
    told = prediction.responses[index]
    return told, True, not same_response(told, step.result.text)


def _repeats_opening(prediction: Prediction) -> bool:
    return prediction.capability == 1 and bool(prediction.calls) and prediction.calls[0].name == "get_data"


def same_response(told: Json, executed: str) -> bool:
    """Whether a response in a file says what the executed one says: equal texts, or equal as JSON.

    Texts that are nested too deeply to be read count as texts.
    """
    if isinstance(told, str):
        if told == executed or told.strip() == executed.strip():
            return True
        told_value = _decoded(told)
    else:
        told_value = told
    executed_value = _decoded(executed)
    if isinstance(executed_value, dict) and isinstance(told_value, list):
        inner = [value for value in executed_value.values() if isinstance(value, list)]
        if len(inner) == 1 and _passage_texts(inner[0]) and _passage_texts(inner[0]) == _passage_texts(told_value):
            return True
    try:
        return json.dumps(told_value, sort_keys=True) == json.dumps(executed_value, sort_keys=True)
    except (TypeError, ValueError):
        return False


def _decoded(text: str) -> Json:
    try:
        return decoded(text)
    except ValueError:
        return text


def _passage_texts(items: Sequence[Json]) -> list[str]:
    return [item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str)]


def pending_rows(prediction: Prediction, done: int, number: int) -> list[StepRow]:
    """The rows of what a recording holds after ``done`` of its calls, numbered on from ``number``."""
    rows = [
        StepRow(
            number=number + offset,
            actor="recording",
            tool=call.name,
            outcome="pending",
            call=call,
            arguments=tuple(ArgumentRow(name=name, value=value) for name, value in call.arguments.items()),
        )
        for offset, call in enumerate(prediction.calls[done:], start=1)
    ]
    if prediction.answer or prediction.status == "success":
        last = number + len(rows) + 1
        rows.append(
            StepRow(number=last, actor="recording", tool="final answer", outcome="pending", answer=prediction.answer)
        )
    return rows
