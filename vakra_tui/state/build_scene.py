"""A scene from what a session knows: pure, called in the engine thread after every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.model import Verdict
from sessions.dataflow import AlignedPair, ArgumentDifference, GroundTruthAnalysis, align, origins_by_step
from sessions.dataflow.provenance import ArgumentOrigin
from sessions.trajectory import CallTool, ExecutedTrajectory, Trajectory
from toolenv import policy as policies
from toolenv.model import ToolSpec
from vakra_tui.state.analysis import Findings, findings, truth_view
from vakra_tui.state.policy_view import policy_view, violations
from vakra_tui.state.rows import rows_of
from vakra_tui.state.scene import Scene, StepRow, TruthView

if TYPE_CHECKING:
    from vakra_tui.state.session import Subject


def build(
    subject: Subject,
    executed: ExecutedTrajectory | None,
    truth: GroundTruthAnalysis | None,
    tools: Sequence[ToolSpec],
    *,
    truth_problem: str,
    verdict: Verdict | None,
    stale: bool,
    working: str,
    problem: str,
    wheel: str,
    hints: int,
    reference_shown: bool,
    flagged: str,
    environment: str,
    judge: str,
    branch: str,
    branches: int,
    forks: Mapping[int, tuple[str, ...]],
    drifted: frozenset[int],
    store_problem: str,
) -> Scene:
    """Everything that the debugger shows. ``executed`` is None where no session could be opened.

    ``forks`` are names of branches by how many steps they share with this one; ``drifted`` are indexes of steps.
    """
    instance = subject.instance
    if executed is None:
        executed = ExecutedTrajectory(trajectory=Trajectory(instance=instance), tables=())
    found = findings(executed, truth)
    applicability = policies.applicability_of(instance)
    calls = [(made.number, made.call) for made in found.calls.calls.scored]
    broken = violations(instance, applicability, calls)
    rows = rows_of(
        executed,
        subject.prediction,
        recovers=found.recovers,
        provenance=_provenance(executed, found, tools),
        violations=broken,
        pending=wheel == "recording",
    )
    if truth is not None and truth.failed is None:
        rows = _beside_reference(rows, found, truth, tools)
    rows = tuple(
        msgspec.structs.replace(row, forks=forks.get(index + 1, ()), drifted=index in drifted)
        if row.step is not None and (index + 1 in forks or index in drifted)
        else row
        for index, row in enumerate(rows)
    )
    finished = executed.trajectory.finished
    view = truth_view(instance, truth, found, ended=finished)
    if truth is None and truth_problem and view.state != "none":
        view = TruthView(state="unavailable", answer=view.answer, detail=truth_problem)
    return Scene(
        instance=instance,
        run=subject.run,
        prediction=subject.prediction,
        rows=rows,
        truth=view,
        policy=msgspec.structs.replace(policy_view(instance, applicability), violations=tuple(broken)),
        verdict=verdict,
        stale=stale,
        working=working,
        problem=problem,
        wheel=wheel,
        environment=environment,
        judge=judge,
        finished=finished,
        notes=(*instance.problems, *(subject.prediction.problems if subject.prediction is not None else ())),
        reference_shown=reference_shown,
        hints=hints,
        flagged=flagged,
        extra=subject.extra,
        branch=branch,
        branches=branches,
        store_problem=store_problem,
    )


def _provenance(
    executed: ExecutedTrajectory, found: Findings, tools: Sequence[ToolSpec]
) -> Mapping[int, Mapping[str, tuple[str, bool | None]]]:
    """Call number -> argument -> (origin in words, whether it was seen anywhere)."""
    by_index = origins_by_step(executed.trajectory, tools)
    told: dict[int, dict[str, tuple[str, bool | None]]] = {}
    for made in found.calls.calls.calls:
        arguments: dict[str, list[ArgumentOrigin]] = {}
        for origin in by_index.get(made.index, ()):
            arguments.setdefault(origin.argument, []).append(origin)
        told[made.number] = {name: _words(parts) for name, parts in arguments.items()}
    return told


def _words(parts: Sequence[ArgumentOrigin]) -> tuple[str, bool | None]:
    texts = list(dict.fromkeys(part.text for part in parts))
    grounded = all(part.seen != "nowhere" for part in parts)
    shown = "; ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
    return shown, grounded


def _beside_reference(
    rows: tuple[StepRow, ...], found: Findings, truth: GroundTruthAnalysis, tools: Sequence[ToolSpec]
) -> tuple[StepRow, ...]:
    """Each call beside the reference call that it stands for, with the arguments that differ."""
    alignment = align(truth.calls, found.calls.calls, tools)
    by_number = {pair.predicted.number: pair for pair in alignment.pairs}
    told: list[StepRow] = []
    for row in rows:
        if row.number == 0 or row.step is None or not isinstance(row.step.decision, CallTool):
            told.append(row)
            continue
        pair = by_number.get(row.number)
        if pair is None:
            told.append(msgspec.structs.replace(row, reference="not in the reference path (it may still be right)"))
            continue
        different = {difference.argument: difference for difference in pair.differences}
        arguments = tuple(
            msgspec.structs.replace(argument, note=_difference(different[argument.name], pair))
            if argument.name in different
            else argument
            for argument in row.arguments
        )
        missing = [d for d in pair.differences if d.kind == "missing"]
        words = f"stands for hop {pair.truth.number} of the reference path"
        if missing:
            words += "; lacks " + ", ".join(f"{d.argument} = {_json(d.expected)}" for d in missing)
        elif not different:
            words += ", same arguments"
        told.append(msgspec.structs.replace(row, arguments=arguments, reference=words))
    return tuple(told)


def _difference(difference: ArgumentDifference, pair: AlignedPair) -> str:
    if difference.kind == "unknown":
        return "the tool has no such argument"
    if difference.kind != "value":
        return ""
    if difference.expected is None and difference.argument not in pair.truth.arguments:
        return "the reference leaves it out"
    return f"reference: {_json(difference.expected)}"


def _json(value: object) -> str:
    from vakra_tui.state.panes.truth import short_json

    return short_json(value, 60)
