"""A trajectory as a Markdown bug report: question, steps, verdict and evidence, payloads bounded.

Everything that comes from data stands in fenced blocks or code spans whose marks are longer than any run of backticks
in it, so that no text of a model or a tool is ever read as Markdown, as a link, an image or a mention.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from sessions.trajectory import Answer, CallTool, GiveUp, Step, Trajectory
from toolenv.model import Json

PAYLOAD = 800
"""Characters of one payload that a report shows."""

STEPS = 60
"""Steps that a report shows; the middle of a longer trajectory is left out and said so."""

_RUNS = re.compile("`+")


def report(trajectory: Trajectory, *, verdict: Json = None, title: str = "", repair: str = "") -> str:
    """The report as text. ``verdict`` is the JSON form of one, ``repair`` what a search found."""
    return "\n".join(_report(trajectory, verdict, title, repair)).rstrip() + "\n"


def _report(trajectory: Trajectory, verdict: Json, title: str, repair: str) -> Iterator[str]:
    instance = trajectory.instance
    yield f"# Trajectory {span(title or instance.uuid)}"
    yield ""
    yield f"Instance {span(instance.uuid)}, capability {instance.capability}, domain {span(instance.domain)}."
    yield ""
    yield "## Question"
    for number, turn in enumerate(instance.turns[:-1], start=1):
        yield f"\nEarlier turn {number}:\n"
        yield block(turn.query)
        if turn.answer is not None:
            yield block(_text(turn.answer))
    yield ""
    yield block(instance.query)
    if instance.policy.strip():
        yield "\n## Policy\n"
        yield block(instance.policy)
    yield "\n## Steps\n"
    yield from _steps(trajectory.steps)
    if isinstance(verdict, Mapping):
        yield from _verdict(verdict)
    if repair:
        yield "\n## Repair\n"
        yield block(repair)


def _steps(steps: tuple[Step, ...]) -> Iterator[str]:
    left_out = range(STEPS // 2, len(steps) - STEPS // 2) if len(steps) > STEPS else range(0)
    number = 0
    for index, step in enumerate(steps):
        decision = step.decision
        called = isinstance(decision, CallTool) and not step.opening
        number += called
        if index in left_out:
            if index == left_out.start:
                yield f"({len(left_out)} steps are left out here.)\n"
            continue
        if isinstance(decision, CallTool):
            place = f"{number}." if called else "Opening:"
            yield f"### {place} {span(decision.call.name)} ({step.actor})\n"
            raw = decision.call.raw_arguments
            yield block(raw if raw is not None else _text(dict(decision.call.arguments)), "" if raw else "json")
            if step.result is not None:
                yield "failed:\n" if step.result.failed else "answers:\n"
                yield block(step.result.text)
        elif isinstance(decision, Answer):
            yield f"### Answer ({step.actor})\n"
            yield block(decision.text)
        elif isinstance(decision, GiveUp):
            yield f"### Gives up ({step.actor})\n"
            yield block(decision.reason)
        else:
            yield f"### Message of {span(decision.role)}\n"
            yield block(decision.text)
        for check in step.checks:
            if check.outcome == "violation":
                yield f"{span(check.name)}: {span(check.reason)}\n"


def _verdict(verdict: Mapping[str, Any]) -> Iterator[str]:
    told = verdict.get("passed")
    passed = "passed" if told is True else "failed" if told is False else "undecided"
    yield f"\n## Verdict: {passed}\n"
    if verdict.get("detail"):
        yield block(_text(verdict["detail"]))
    stages = verdict.get("stages")
    for stage in stages if isinstance(stages, list | tuple) else ():
        if not isinstance(stage, Mapping):
            continue
        decided = f", decided by {span(_text(stage['decided_by']))}" if stage.get("decided_by") else ""
        yield f"- {span(_text(stage.get('stage')))}: {span(_text(stage.get('outcome')))}{decided}"
        if stage.get("reason"):
            yield ""
            yield block(_text(stage["reason"]))
        if stage.get("evidence"):
            yield "evidence:\n"
            yield block(_text(stage["evidence"]), "json")


def span(text: str, limit: int = 200) -> str:
    """Data as a code span on one line."""
    line = " ".join(_visible(text[: limit + 1]).split())
    line = line if len(line) <= limit else line[:limit] + "..."
    marks = "`" * (max((len(run) for run in _RUNS.findall(line)), default=0) + 1)
    pad = " " if not line or line[0] == "`" or line[-1] == "`" else ""
    return f"{marks}{pad}{line}{pad}{marks}"


def block(text: str, language: str = "") -> str:
    """Data as a fenced block, cut where it is long."""
    shown = text if len(text) <= PAYLOAD else f"{text[:PAYLOAD]}\n... ({len(text)} characters in all)"
    shown = _visible(shown.replace("\r\n", "\n"))
    marks = "`" * max(3, max((len(run) for run in _RUNS.findall(shown)), default=0) + 1)
    return f"{marks}{language}\n{shown}\n{marks}\n"


def _visible(text: str) -> str:
    """Text whose control and format characters are spelled out, so that a viewer cannot be led astray."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else f"<U+{ord(character):04X}>"
        for character in text
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
