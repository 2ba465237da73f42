"""A scene from what a session knows: pure, called in the engine thread after every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.model import Verdict
from sessions.breakpoints import Breakpoint, Pause
from sessions.dataflow import AlignedPair, ArgumentDifference, GroundTruthAnalysis, align, made_calls, origins_by_step
from sessions.dataflow.provenance import ArgumentOrigin
from sessions.trajectory import CallTool, ExecutedTrajectory, Trajectory
from toolenv import policy as policies
from toolenv.model import ToolSpec, Value
from vakra_tui.state.analysis import Findings, findings, truth_view
from vakra_tui.state.policy_view import policy_view, violations
from vakra_tui.state.rows import rows_of
from vakra_tui.state.scene import PolicyView, Scene, StepRow, TruthView

if TYPE_CHECKING:
    from vakra_tui.state.session import Subject


class Frame(Value, frozen=True):
    """What a scene says that no analysis of the trajectory changes.

    ``forks`` are names of branches by how many steps they share with this one; ``drifted`` are indexes of steps.
    """

    truth_problem: str = ""
    verdict: Verdict | None = None
    stale: bool = False
    working: str = ""
    problem: str = ""
    wheel: str = "recording"
    hints: int = 0
    reference_shown: bool = True
    flagged: str = ""
    environment: str = ""
    judge: str = ""
    branch: str = ""
    branches: int = 1
    forks: Mapping[int, tuple[str, ...]] = {}
    drifted: frozenset[int] = frozenset()
    store_problem: str = ""
    breakpoints: tuple[Breakpoint, ...] = ()
    pause: Pause | None = None
    profile: str = "paper"
    listed: Verdict | None = None


class Analysed(Value, frozen=True):
    """Rows, reference path and policy of one state of a trajectory: costly for large responses, so made once."""

    rows: tuple[StepRow, ...]
    truth: TruthView
    policy: PolicyView
    finished: bool


def analysed(
    subject: Subject,
    executed: ExecutedTrajectory | None,
    truth: GroundTruthAnalysis | None,
    tools: Sequence[ToolSpec],
    *,
    pending: bool,
    quick: bool = False,
) -> Analysed:
    """Analyse what was executed (None where no session could be opened) against the reference.

    ``quick`` leaves out what grows with the length of responses: hops, origins and differences.
    """
    instance = subject.instance
    if executed is None:
        executed = ExecutedTrajectory(trajectory=Trajectory(instance=instance), tables=())
    applicability = policies.applicability_of(instance)
    calls = made_calls(executed)
    broken = violations(instance, applicability, [(made.number, made.call) for made in calls.scored])
    found = None if quick else findings(executed, truth)
    rows = rows_of(
        executed,
        subject.prediction,
        recovers=found.recovers if found is not None else {},
        provenance=_provenance(executed, found, tools) if found is not None else {},
        violations=broken,
        pending=pending,
    )
    if found is not None and truth is not None and truth.failed is None:
        rows = _beside_reference(rows, found, truth, tools)
    finished = executed.trajectory.finished
    return Analysed(
        rows=rows,
        truth=truth_view(instance, truth, found, ended=finished),
        policy=msgspec.structs.replace(policy_view(instance, applicability), violations=tuple(broken)),
        finished=finished,
    )


def scene_of(subject: Subject, part: Analysed, frame: Frame) -> Scene:
    """Everything that the debugger shows."""
    rows = tuple(
        msgspec.structs.replace(row, forks=frame.forks.get(index + 1, ()), drifted=index in frame.drifted)
        if row.step is not None and (index + 1 in frame.forks or index in frame.drifted)
        else row
        for index, row in enumerate(part.rows)
    )
    view = part.truth
    if view.state == "running" and frame.truth_problem:
        view = TruthView(state="unavailable", answer=view.answer, detail=frame.truth_problem)
    prediction = subject.prediction
    return Scene(
        instance=subject.instance,
        run=subject.run,
        prediction=prediction,
        rows=rows,
        truth=view,
        policy=part.policy,
        verdict=frame.verdict,
        stale=frame.stale,
        working=frame.working,
        problem=frame.problem,
        wheel=frame.wheel,
        environment=frame.environment,
        judge=frame.judge,
        finished=part.finished,
        notes=(*subject.instance.problems, *(prediction.problems if prediction is not None else ())),
        reference_shown=frame.reference_shown,
        hints=frame.hints,
        flagged=frame.flagged,
        extra=subject.extra,
        branch=frame.branch,
        branches=frame.branches,
        store_problem=frame.store_problem,
        breakpoints=frame.breakpoints,
        pause=frame.pause,
        profile=frame.profile,
        listed=frame.listed,
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
