"""Writing a branch: as a prediction or a reference record in VAKRA's layout, or in any form of ``vakra-tui export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sessions.trajectory import CallTool, Trajectory
from toolenv.decoding import decoded_file, what_is_wrong
from toolenv.errors import DataError
from toolenv.files import path_of
from toolenv.model import CAPABILITY_DIRS, Instance, Json
from vakra_tui.forms import FORMS, Exported, rendered
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.outside import file_name
from vakra_tui.state.small_files import refuse_endless, write_small

if TYPE_CHECKING:
    from vakra_tui.state.scene import Scene

ExportKind = Literal["prediction", "reference"]


def export(kind: ExportKind, place: str, trajectory: Trajectory) -> Path:
    """Write the branch below the folder ``place`` and return the file.

    A file of the same domain that is already there keeps its other records; a record of the same uuid is replaced.
    Raises ``DataError`` where the branch has no answer, or the file is there and cannot be read.
    """
    instance = trajectory.instance
    if trajectory.answer is None:
        answers, declines = key("debugger.answer"), key("debugger.decline")
        raise DataError(f"This branch has no final answer yet: {answers} answers, {declines} declines; export it then.")
    if "/" in instance.domain or instance.domain in ("", ".", "..") or not instance.domain.isprintable():
        raise DataError(f"the domain {instance.domain!r} cannot be a file name")
    folder = path_of(place)
    record = _prediction(trajectory) if kind == "prediction" else reference_record(trajectory)
    if instance.capability in CAPABILITY_DIRS:
        folder /= CAPABILITY_DIRS[instance.capability]
    if kind == "reference":
        folder /= "output"
    path = folder / f"{instance.domain}.json"
    _put(path, record, instance.uuid)
    return path


LAYOUT_KINDS: dict[ExportKind, str] = {
    "prediction": "a submission file: calls and answer of this branch",
    "reference": "a ground-truth record made of this branch",
}
"""What is written into the folders of VAKRA's layout, beside other records."""

FORM_KINDS: dict[str, str] = {form: words for form, (_, words) in FORMS.items() if form != "submission"}
"""The other forms of ``vakra-tui export``, each a file of its own; its submission is the ``prediction`` above."""


def default_place(kind: str, instance: Instance, branch: str = "") -> str:
    """Where an export goes unless a person says otherwise: a folder, or for ``FORM_KINDS`` a file with a safe name."""
    if kind in LAYOUT_KINDS:
        return f"exported-{kind}s"
    ending = FORMS[kind][0]
    stem = file_name("-".join(part for part in (instance.domain, instance.uuid, branch) if part), "instance")
    return f"exported/{stem}.{kind}.{ending}"


def export_form(form: str, place: str, one: Exported) -> Path:
    """Write one branch in a form of ``FORM_KINDS`` to the file ``place``, whatever was there before.

    Raises ``DataError`` where there is nothing of that form, or the file cannot be written.
    """
    path = path_of(place)
    write_small(path, rendered([one], form, single=True))
    return path


def _prediction(trajectory: Trajectory) -> dict[str, Json]:
    from sessions.branches import as_prediction
    from sessions.submissions import submission_record

    return submission_record(as_prediction(trajectory))


def reference_record(trajectory: Trajectory) -> dict[str, Json]:
    """A ground-truth record whose evaluated turn is this branch; earlier turns keep their reference."""
    instance = trajectory.instance
    made = [
        (step.decision.call, step.result)
        for step in trajectory.steps
        if isinstance(step.decision, CallTool) and not (step.result is not None and step.result.failed)
    ]
    turn = {
        "turn_id": instance.turns[-1].turn_id,
        "query": instance.query,
        "answer": trajectory.answer,
        "sequence": {
            "tool_call": [{"name": call.name, "arguments": dict(call.arguments)} for call, _ in made],
            "tool_response": [result.text if result is not None else None for _, result in made],
        },
    }
    return {
        "uuid": instance.uuid,
        "domain": instance.domain,
        "output": [*_earlier(instance), turn],
        "additional_instructions": instance.policy,
    }


def reference_doubts(scene: Scene) -> tuple[str, ...]:
    """Why this branch may be no ground truth, in sentences: its verdict, and the calls that a record leaves out."""
    told = []
    verdict = scene.verdict
    if verdict is None:
        told.append(f"This branch was not evaluated ({key('debugger.evaluate')} does).")
    elif verdict.passed is not True:
        gate = f" at {verdict.failed_stage.replace('_', ' ')}" if verdict.failed_stage else ""
        told.append(f"This branch FAILED{gate}." if verdict.passed is False else "This branch is undecided.")
    elif scene.stale:
        told.append("Steps were added since this branch passed.")
    left_out = [
        f"step {row.number} {row.tool}"
        for row in scene.rows
        if row.step is not None and row.step.result is not None and row.step.result.failed
    ]
    if left_out:
        more = f" and {len(left_out) - NAMED} more" if len(left_out) > NAMED else ""
        told.append(f"Failed calls are left out of the record: {', '.join(left_out[:NAMED])}{more}.")
    return tuple(told)


NAMED = 4
"""Failed calls that are named one by one."""


def _earlier(instance: Instance) -> list[Json]:
    if instance.ground_truth is None:
        return [{"turn_id": turn.turn_id, "query": turn.query, "answer": turn.answer} for turn in instance.turns[:-1]]
    return [
        {
            "turn_id": turn.turn_id,
            "query": turn.query,
            "answer": turn.answer,
            "sequence": {
                "tool_call": [{"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls],
                "tool_response": list(turn.responses) if turn.responses is not None else [],
            },
        }
        for turn in instance.ground_truth.turns[:-1]
    ]


def _put(path: Path, record: dict[str, Json], uuid: str) -> None:
    from sessions.submissions import write_text_atomically

    records: list[Json] = []
    try:
        refuse_endless(path)
        before = path.read_bytes()
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); nothing was written") from error
    if before is not None:
        try:
            told = decoded_file(before)
        except ValueError as error:
            raise DataError(f"{path} is there and {what_is_wrong(error)}; nothing was written") from error
        if not isinstance(told, list):
            raise DataError(f"{path} is there and holds no list of records; nothing was written")
        records = [each for each in told if not (isinstance(each, dict) and each.get("uuid") == uuid)]
    write_text_atomically(path, json.dumps([*records, record], ensure_ascii=False, indent=1) + "\n")
