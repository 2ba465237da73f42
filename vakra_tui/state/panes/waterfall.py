"""The waterfall strip: each gate with its outcome, who decided it, why; and the sieve class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.model import Evidence, Ruling, StageResult, Verdict
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.diagnosis import Place, places, step_words
from vakra_tui.state.lines import HANG, Line, Role, Span, line
from vakra_tui.state.panes.head import working_words
from vakra_tui.state.scene import Scene
from vakra_tui.text import one_line

STAGE_WORDS = {"policy": "policy", "tool_sequence": "tool sequence", "final_response": "final response"}
_OUTCOMES: dict[str, tuple[str, Role]] = {
    "pass": ("\u2713 PASS", "ok"),
    "fail": ("\u2717 FAIL", "fail"),
    "skipped": ("\u2013 skipped", "dim"),
    "undecided": ("? undecided", "warn"),
}
SIEVE_WORDS = {
    "tool_selection": "tool selection",
    "argument_names": "argument names",
    "argument_values": "argument values",
    "answer": "answer",
    "none": "none",
    "undecided": "undecided",
}


BRIEF_BELOW = 30
BRIEFEST_BELOW = 20
"""Cells of a verdict in a list below which it is said in fewer words, and in one."""


LED_BY = frozenset(("tool_selection", "argument_names", "argument_values"))
"""Classes of the sieve that are told before the step; the reasons of the others name them."""

BRIEF_NAME, BRIEF_WHAT, BRIEF_RIGHT = 40, 150, 130
"""Characters of a tool's name, of what is wrong and of what is right in few rows: together five rows of 80 columns."""


def strip_lines(scene: Scene, *, brief: bool = False, whole: bool = False, shown: int = 0) -> list[Line]:
    """A summary line, what broke and what would have been right, then one line a gate with its reason.

    ``brief``: the first two alone, where they say why; else the reason of the deciding gate. ``whole``: gates that were
    not reached have a line, too. ``shown`` is which of the places is told that the deciding gate points at.
    """
    verdict = scene.verdict
    if verdict is None:
        return [_without_verdict(scene)]
    found = places(scene)
    lines = [summary(verdict, stale=scene.stale, brief=brief and bool(found)), *_other_profile(scene)]
    if found:
        lines += broke_lines(scene, found, shown if shown < len(found) else 0, brief=brief)
    details = (
        ([] if found else [decisive(verdict)])
        if brief
        else _details(
            verdict, whole=whole or not found, told=found[0].what if found and not shown and not whole else ""
        )
    )
    return [*lines, *[part for part in details if part]]


def broke_lines(scene: Scene, found: Sequence[Place], shown: int, *, brief: bool = False) -> list[Line]:
    """Which step broke it, why, and what the reference does instead; in one line where ``brief``."""
    place = found[shown]
    what = one_line(place.what, BRIEF_WHAT) if brief else place.what
    row = scene.rows[place.step] if place.step is not None and place.step < len(scene.rows) else None
    where = step_words(row, what, BRIEF_NAME if brief else 80) if row is not None else ""
    label = "OPEN" if place.outcome == "undecided" else "BROKEN" if not shown else "ALSO"
    role: Role = "warn" if place.outcome == "undecided" else "fail"
    parts = [Span(f" {label:<9} ", role), HANG]
    sieve = scene.verdict.sieve if scene.verdict is not None else None
    if brief and not shown and sieve is not None and sieve in LED_BY:
        parts.append(Span(f"{SIEVE_WORDS[sieve]}{' at ' if where else ': '}", "label"))
    if where:
        parts += [Span(where, "strong"), Span(": ", "dim")]
    parts.append(Span(what or "no reason given"))
    numbers = [hop.number for hop in scene.truth.hops]
    needed = numbers.index(place.hop) + 1 if place.hop in numbers else max(len(numbers), 1)
    hidden = not scene.reference_shown and needed > scene.hints
    right = "" if hidden or place.outcome != "fail" else place.right
    if brief:
        shown_right = one_line(right, BRIEF_RIGHT)
        return [(*parts, *((Span("  \u2192 right: ", "ok"), Span(shown_right)) if right else ()))]
    count = f" ({shown + 1} of {len(found)})" if len(found) > 1 else ""
    lines: list[Line] = [(*parts, Span(f"   {key('debugger.evidence')} goes there{count}", "dim"))]
    if right:
        hop = (Span(f"hop {place.hop}: ", "strong"),) if place.hop is not None else ()
        lines.append((Span(" RIGHT     ", "ok"), HANG, *hop, Span(right)))
    return lines


def _other_profile(scene: Scene) -> list[Line]:
    """That the strip shows ``paper`` where another profile was asked for, and what that one says of the recording."""
    if scene.profile == "paper":
        return []
    said = short_verdict(scene.listed) if scene.listed is not None else line(("not scored yet (v in the list)", "dim"))
    words = "   this strip shows the profile paper; of the recording "
    return [(Span(words, "warn"), Span(scene.profile, "strong"), Span(" says: ", "warn"), *said)]


def decisive(verdict: Verdict) -> Line:
    """The reason of the gate that decided: the first that failed, else the first that is undecided."""
    if verdict.detail:
        return line(("   ", ""), HANG, (verdict.detail, ""))
    for outcome in ("fail", "undecided"):
        for stage in verdict.stages:
            for ruling in (stage.rulings or {}).values():
                if ruling is not None and ruling.outcome == outcome:
                    return line(("   ", ""), HANG, (ruling.reason, ""))
            if stage.outcome == outcome:
                return line(("   ", ""), HANG, (stage.reason, ""))
    return ()


def _without_verdict(scene: Scene) -> Line:
    head = Span(" WATERFALL  ", "label")
    if scene.working:
        return (head, Span(working_words(scene), "dim"))
    if scene.truth.state == "none":
        return (head, Span("not scored: the instance has no ground truth", "warn"))
    if scene.prediction is None and not scene.executed and not scene.rows:
        calls, hands = key("debugger.call-a-tool"), key("debugger.wheel")
        no = f"{one_line(scene.run, 40)} has no prediction of this instance: " if scene.run else "no step yet: "
        told = (Span(calls, "accent"), Span(" calls a tool, "), Span(hands, "accent"), Span(" hands the wheel over"))
        return (head, Span(no, "warn"), *told)
    evaluates = (Span(key("debugger.evaluate"), "accent"), Span(" evaluates", "dim"))
    return (head, Span("not evaluated yet: ", "dim"), *evaluates)


def summary(verdict: Verdict, *, stale: bool = False, brief: bool = False) -> Line:
    """All gates on one line; ``brief`` leaves the sieve's class to the line below."""
    parts = [Span(" WATERFALL  ", "label")]
    if verdict.status == "unscored":
        parts += [Span(f"unscored: {verdict.reason or ''}", "warn")]
    elif verdict.status == "extra":
        parts += [Span("extra: a prediction for no instance, not scored", "warn")]
    elif verdict.status == "missing":
        parts += [Span("\u2717 FAIL", "fail"), Span("  no prediction for this instance")]
    else:
        for index, stage in enumerate(verdict.stages):
            words = STAGE_WORDS[stage.stage].replace(" ", "\u00a0")
            parts += [Span("  \u2502  " if index else "", "bar"), Span(f"{words}\u00a0")]
            skipped = brief and stage.outcome == "skipped"
            parts.append(Span("\u2013", "dim") if skipped else outcome_span(stage.outcome))
            if by_person(stage):
                parts.append(Span("\u00a0(human)", "accent"))
        if verdict.sieve not in (None, "none", "undecided") and not brief:
            parts += [
                Span("  \u2502  ", "bar"),
                Span("broke at: ", "label"),
                Span(SIEVE_WORDS[verdict.sieve], "strong"),
            ]
    if verdict.marks and not brief:
        parts += [Span("   marks: ", "dim"), Span(", ".join(verdict.marks), "dim")]
    if stale:
        parts += [Span(f"   (of an earlier state; {key('debugger.evaluate')} evaluates again)", "warn")]
    return tuple(parts)


def outcome_span(outcome: str) -> Span:
    """The outcome of a gate with its glyph."""
    text, role = _OUTCOMES.get(outcome, (outcome, ""))
    return Span(text.replace(" ", "\u00a0"), role)


def _details(verdict: Verdict, *, whole: bool, told: str = "") -> list[Line]:
    """A line for each gate; ``told`` is a reason that stands above already and is not said again."""
    lines: list[Line] = []
    if verdict.detail:
        lines.append(line(("   ", ""), (verdict.detail, "")))
    for stage in verdict.stages:
        if whole or stage.outcome != "skipped":
            lines += _stage(stage, told)
    return lines


def _stage(stage: StageResult, told: str) -> list[Line]:
    rulings = [(name, ruling) for name, ruling in (stage.rulings or {}).items() if ruling is not None]
    if rulings:
        return [_reason(name, ruling, told) for name, ruling in rulings]
    if not stage.reason and stage.decided_by != "human":
        return []
    return [_reason(STAGE_WORDS[stage.stage], stage, told)]


def by_person(stage: StageResult) -> bool:
    """Whether a person ruled this stage or a part of it."""
    rulings = [ruling for ruling in (stage.rulings or {}).values() if ruling is not None]
    return stage.decided_by == "human" or any(ruling.decided_by == "human" for ruling in rulings)


def _reason(name: str, ruled: StageResult | Ruling, told: str) -> Line:
    outcome, decided_by, reason = ruled.outcome, ruled.decided_by, ruled.reason
    text, role = _OUTCOMES.get(outcome, (outcome, ""))
    parts = [Span(f"   {name:<15}", "label"), Span(f"{text:<12}", role), HANG]
    if decided_by:
        parts.append(Span(f"by {decided_by}: ", "accent" if decided_by == "human" else "dim"))
    again = bool(told) and outcome == "fail" and decided_by != "human" and reason.endswith(told)
    parts.append(Span("as said above", "dim") if again else Span(reason or "no reason given"))
    if decided_by == "human":
        parts += _overridden(ruled.evidence)
    return tuple(parts)


def _overridden(evidence: Sequence[Evidence]) -> list[Span]:
    """What was said before a person ruled."""
    from eval.judges.human import JUDGE_EVIDENCE, PROGRAM_EVIDENCE

    for name in (JUDGE_EVIDENCE, PROGRAM_EVIDENCE):
        for entry in evidence:
            kept = entry.get(name)
            if isinstance(kept, Mapping):
                outcome = kept.get("outcome") or "nothing"
                who = kept.get("decided_by") or "the judge"
                return [Span(f"   (overrides {who}: {outcome}, {kept.get('reason') or 'no reason given'})", "dim")]
    return []


def short_verdict(verdict: Verdict | None, cells: int = 80) -> Line:
    """A verdict in a list: passed, or which gate failed and the sieve class; fewer words in fewer cells."""
    if verdict is None:
        return line(("\u00b7", "dim"))
    if verdict.status == "unscored":
        if cells >= BRIEF_BELOW:
            return line((f"? unscored: {verdict.reason or ''}", "warn"))
        return line((f"? {verdict.reason or 'unscored'}" if cells >= BRIEFEST_BELOW else "? unscored", "warn"))
    if verdict.status == "extra":
        return line(("? extra", "warn"))
    if verdict.status == "missing":
        return line(("\u2717 none" if cells < BRIEFEST_BELOW else "\u2717 no prediction", "fail"))
    if verdict.passed:
        return line(("\u2713 passed", "ok"))
    if verdict.passed is None:
        stage = next((s for s in verdict.stages if s.outcome == "undecided"), None)
        where = STAGE_WORDS[stage.stage] if stage else ""
        where = where if cells >= BRIEF_BELOW else where.split(" ")[-1]
        return line((f"? undecided: {where}" if where and cells >= BRIEFEST_BELOW else "? undecided", "warn"))
    where = STAGE_WORDS.get(verdict.failed_stage or "", "")
    sieve = SIEVE_WORDS.get(verdict.sieve or "", "")
    if cells < BRIEF_BELOW:
        where, sieve = where.split(" ")[-1], sieve.split(" ")[-1]
    if cells < BRIEFEST_BELOW:
        where, sieve = where if where == "policy" else sieve or where, ""
    parts = [Span(f"\u2717 {where}", "fail")]
    if sieve:
        parts.append(Span(f" \u00b7 {sieve}", "dim"))
    return tuple(parts)
