"""What every gate and judge sees of one instance: the instance and both executed trajectories."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sessions.dataflow import (
    GroundTruthAnalysis,
    PredictionAnalysis,
    analyse_prediction,
    analyse_truth,
)
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Instance, ToolSpec, Value


class Case(Value, frozen=True):
    """One instance of a run, executed.

    ``run`` is the run's name (recorded rulings are keyed by it). ``truth`` is None where the instance has no ground
    truth. ``tools`` is the list offered in the evaluated turn (for capability 1: of the instance's universe).
    ``truth_analysis`` is independent of the run: whoever scores several runs keeps it and hands it in. What is not
    handed in, ``analysed`` computes.
    """

    run: str
    instance: Instance
    truth: ExecutedTrajectory | None
    prediction: ExecutedTrajectory
    tools: Sequence[ToolSpec]
    truth_analysis: GroundTruthAnalysis | None = None
    prediction_analysis: PredictionAnalysis | None = None


def analysed(case: Case) -> Case:
    """The case with its analyses. Raises ValueError without ground truth."""
    if case.truth_analysis is not None and case.prediction_analysis is not None:
        return case
    truth, predicted = analyses(case)
    return msgspec.structs.replace(case, truth_analysis=truth, prediction_analysis=predicted)


def analyses(case: Case) -> tuple[GroundTruthAnalysis, PredictionAnalysis]:
    """Both analyses of a case, computed where they are not there yet. Raises ValueError without ground truth."""
    truth = case.truth_analysis
    if truth is None:
        if case.truth is None:
            raise ValueError(f"instance {case.instance.uuid} has no executed ground truth")
        truth = analyse_truth(case.instance, case.truth)
    return truth, case.prediction_analysis or analyse_prediction(case.prediction, truth.calls)
