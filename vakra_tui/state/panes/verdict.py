"""The verdict explained: what broke, every gate with its evidence, and what a judge was shown and said."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from eval.model import Evidence, Ruling, StageResult
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.diagnosis import index_of, step_words
from vakra_tui.state.inspecting import Asked
from vakra_tui.state.lines import BLANK, HANG, Line, Role, Span, line
from vakra_tui.state.panes.head import policy
from vakra_tui.state.panes.waterfall import SIEVE_WORDS, STAGE_WORDS, outcome_span, strip_lines
from vakra_tui.state.scene import Scene
from vakra_tui.text import one_line

SIEVE_MEANS = {
    "tool_selection": "a tool of the reference was never called, or a call broke the policy",
    "argument_names": "the right tools were called, but an argument is missing or was invented",
    "argument_values": "tools and argument names are right, but a value is not",
    "answer": "the calls are those of the reference, and the answer is wrong or was shown by none of them",
}

MARKS_MEAN = {
    "vacuous": "the reference makes no call, so any sequence matches it",
    "coerced": "arguments were converted to the schema's types before a call",
    "duplicate": "the run has several predictions of this instance; the last one counts",
    "answer longer than its peek": "the reference answer holds values of a table that no response shows",
    "context cut": "the judge did not see all of the material",
    "quirk": "a tool answered in a known odd way",
}

GATE_ASKS = {
    "policy": "Did the calls keep to the policy?",
    "tool_sequence": "Do the predicted responses hold all the information of the reference's?",
    "consistent": "Does the answer agree with the reference answer?",
    "grounded": "Does the answer rest on the predicted responses?",
}

_KEYS = {
    "missing": "not found",
    "found": "found",
    "given": "the answer gives",
    "values": "values",
    "violation": "",
    "failed": "failed with",
    "how": "",
    "reply": "the judge's words",
    "tool": "",
    "count": "in all",
}
"""Words before the value of an entry of evidence, by its key."""

VALUES_SHOWN = 12


def verdict_lines(scene: Scene, asked: Sequence[Asked] | None) -> list[Line]:
    """All lines of the verdict's own screen; ``asked`` is None while it is looked up."""
    verdict = scene.verdict
    told = policy(scene, whole=True)
    told = [*told, BLANK] if told else []
    if verdict is None:
        return [
            *strip_lines(scene),
            BLANK,
            *told,
            line("There is no verdict yet; ", (key("debugger.evaluate"), "accent"), " evaluates this branch."),
        ]
    lines = [*strip_lines(scene, brief=True), BLANK]
    lines += told
    if verdict.detail:
        lines += [line((verdict.detail, "")), BLANK]
    for stage in verdict.stages:
        lines += [*_stage(scene, stage), BLANK]
    if verdict.sieve in SIEVE_MEANS:
        lines.append(
            line(
                ("broke at  ", "label"), (SIEVE_WORDS[verdict.sieve], "strong"), HANG, f": {SIEVE_MEANS[verdict.sieve]}"
            )
        )
    for mark in verdict.marks:
        lines.append(line(("mark  ", "label"), (mark, "strong"), HANG, f": {MARKS_MEAN.get(mark, '')}"))
    lines.append(line(("judge  ", "label"), scene.judge or "none"))
    if not scene.reference_shown and scene.hints < len(scene.truth.hops):
        shows = f"{key('debugger.reference')} shows it."
        return [
            *lines,
            BLANK,
            line(("What a judge sees holds the reference path, which is hidden; ", "dim"), shows),
        ]
    return [*lines, *_asked(asked)]


def _stage(scene: Scene, stage: StageResult) -> list[Line]:
    """A gate; the final response as its two rulings."""
    rulings = [(name, ruling) for name, ruling in (stage.rulings or {}).items() if ruling is not None]
    lines = [line((f"{STAGE_WORDS[stage.stage]}  ", "title"), outcome_span(stage.outcome), *_by(stage))]
    if not rulings:
        return [*lines, *_reason(stage.reason), *_evidence(scene, stage.evidence)]
    for name, ruling in rulings:
        asks = GATE_ASKS.get(name, "")
        lines.append(line((f"  {name}  ", "label"), outcome_span(ruling.outcome), *_by(ruling), (f"  {asks}", "dim")))
        lines += [*_reason(ruling.reason), *_evidence(scene, ruling.evidence)]
    return lines


def _by(ruled: StageResult | Ruling) -> tuple[Span, ...]:
    return (
        (Span(f"  by {ruled.decided_by}", "accent" if ruled.decided_by == "human" else "dim"),)
        if ruled.decided_by
        else ()
    )


def _reason(reason: str) -> list[Line]:
    return [line("    ", HANG, (reason, ""))] if reason else []


def _evidence(scene: Scene, evidence: Sequence[Evidence]) -> list[Line]:
    return [line(("    \u2022 ", "dim"), HANG, *entry_spans(scene, entry)) for entry in evidence]


def entry_spans(scene: Scene, entry: Evidence) -> tuple[Span, ...]:
    """One entry of evidence in words: where, then what. Keys that are not known are shown as they are."""
    parts: list[Span] = []
    hop, step = entry.get("hop"), entry.get("step")
    if hop is not None:
        parts.append(Span(f"hop {hop}", "label"))
    if isinstance(step, int):
        index = index_of(scene, step)
        words = step_words(scene.rows[index]) if index is not None else f"step {step}"
        parts += [Span(" at " if parts else ""), Span(words, "strong")]
    for name, value in entry.items():
        if name in ("hop", "step") or value in (None, "", []):
            continue
        parts.append(Span("  " if parts else ""))
        if name in ("judge", "program") and isinstance(value, Mapping):
            outcome = value.get("outcome") or "nothing"
            parts.append(
                Span(f"overrides the {name}, which said {outcome}: {value.get('reason') or 'no reason'}", "dim")
            )
            continue
        label = _KEYS.get(name, name)
        parts += [Span(f"{label} " if label else "", "label"), Span(_value(value), "warn" if name == "missing" else "")]
    return tuple(parts) or (Span(json.dumps(entry, ensure_ascii=False, default=str)),)


def _value(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(one_line(_text(item), 200) for item in value[:VALUES_SHOWN])
        more = len(value) - VALUES_SHOWN
        return shown + (f" and {more} more" if more > 0 else "")
    return one_line(_text(value), 600)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _asked(asked: Sequence[Asked] | None) -> list[Line]:
    if asked is None:
        return [BLANK, line(("looking up what the judge saw \u2026", "dim"))]
    lines: list[Line] = []
    for each in asked:
        lines += [BLANK, *_question(each)]
    return lines


def _question(asked: Asked) -> list[Line]:
    """What a judge of one gate is shown, and its reply."""
    lines = [line((f"\u2500\u2500 {asked.gate.replace('_', ' ')}: what a judge sees and says \u2500\u2500", "title"))]
    lines.append(line((GATE_ASKS[asked.gate], "dim")))
    if asked.replies:
        lines.append(line(("a model was asked: ", "label"), HANG, ", ".join(asked.about)))
        for number, reply in enumerate(asked.replies, start=1):
            again = f"reply {number} of {len(asked.replies)}" if len(asked.replies) > 1 else "reply"
            lines += [line((again, "label")), *_block(reply, "strong")]
    else:
        lines.append(line(("", ""), HANG, (_nobody(asked), "warn")))
    for message in sorted(asked.messages, key=lambda message: message.get("role") == "system"):
        words = "its instructions" if message.get("role") == "system" else "what it is shown"
        lines += [line((words, "label")), *_block(message.get("content", ""), "code")]
    return lines


def _nobody(asked: Asked) -> str:
    decided = {
        "offline": "Rules decided this offline; no model was asked. A judge would be shown this:",
        "recorded": "The ruling was read from a file of recorded rulings, which has no replies. A judge would see:",
        "human": "You ruled this, and no reply of a model is kept. A judge would be shown this:",
        "judge": "A model ruled this, and its reply is not kept any more. It was shown this:",
    }
    undecided = f"Nobody decided this. A judge would be shown this ({key('debugger.rule-a-gate')} rules it yourself):"
    return decided.get(asked.decided_by or "", undecided)


def _block(text: str, role: Role) -> list[Line]:
    """A text line by line, indented."""
    return [line("  ", HANG, (part, role)) for part in text.split("\n")]
