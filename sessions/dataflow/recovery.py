"""Which hop of the ground truth a prediction recovers, at which step, and what it is missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sessions.dataflow.facts import ResponseFacts
from sessions.dataflow.prediction import PredictionAnalysis
from sessions.dataflow.truth import GroundTruthAnalysis, Need, TruthHop

HopState = Literal["recovered", "missing", "nothing needed", "undecided"]


@dataclass(frozen=True, slots=True)
class FoundNeed:
    """A needed fact and the number of the first predicted call that establishes it (None: none does)."""

    need: Need
    step: int | None


@dataclass(frozen=True, slots=True)
class HopRecovery:
    """How one hop fares. ``step`` is the predicted call by which all of its needed facts are there.

    ``same_response`` is the step by which every fact of the hop's response is there, needed or not; None where not.
    """

    hop: int
    name: str
    state: HopState
    step: int | None
    needs: tuple[FoundNeed, ...]
    same_response: int | None

    @property
    def missing(self) -> tuple[Need, ...]:
        return tuple(found.need for found in self.needs if found.step is None)


def recover(truth: GroundTruthAnalysis, prediction: PredictionAnalysis) -> tuple[HopRecovery, ...]:
    """How every hop of the ground truth fares in a prediction."""
    return tuple(_recovered(hop, prediction) for hop in truth.hops)


def _recovered(hop: TruthHop, prediction: PredictionAnalysis) -> HopRecovery:
    needs = tuple(FoundNeed(need=need, step=find_need(need, hop.facts, prediction)) for need in hop.needs)
    steps = [found.step for found in needs if found.step is not None]
    same = None if hop.facts is None else shows_all(hop.facts, prediction)
    state: HopState
    if len(steps) < len(needs):
        state = "missing"
    elif same is not None or needs:
        state = "recovered"
    else:
        state = "undecided" if hop.unseen else "nothing needed"
    step = max(steps) if needs and state == "recovered" else same
    return HopRecovery(hop=hop.number, name=hop.made.call.name, state=state, step=step, needs=needs, same_response=same)


def find_need(need: Need, facts: ResponseFacts | None, prediction: PredictionAnalysis) -> int | None:
    """The number of the first predicted call that establishes a needed fact, or None."""
    match need.kind:
        case "empty":
            return prediction.find_empty()
        case "column":
            return None if facts is None or facts.table is None else prediction.find_column(facts.table, need.column)
        case "passage":
            return _earliest(prediction.find_in_passages(need.shown), prediction.find_value(need.key))
        case _:
            return _earliest(prediction.find_value(need.key), _counted(need, prediction))


def _counted(need: Need, prediction: PredictionAnalysis) -> int | None:
    """A needed number also when it is the number of items of a predicted list."""
    number = need.key
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return prediction.find_length(number) if isinstance(number, int) else None


def _earliest(*steps: int | None) -> int | None:
    return min((step for step in steps if step is not None), default=None)


def shows_all(facts: ResponseFacts, prediction: PredictionAnalysis) -> int | None:
    """The number of the call by which every fact of a response is among the predicted ones, or None."""
    last = 0
    for step in _steps_of_all(facts, prediction):
        if step is None:
            return None
        last = max(last, step)
    return last or None


def _steps_of_all(facts: ResponseFacts, prediction: PredictionAnalysis) -> Iterator[int | None]:
    """Cheap facts first: what is missing among printed values spares the tables."""
    if facts.empty:
        yield prediction.find_empty()
        return
    if facts.printed:
        yield prediction.find_all_values(facts.printed)
    for passage in facts.passage_keys:
        yield prediction.find_passage(passage)
    if facts.table is not None:
        content = prediction.find_content(facts.table)
        yield content
        if content is not None:
            return
