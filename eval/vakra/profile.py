"""``--profile vakra``: the released evaluator, verdict for verdict, quirks included (contract, sections 3 and 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from eval.judge import Judge, JudgeFailure
from eval.model import UnscoredReason, Verdict
from eval.profile import Item, ScoringContext, Unit
from eval.vakra.dialogues import Dialogue, Malformed, Matched, Outcome, Unanswered, replay
from eval.vakra.scoring import executed, in_released_form, score
from eval.vakra.verdicts import malformed_prediction, verdict_of
from eval.waterfall import extra, missing, unscored
from toolenv.environment import ToolSession
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance, Turn, Value


class VakraProfile:
    """A domain a unit: all its dialogues share one session, predictions first, in the order of their file."""

    name = "vakra"

    def units(self, items: Sequence[Item]) -> Sequence[Unit]:
        groups: dict[tuple[int, str], list[Item]] = {}
        for item in items:
            groups.setdefault((item.capability, item.domain), []).append(item)
        return [Unit(items=tuple(group)) for group in groups.values()]

    async def score(self, unit: Unit, context: ScoringContext) -> list[Verdict]:
        found = [_pairing(item, context) for item in unit.items]
        pairs = sorted((one for one in found if isinstance(one, _Pair)), key=lambda pair: pair.place)
        scored = dict(zip((pair.item.uuid for pair in pairs), await _scored(pairs, context), strict=True))
        return [one if isinstance(one, Verdict) else _marked(scored[one.item.uuid], one.item) for one in found]


class _Pair(Value, frozen=True):
    """An item that has both records. ``place`` is that of the prediction in its file."""

    item: Item
    instance: Instance
    dialogue: Dialogue
    place: int


def _pairing(item: Item, context: ScoringContext) -> _Pair | Verdict:
    """The records of an item, else the verdict that needs no execution."""
    if item.instance is None:
        return extra(item.uuid, item.capability, item.domain)
    try:
        instance = context.instance(item.instance)
        if instance.ground_truth is None:
            return _unscored(item, "no ground truth", "the dataset has no ground truth for this instance")
        if item.prediction is None:
            return missing(item.uuid, item.capability, item.domain)
        _, truth = context.dataset.raw(item.instance)
        dialogue = Dialogue(uuid=item.uuid, truth=truth, prediction=context.run.raw(item.prediction))
    except DataError as error:
        return _unscored(item, "environment", str(error))
    return _Pair(item=item, instance=instance, dialogue=dialogue, place=item.prediction.position)


async def _scored(pairs: Sequence[_Pair], context: ScoringContext) -> list[Verdict]:
    if not pairs:
        return []
    first = pairs[0].instance
    try:
        session = await open_domain(first, context)
        try:
            outcomes = await replay(session, first.capability, [pair.dialogue for pair in pairs])
        finally:
            await session.close()
    except (EnvironmentFailure, DataError) as error:
        return [_unscored(pair.item, "environment", str(error)) for pair in pairs]
    judge = in_released_form(context.judge)
    asked = (_verdict(pair, outcome, context, judge) for pair, outcome in zip(pairs, outcomes, strict=True))
    return list(await asyncio.gather(*asked))


async def open_domain(instance: Instance, context: ScoringContext) -> ToolSession:
    """The session that a domain's dialogues share; in capability 1 it starts in the domain's first universe."""
    if instance.capability != 1:
        return await context.environments.open(instance)
    first = next(iter(context.dataset.universes(instance.domain)), instance.universe_id or instance.uuid)
    start = Instance(
        uuid=first,
        capability=1,
        domain=instance.domain,
        turns=(Turn(turn_id=0, query=""),),
        universe_id=first,
    )
    return await context.environments.open(start)


async def _verdict(pair: _Pair, outcome: Outcome, context: ScoringContext, judge: Judge) -> Verdict:
    item, instance = pair.item, pair.instance
    if isinstance(outcome, Malformed):
        if outcome.side == "prediction":
            return malformed_prediction(item.uuid, item.capability, item.domain, outcome.reason)
        detail = f"the released evaluator cannot score this record: {outcome.reason}"
        return _unscored(item, "ground truth failed", detail)
    if isinstance(outcome, Unanswered):
        reason: UnscoredReason = "not recorded" if outcome.cause.recorded else "environment"
        return _unscored(item, reason, f"{outcome.side}: {outcome.cause.reason}")
    _tell(item, instance, outcome, context)
    try:
        scored = await score(outcome, instance, context.run.name, judge)
    except JudgeFailure as error:
        return _unscored(item, "judge", f"{error} The released evaluator would write the score 0.0.")
    return verdict_of(outcome, scored, instance)


def _tell(item: Item, instance: Instance, matched: Matched, context: ScoringContext) -> None:
    context.executed(item, "ground_truth", executed(matched.truth_calls, instance, "ground_truth"))
    answer = matched.prediction.answer
    text = answer if isinstance(answer, str) else ""
    context.executed(item, "prediction", executed(matched.predicted_calls, instance, "recording", text))


def _unscored(item: Item, reason: UnscoredReason, detail: str) -> Verdict:
    return unscored(item.uuid, item.capability, item.domain, reason, detail)


def _marked(verdict: Verdict, item: Item) -> Verdict:
    if item.prediction is None or not item.prediction.duplicate or "duplicate" in verdict.marks:
        return verdict
    return msgspec.structs.replace(verdict, marks=(*verdict.marks, "duplicate"))
