"""A scene from what a session knows: pure, called in the engine thread after every change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from eval.model import Verdict
from sessions.breakpoints import Breakpoint, Pause
from sessions.checks import tool_named
from sessions.dataflow import Alignment, GroundTruthAnalysis, align, made_calls, origins_by_step
from sessions.dataflow.provenance import ArgumentOrigin
from sessions.trajectory import CallTool, ExecutedTrajectory, Trajectory
from toolenv import policy as policies
from toolenv.model import ToolSpec, Value
from vakra_tui.state.analysis import Findings, findings, gaps_of, truth_view
from vakra_tui.state.policy_view import policy_view, violations
from vakra_tui.state.rows import Traced, rows_of
from vakra_tui.state.scene import BranchRow, Gap, Origin, PolicyView, Scene, StepRow, TruthView

if TYPE_CHECKING:
    from sessions.drivers.recording import Recording
    from vakra_tui.state.session import Subject


class Frame(Value, frozen=True):
    """What a scene says that no analysis of the trajectory changes.

    ``forks`` are names of branches by how many steps they share with this one; ``drifted`` and ``marked`` are indexes
    of steps, ``remarks`` what a person noted by index of step.
    """

    truth_problem: str = ""
    verdict: Verdict | None = None
    stale: bool = False
    working: str = ""
    stoppable: bool = False
    problem: str = ""
    wheel: str = "recording"
    left_out: int | None = None
    hints: int = 0
    reference_shown: bool = True
    flagged: str = ""
    environment: str = ""
    judge: str = ""
    branch: str = ""
    branches: int = 1
    forks: Mapping[int, tuple[str, ...]] = {}
    drifted: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()
    remarks: Mapping[int, tuple[str, ...]] = {}
    tree: tuple[BranchRow, ...] = ()
    on_branch: int = 0
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
    ahead: Recording | None,
) -> Analysed:
    """Analyse what was executed (None where no session could be opened) against the reference.

    ``ahead`` is the recording of which what is left is to be shown, None for none.
    """
    instance = subject.instance
    if executed is None:
        executed = ExecutedTrajectory(trajectory=Trajectory(instance=instance), tables=())
    applicability = policies.applicability_of(instance)
    calls = made_calls(executed)
    broken = violations(instance, applicability, [(made.number, made.call) for made in calls.scored])
    found = findings(executed, truth)
    rows = rows_of(
        executed,
        subject.prediction,
        recovers=found.recovers,
        provenance=_provenance(executed, found, tools),
        violations=broken,
        ahead=ahead,
    )
    alignment: Alignment | None = None
    if truth is not None and truth.failed is None:
        alignment = align(truth.calls, found.calls.calls, tools, instance.domain)
        rows = _beside_reference(rows, alignment)
    finished = executed.trajectory.finished
    view = truth_view(instance, truth, found, ended=finished, alignment=alignment)
    return Analysed(
        rows=Specs(tools, instance.domain).of_all(rows),
        truth=_forbidden(view, broken),
        policy=msgspec.structs.replace(policy_view(instance, applicability), violations=tuple(broken)),
        finished=finished,
    )


def _forbidden(view: TruthView, broken: Mapping[int, str]) -> TruthView:
    """The reference path with the hops marked that only a forbidden step completed."""
    if not any(hop.recovered_at in broken for hop in view.hops):
        return view
    hops = tuple(msgspec.structs.replace(hop, forbidden=hop.recovered_at in broken) for hop in view.hops)
    return msgspec.structs.replace(view, hops=hops)


def scene_of(subject: Subject, part: Analysed, frame: Frame) -> Scene:
    """Everything that the debugger shows."""
    rows = part.rows
    if frame.forks or frame.remarks or frame.drifted or frame.marked:
        rows = tuple(_with_frame(row, index, frame) for index, row in enumerate(rows))
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
        stoppable=frame.stoppable,
        problem=frame.problem,
        wheel=frame.wheel,
        left_out=frame.left_out,
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
        tree=frame.tree,
        on_branch=frame.on_branch,
    )


def _with_frame(row: StepRow, index: int, frame: Frame) -> StepRow:
    """A row with what the session knows besides its analysis."""
    forks = frame.forks.get(index + 1, ())
    remarks = frame.remarks.get(index, ())
    if row.step is None or not (forks or remarks or index in frame.drifted or index in frame.marked):
        return row
    return msgspec.structs.replace(
        row, forks=forks, drifted=index in frame.drifted, marked=index in frame.marked, remarks=remarks
    )


def _provenance(
    executed: ExecutedTrajectory, found: Findings, tools: Sequence[ToolSpec]
) -> Mapping[int, Mapping[str, Traced]]:
    """Call number -> argument -> where it comes from."""
    by_index = origins_by_step(executed.trajectory, tools)
    told: dict[int, dict[str, Traced]] = {}
    for made in found.calls.calls.calls:
        arguments: dict[str, list[ArgumentOrigin]] = {}
        for origin in by_index.get(made.index, ()):
            arguments.setdefault(origin.argument, []).append(origin)
        told[made.number] = {name: _words(parts) for name, parts in arguments.items()}
    return told


def _words(parts: Sequence[ArgumentOrigin]) -> Traced:
    texts = list(dict.fromkeys(part.text for part in parts))
    grounded = all(part.seen != "nowhere" for part in parts)
    shown = "; ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "")
    return shown, grounded, tuple(map(_origin, parts))


def _origin(part: ArgumentOrigin) -> Origin:
    others = tuple(map(_origin, part.others))
    return Origin(seen=part.seen, value=part.value, step=part.step, turn=part.turn, text=part.text, others=others)


def _beside_reference(rows: tuple[StepRow, ...], alignment: Alignment) -> tuple[StepRow, ...]:
    """Each call beside the reference call that it stands for, with the arguments that differ."""
    by_number = {pair.predicted.number: pair for pair in alignment.pairs}
    extra = {made.number for made in alignment.extra}
    told: list[StepRow] = []
    for row in rows:
        if row.number == 0 or row.step is None or not isinstance(row.step.decision, CallTool):
            told.append(row)
            continue
        pair = by_number.get(row.number)
        if pair is None:
            beside = row.number in extra
            words = "not in the reference path" if beside else ""
            if beside:
                words += ", and the policy forbids it" if row.policy else " (it may still be right)"
            told.append(msgspec.structs.replace(row, reference=words, beside=beside))
            continue
        gaps = gaps_of(pair)
        different = {gap.argument: gap for gap in gaps}
        arguments = tuple(
            msgspec.structs.replace(argument, note=_difference(different[argument.name]))
            if argument.name in different
            else argument
            for argument in row.arguments
        )
        missing = [gap for gap in gaps if gap.kind == "missing"]
        words = f"stands for hop {pair.truth.number} of the reference path"
        if missing:
            words += "; lacks " + ", ".join(f"{gap.argument} = {_json(gap.expected)}" for gap in missing)
        elif not gaps:
            words += ", same arguments"
        words += ", but the policy forbids the call" if row.policy else ""
        told.append(
            msgspec.structs.replace(row, arguments=arguments, reference=words, hop=pair.truth.number, gaps=gaps)
        )
    return tuple(told)


class Specs:
    """Gives each call the tool that it names, where that is known."""

    def __init__(self, tools: Sequence[ToolSpec], domain: str) -> None:
        self._tools = tools
        self._domain = domain
        self._known: dict[str, ToolSpec | None] = {tool.name: tool for tool in reversed(tools)}

    def of_all(self, rows: Iterable[StepRow]) -> tuple[StepRow, ...]:
        """The rows with their tools."""
        return tuple(map(self._told, rows))

    def _told(self, row: StepRow) -> StepRow:
        if row.call is None:
            return row
        if row.tool not in self._known:
            self._known[row.tool] = tool_named(self._tools, row.tool, self._domain)
        spec = self._known[row.tool]
        return msgspec.structs.replace(row, spec=spec) if spec is not None else row


def _difference(gap: Gap) -> str:
    if gap.kind == "unknown":
        return "the tool has no such argument"
    if gap.kind != "value":
        return ""
    if gap.given == gap.expected and not gap.unset:
        return "not the table that is due"
    return "the reference leaves it out" if gap.unset else f"reference: {_json(gap.expected)}"


def _json(value: object) -> str:
    from vakra_tui.state.panes.truth import short_json

    return short_json(value, 60)
