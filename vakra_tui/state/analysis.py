"""What the debugger says about a trajectory: hops recovered, where argument values come from, policy broken.

Everything here is computed from executed trajectories and the instance's own records; keys that only a dataset's author
knows are never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sessions.dataflow.alignment import AlignedPair, Alignment, ArgumentDifference
from sessions.dataflow.flows import is_telling
from sessions.dataflow.prediction import PredictionAnalysis, analyse_prediction
from sessions.dataflow.recovery import HopRecovery, recover
from sessions.dataflow.truth import GroundTruthAnalysis, analyse_truth
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Instance, Json, ToolCall
from toolenv.policy import source_of
from vakra_tui.state.scene import FlowRow, Gap, HopRow, TruthView


@dataclass(frozen=True)
class Findings:
    """What was found out about one executed trajectory.

    ``recovers``: call number -> hops that this call was the first to complete. ``hops``: hop number -> recovery.
    """

    calls: PredictionAnalysis
    recovers: Mapping[int, tuple[int, ...]]
    hops: Mapping[int, HopRecovery]


def truth_of(instance: Instance, executed: ExecutedTrajectory) -> GroundTruthAnalysis:
    """The analysis of an executed reference path."""
    return analyse_truth(instance, executed)


def findings(executed: ExecutedTrajectory, truth: GroundTruthAnalysis | None) -> Findings:
    """Analyse a trajectory, against the reference where it could be executed."""
    prediction = analyse_prediction(executed, truth.calls if truth is not None else None)
    hops: dict[int, HopRecovery] = {}
    recovers: dict[int, tuple[int, ...]] = {}
    if truth is not None and truth.failed is None:
        for recovery in recover(truth, prediction):
            hops[recovery.hop] = recovery
            if recovery.state == "recovered" and recovery.step:
                recovers[recovery.step] = (*recovers.get(recovery.step, ()), recovery.hop)
    return Findings(calls=prediction, recovers=recovers, hops=hops)


def truth_view(
    instance: Instance,
    truth: GroundTruthAnalysis | None,
    found: Findings | None,
    *,
    ended: bool,
    alignment: Alignment | None = None,
) -> TruthView:
    """The reference path as its pane shows it; ``truth`` is None while it was not executed.

    ``ended`` says that the trajectory is finished: until then a hop that is not recovered is not missing yet.
    ``alignment`` tells which predicted call stands for which hop.
    """
    if instance.ground_truth is None:
        return TruthView(state="none")
    turn = instance.ground_truth.evaluated
    if truth is None:
        hops = tuple(
            HopRow(number=number, source=source_of(call.name), call=call, known=False)
            for number, _, call in _scored_calls(instance, turn.calls)
        )
        return TruthView(state="running", hops=hops, answer=turn.answer)
    pairs = {pair.truth.number: pair for pair in alignment.pairs} if alignment is not None else {}
    rows = tuple(
        _hop_row(truth, index, found, ended, pairs.get(truth.hops[index].number)) for index in range(len(truth.hops))
    )
    state = "failed" if truth.failed is not None else "ready" if rows else "no calls"
    detail = ""
    if truth.failed is not None:
        detail = f"{truth.failed.call.name}: {truth.failed.text[:600]}"
    return TruthView(
        state=state,  # type: ignore[arg-type]
        hops=rows,
        flows=_flows(truth, [turn.query for turn in instance.turns]),
        answer=turn.answer,
        detail=detail,
        ended=ended,
    )


def _flows(truth: GroundTruthAnalysis, dialogue: Sequence[str]) -> tuple[FlowRow, ...]:
    facts = {hop.number: hop.facts for hop in truth.hops}
    return tuple(
        FlowRow(
            source=flow.source,
            target=flow.target,
            argument=flow.argument or "",
            value=flow.value,
            handle=flow.kind == "handle",
        )
        for flow in truth.graph.flows
        if is_telling(flow, facts.get(flow.source), dialogue)
    )


def gaps_of(pair: AlignedPair) -> tuple[Gap, ...]:
    """The differences of an aligned pair as the panes show them."""
    return tuple(_gap(difference, pair) for difference in pair.differences)


def _gap(difference: ArgumentDifference, pair: AlignedPair) -> Gap:
    return Gap(
        argument=difference.argument,
        kind=difference.kind,
        expected=difference.expected,
        given=difference.given,
        unset=difference.expected is None and difference.argument not in pair.truth.arguments,
    )


def _scored_calls(instance: Instance, calls: tuple[ToolCall, ...]) -> list[tuple[int, int, ToolCall]]:
    """(number as a hop, position in the file, call) of the calls that count, before any of them is executed."""
    if instance.capability == 1:
        opening = bool(calls) and calls[0].name in ("get_data", "initialize_active_data")
        return [(position + 1 - opening, position, call) for position, call in enumerate(calls) if position >= opening]
    return [(position + 1, position, call) for position, call in enumerate(calls) if call.name != "get_data"]


def _hop_row(
    truth: GroundTruthAnalysis, index: int, found: Findings | None, ended: bool, pair: AlignedPair | None
) -> HopRow:
    hop = truth.hops[index]
    recovery = found.hops.get(hop.number) if found is not None else None
    needs = tuple(need.text for need in hop.needs)
    missing = tuple(need.text for need in recovery.missing) if recovery is not None else ()
    state = recovery.state if recovery is not None else "undecided"
    return HopRow(
        number=hop.number,
        source=hop.made.source if hop.made.source == "RAG" else "API",
        call=hop.made.call,
        needs=needs,
        missing=missing,
        recovered_at=(recovery.step or 0) if recovery is not None and state == "recovered" else None,
        known=recovery is not None and (state == "recovered" or (state == "missing" and ended)),
        state=state,
        response=hop.made.text,
        failed=hop.made.failed,
        table=hop.made.table,
        aligned=pair.predicted.number if pair is not None else None,
        gaps=gaps_of(pair) if pair is not None else (),
        file_response=_file_response(truth.instance, index),
    )


def _file_response(instance: Instance, index: int) -> Json:
    """The response that the dataset's file holds for a hop, or None."""
    turn = instance.ground_truth.evaluated if instance.ground_truth is not None else None
    if turn is None or turn.responses is None:
        return None
    scored = _scored_calls(instance, turn.calls)
    position = scored[index][1] if index < len(scored) else len(turn.responses)
    return turn.responses[position] if position < len(turn.responses) else None
