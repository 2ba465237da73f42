"""Which step broke a trajectory, why, and what the right step was: in one place, from a scene.

The verdict decides which gate failed; the alignment with the reference path says where. The reference is one right
path of several, so what is called right here is what it does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal

from eval.model import Evidence, Gate, Ruling, StageResult, Verdict
from toolenv.model import Json, Value
from vakra_tui.state.scene import Gap, HopRow, Scene, StepRow
from vakra_tui.text import one_line

LONGEST_VALUE = 60
"""Characters of a value that a sentence shows."""


class Place(Value, frozen=True):
    """One thing that a person can be led to.

    ``step`` is an index into the scene's rows, ``hop`` the number of a hop; ``argument`` names the argument that is
    meant, empty where none is. ``what`` says what is wrong there, ``right`` what the reference does instead.
    """

    gate: str
    step: int | None = None
    hop: int | None = None
    argument: str = ""
    what: str = ""
    right: str = ""
    outcome: Literal["fail", "undecided"] = "fail"


def diagnose(scene: Scene) -> Place | None:
    """Where the deciding gate broke; None where nothing failed, or what is shown was not judged."""
    verdict = scene.verdict
    if verdict is None or scene.stale or verdict.passed or verdict.status in ("extra", "unscored"):
        return None
    if verdict.status == "missing":
        return _missing(scene)
    stage = deciding(verdict)
    if stage is None:
        return None
    if stage.stage == "policy":
        place = _policy(scene, stage)
    elif stage.stage == "tool_sequence":
        place = _sequence(scene, stage)
    else:
        place = _answer(scene, stage)
    return place if stage.outcome == "fail" else _undecided(place, stage)


def deciding(verdict: Verdict) -> StageResult | None:
    """The stage that made the verdict: the first that failed, else the first that nobody could decide."""
    for outcome in ("fail", "undecided"):
        for stage in verdict.stages:
            if stage.outcome == outcome:
                return stage
    return None


def deciding_ruling(stage: StageResult) -> tuple[Gate, StageResult | Ruling]:
    """The gate within a stage that made its outcome, and what was ruled."""
    for name in ("consistent", "grounded"):
        ruling = (stage.rulings or {}).get(name)
        if ruling is not None and ruling.outcome == stage.outcome:
            return name, ruling
    return ("consistent" if stage.stage == "final_response" else stage.stage), stage


def places(scene: Scene) -> tuple[Place, ...]:
    """Everything that the deciding gate points at, the break itself first: what the jump to the evidence visits."""
    first = diagnose(scene)
    if first is None or scene.verdict is None:
        return ()
    found = [first]
    stage = deciding(scene.verdict)
    if stage is not None:
        gate, ruling = deciding_ruling(stage)
        for entry in _entries(scene, ruling.evidence):
            place = _of_evidence(scene, gate, entry, stage.outcome)
            if place is not None and not any(_same(place, other) for other in found):
                found.append(place)
    return tuple(found)


def _entries(scene: Scene, evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """The entries that name a place, those of a ruling that a person overrode included."""
    for entry in evidence:
        if "step" in entry or "hop" in entry:
            yield entry


def _same(one: Place, other: Place) -> bool:
    """Whether two places are one for a person: the same step or, without one, the same hop."""
    if one.hop is not None and other.hop is not None:
        return one.hop == other.hop
    return one.step is not None and one.step == other.step


def _of_evidence(scene: Scene, gate: str, entry: Evidence, outcome: str) -> Place | None:
    hop = next((each for each in scene.truth.hops if each.number == entry.get("hop")), None)
    kind: Literal["fail", "undecided"] = "undecided" if outcome == "undecided" else "fail"
    if hop is not None and entry.get("missing"):
        return _of_hop(scene, gate, hop, kind)
    number = entry.get("step")
    step = index_of(scene, number) if isinstance(number, int) else None
    if step is None and hop is not None:
        step = index_of(scene, hop.aligned or hop.recovered_at)
    what = next((str(entry[name]) for name in ("violation", "failed", "how", "text") if entry.get(name)), "")
    if step is None and hop is None:
        return None
    return Place(
        gate=gate, step=step, hop=hop.number if hop is not None else None, what=one_line(what, 300), outcome=kind
    )


def index_of(scene: Scene, number: int | None) -> int | None:
    """Index of the row of an executed step by its number."""
    return next((index for index, row in enumerate(ran(scene)) if number and row.number == number), None)


def ran(scene: Scene) -> Sequence[StepRow]:
    """The rows that were executed: a verdict is about these, never about what of the recording is still to come."""
    return scene.rows[: scene.executed]


def _last(scene: Scene) -> int | None:
    return scene.executed - 1 if scene.executed else None


# --- the gates -------------------------------------------------------------------------------------------------------


def _missing(scene: Scene) -> Place:
    right = call_words(scene.truth.hops[0]) if scene.truth.hops else ""
    return Place(gate="prediction", what="the run has no prediction of this instance", right=right)


def _policy(scene: Scene, stage: StageResult) -> Place:
    number = next((entry["step"] for entry in stage.evidence if isinstance(entry.get("step"), int)), None)
    step = index_of(scene, number)
    if step is None:
        step = next((index for index, row in enumerate(ran(scene)) if row.policy), None)
    row = scene.rows[step] if step is not None else None
    what = row.policy if row is not None and row.policy else stage.reason
    hops = scene.truth.hops
    if not hops:
        right = f"make no call and decline: \u201c{one_line(scene.policy.refusal or 'I cannot answer', 200)}\u201d"
        return Place(gate="policy", step=step, what=what, right=right)
    done = max((row.hop or 0 for row in scene.rows[: step or 0]), default=0)
    hop = next((each for each in hops if each.number > done), hops[-1])
    return Place(gate="policy", step=step, hop=hop.number, what=what, right=call_words(hop))


def _sequence(scene: Scene, stage: StageResult) -> Place:
    hops = scene.truth.hops
    if not any(row.call is not None and row.number > 0 for row in ran(scene)):
        right = call_words(hops[0]) if hops else ""
        what = "no call was made" if scene.finished else "no call was made so far"
        hop_number = hops[0].number if hops else None
        return Place(gate="tool_sequence", step=_last(scene), hop=hop_number, what=what, right=right)
    hop = _broken_hop(scene)
    if hop is None:
        step = next((index for index, row in enumerate(ran(scene)) if row.outcome in ("failed", "refused")), None)
        return Place(gate="tool_sequence", step=step, what=stage.reason)
    return _of_hop(scene, "tool_sequence", hop, "fail")


def _broken_hop(scene: Scene) -> HopRow | None:
    """The hop at which the sieve's class came about, else the first that is missing."""
    hops = scene.truth.hops
    missing = [hop for hop in hops if hop.known and hop.recovered_at is None and not hop.failed]
    sieve = scene.verdict.sieve if scene.verdict is not None else None
    chosen: list[HopRow] = []
    if sieve == "tool_selection":
        chosen = [hop for hop in missing if hop.aligned is None] or [hop for hop in hops if hop.aligned is None]
    elif sieve == "argument_names":
        chosen = [hop for hop in hops if any(gap.kind != "value" for gap in hop.gaps)]
    elif sieve == "argument_values":
        chosen = [hop for hop in hops if hop.gaps]
    return next(iter(chosen or missing), None)


def _of_hop(scene: Scene, gate: str, hop: HopRow, outcome: Literal["fail", "undecided"]) -> Place:
    """A hop whose facts are missing: at the step that stands for it, else where its call was due."""
    step = index_of(scene, hop.aligned)
    argument = ""
    if step is None:
        step, what = _instead(scene, hop)
    elif hop.gaps:
        argument = next((gap.argument for gap in hop.gaps if gap.kind != "missing"), hop.gaps[0].argument)
        what = "; ".join(gap_words(gap) for gap in hop.gaps)
    else:
        row = scene.rows[step]
        what = f"its response does not show {_lack(hop)}"
        if row.outcome in ("failed", "refused", "no answer"):
            text = row.step.result.text if row.step is not None and row.step.result is not None else ""
            what = f"the call failed: {one_line(text, 200)}"
    right = call_words(hop)
    return Place(gate=gate, step=step, hop=hop.number, argument=argument, what=what, right=right, outcome=outcome)


def _instead(scene: Scene, hop: HopRow) -> tuple[int | None, str]:
    """Where a call that was never made was due, and what stands there."""
    before = max((each.aligned or 0 for each in scene.truth.hops if each.number < hop.number), default=0)
    for index, row in enumerate(ran(scene)):
        if row.number > before and row.beside:
            return index, f"{row.tool} is called where {hop.call.name} is due"
    after = next((index for index, row in enumerate(ran(scene)) if row.number > before), None)
    again = any(row.tool == hop.call.name for row in ran(scene))
    never = "was not called again" if again else "was never called"
    if after is None:
        return _last(scene), f"{hop.call.name} {never if scene.finished else 'was not called so far'}"
    row = scene.rows[after]
    if row.outcome in ("answer", "gave up"):
        return after, f"the trajectory ends here and {hop.call.name} {never}"
    return after, f"{hop.call.name} {never}; it was due here"


def _lack(hop: HopRow) -> str:
    shown = ", ".join(one_line(fact, LONGEST_VALUE) for fact in hop.missing[:3])
    more = len(hop.missing) - 3
    return (shown + (f" and {more} more" if more > 0 else "")) or "what the reference's response shows"


def _answer(scene: Scene, stage: StageResult) -> Place:
    from vakra_tui.state.panes.head import answer_text

    gate, ruling = deciding_ruling(stage)
    right = f"answer {one_line(answer_text(scene.truth.answer), 200)}"
    return Place(gate=gate, step=_last(scene), what=ruling.reason or stage.reason, right=right)


def _undecided(place: Place, stage: StageResult) -> Place:
    import msgspec

    _, ruling = deciding_ruling(stage)
    return msgspec.structs.replace(place, outcome="undecided", what=ruling.reason or stage.reason)


# --- words -----------------------------------------------------------------------------------------------------------


def gap_words(gap: Gap) -> str:
    """One difference as a part of a sentence about the call."""
    name = one_line(gap.argument, 80)
    if gap.kind == "missing":
        return f"{name} is missing" + ("" if gap.unset else f" (due: {value_words(gap.expected)})")
    if gap.kind == "unknown":
        return f"{name} is no argument of this tool" if name else "the arguments are no JSON object"
    if gap.unset:
        return f"{name} is {value_words(gap.given)}, which the reference leaves out"
    if gap.given == gap.expected:
        return f"{name} is {value_words(gap.given)}, which is not the table that is due"
    return f"{name} is {value_words(gap.given)} where {value_words(gap.expected)} is due"


def value_words(value: Json, limit: int = LONGEST_VALUE) -> str:
    """A value as JSON on one line, cut to ``limit`` characters."""
    if isinstance(value, str) and len(value) > limit:
        return json.dumps(value[:limit], ensure_ascii=False)[:-1] + '\u2026"'
    return one_line(json.dumps(value, ensure_ascii=False, default=str), limit)


def call_words(hop: HopRow) -> str:
    """A call of the reference on one line."""
    arguments = ", ".join(f"{one_line(name, 80)}={value_words(value)}" for name, value in hop.call.arguments.items())
    return f"{one_line(hop.call.name, 120)}({arguments})"


def step_words(row: StepRow, what: str = "", limit: int = 80) -> str:
    """``step 2 sort_data``, ``the opening``, ``step 3, the answer``; of an answer that ``what`` names ``step 3`` alone.

    ``limit`` is the number of characters of a tool's name that are told.
    """
    if row.number == 0:
        return "the opening"
    if row.outcome in ("answer", "gave up"):
        return f"step {row.number}" if what.startswith("the answer") else f"step {row.number}, the answer"
    return f"step {row.number} {one_line(row.tool, limit)}"


def next_divergence(scene: Scene, after: int) -> int | None:
    """Index of the next row behind ``after`` that is not as in the reference; None where there is none."""
    return next((index for index in range(after + 1, len(scene.rows)) if diverges(scene, scene.rows[index])), None)


def next_mark(scene: Scene, after: int) -> int | None:
    """Index of the next step behind ``after`` that is marked or has a note, else of the first; None without any."""
    left = [index for index, row in enumerate(scene.rows) if row.marked or row.remarks]
    return next((index for index in left if index > after), left[0] if left else None)


def diverges(scene: Scene, row: StepRow) -> bool:
    """Whether an executed step does something else than the reference, fails, or breaks the policy."""
    if row.step is None:
        return False
    if row.outcome in ("answer", "gave up"):
        lacks = any(hop.known and hop.recovered_at is None and not hop.failed for hop in scene.truth.hops)
        failed = scene.verdict is not None and scene.verdict.failed_stage == "final_response"
        return lacks or failed or row.outcome == "gave up"
    if row.call is None or row.number == 0:
        return False
    return bool(row.policy or row.beside or row.gaps) or row.outcome in ("failed", "refused", "no answer")
