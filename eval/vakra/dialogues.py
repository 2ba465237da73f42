"""Dialogues of one domain: paired records, replayed in one session, matched as the release does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.vakra.matching import expected_responses, missing_responses, predicted_responses
from eval.vakra.records import MalformedRecord, TurnRecord, ground_truth_turns, opened, predicted_turn
from eval.vakra.replay import NotReplayed, Replayed, ReplayedCall, Replayer
from toolenv.environment import ToolSession
from toolenv.errors import EnvironmentFailure
from toolenv.model import Json, ToolSpec, Value


class Dialogue(Value, frozen=True):
    """A ground-truth record and the prediction that is paired with it, as they stand in their files."""

    uuid: str
    truth: Json
    prediction: Json


def paired(truths: Sequence[Json], predictions: Sequence[Json]) -> list[Dialogue]:
    """The dialogues of two files: paired by uuid as text, the last of several records counts, those without one vanish.

    In the order of the prediction file, where a uuid keeps its first place.
    """
    wanted = {uuid: record for record in truths if (uuid := uuid_of(record)) is not None}
    given = {uuid: record for record in predictions if (uuid := uuid_of(record)) is not None}
    return [Dialogue(uuid=uuid, truth=wanted[uuid], prediction=given[uuid]) for uuid in given if uuid in wanted]


def uuid_of(record: Json) -> str | None:
    """The uuid of a record as text, None where it has none."""
    uuid = record.get("uuid") if isinstance(record, Mapping) else None
    return None if uuid is None or uuid == "" else str(uuid)


class Malformed(Value, frozen=True):
    """A dialogue that the release cannot score, because of one of its records."""

    dialogue: Dialogue
    side: str
    reason: str


class Unanswered(Value, frozen=True):
    """A dialogue that could not be executed."""

    dialogue: Dialogue
    side: str
    cause: NotReplayed


class Matched(Value, frozen=True):
    """A dialogue that was executed.

    ``truth_calls`` are those of the evaluated turn; ``expected`` and ``predicted`` are the responses that exact match
    compares, ``missing`` the expected ones that are not among the last ones of the prediction.
    """

    dialogue: Dialogue
    truth: TurnRecord
    prediction: TurnRecord
    truth_calls: tuple[ReplayedCall, ...]
    predicted_calls: tuple[ReplayedCall, ...]
    expected: tuple[str, ...]
    predicted: tuple[str, ...]
    missing: tuple[str, ...]
    tools: tuple[ToolSpec, ...]

    @property
    def exact(self) -> bool:
        return not self.missing


Outcome = Matched | Malformed | Unanswered


class _Parsed(Value, frozen=True):
    dialogue: Dialogue
    truth: tuple[TurnRecord, ...]
    prediction: TurnRecord


async def replay(session: ToolSession, capability: int, dialogues: Sequence[Dialogue]) -> list[Outcome]:
    """Execute and match the dialogues, given in the order of the prediction file; one outcome each, in that order.

    Raises ``EnvironmentFailure`` only where not even the tools can be listed.
    """
    listed = tuple(await session.list_tools())
    replayer = Replayer(session, capability, listed)
    parsed = [_parsed(dialogue, capability) for dialogue in dialogues]
    predictions: list[Replayed | None] = []
    for one in parsed:
        done = await replayer.side((one.prediction,), is_truth=False) if isinstance(one, _Parsed) else None
        predictions.append(done)
    outcomes: list[Outcome] = []
    for one, predicted in zip(parsed, predictions, strict=True):
        if isinstance(one, Malformed):
            outcomes.append(one)
            continue
        truth = await replayer.side(one.truth, is_truth=True)
        tools = await _tools(session, listed, capability)
        outcomes.append(_matched(one, truth, predicted, capability, tools))
    return outcomes


def _parsed(dialogue: Dialogue, capability: int) -> _Parsed | Malformed:
    try:
        truth = ground_truth_turns(dialogue.truth)
    except MalformedRecord as error:
        return Malformed(dialogue=dialogue, side="ground truth", reason=str(error))
    try:
        prediction = predicted_turn(dialogue.prediction)
    except MalformedRecord as error:
        return Malformed(dialogue=dialogue, side="prediction", reason=str(error))
    due = truth[-1].turn_id
    if prediction.turn_id != due:
        reason = f"the prediction answers turn {prediction.turn_id!r}, where turn {due!r} is evaluated"
        return Malformed(dialogue=dialogue, side="prediction", reason=reason)
    if capability == 1:
        truth = opened(truth, dialogue.uuid, is_truth=True)
        (prediction,) = opened((prediction,), dialogue.uuid, is_truth=False)
    return _Parsed(dialogue=dialogue, truth=truth, prediction=prediction)


def _matched(
    one: _Parsed, truth: Replayed, predicted: Replayed | None, capability: int, tools: tuple[ToolSpec, ...]
) -> Outcome:
    if isinstance(truth, NotReplayed):
        return Unanswered(dialogue=one.dialogue, side="ground truth", cause=truth)
    if isinstance(predicted, NotReplayed):
        return Unanswered(dialogue=one.dialogue, side="prediction", cause=predicted)
    replayed = predicted or ()
    try:
        expected = expected_responses(one.truth, truth, capability)
    except MalformedRecord as error:
        return Malformed(dialogue=one.dialogue, side="ground truth", reason=str(error))
    seen = predicted_responses(one.prediction, replayed, capability)
    return Matched(
        dialogue=one.dialogue,
        truth=one.truth[-1],
        prediction=one.prediction,
        truth_calls=truth[-1].calls if one.truth[-1].calls is not None else (),
        predicted_calls=replayed[0].calls if replayed else (),
        expected=tuple(expected),
        predicted=tuple(seen),
        missing=tuple(missing_responses(expected, seen)),
        tools=tools,
    )


async def _tools(session: ToolSession, listed: tuple[ToolSpec, ...], capability: int) -> tuple[ToolSpec, ...]:
    """The tools of the universe that a dialogue ended in; the listed ones where universes do not change them."""
    if capability != 1:
        return listed
    try:
        return tuple(await session.list_tools())
    except EnvironmentFailure:
        return listed
