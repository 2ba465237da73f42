"""Header line, question and policy banner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vakra_tui.state.lines import HANG, Line, Role, Span, line
from vakra_tui.state.scene import PolicyView, Scene
from vakra_tui.text import one_line

_APPLIES: dict[str, tuple[str, Role]] = {
    "applies": ("applies here", "warn"),
    "does_not_apply": ("does not apply here", "ok"),
    "unknown": ("applicability unknown", "warn"),
}
_SOURCE_WORDS: dict[str, tuple[str, Role]] = {
    "allowed": ("ok", "ok"),
    "forbidden": ("x forbidden", "fail"),
    "unknown": ("?", "warn"),
}


WHOLE_FROM = 140
"""Cells of the terminal from which on a title has room for a whole uuid."""


def header(scene: Scene, width: int = 0) -> Line:
    """Name of the program, instance and run; what a person must know before reading on stands at the end."""
    instance = scene.instance
    capability = str(instance.capability) if instance.capability else "?"
    parts = [
        Span(" vakra-tui ", "title"),
        Span(f" {one_line(instance.domain, 30)}", "accent"),
        Span(" / ", "dim"),
        Span(f"cap {capability}"),
        Span(" / ", "dim"),
        Span(short(instance.uuid, whole=width >= WHOLE_FROM)),
    ]
    note = header_note(scene)
    if note is not None:
        parts += [Span("   "), note]
    if scene.pause is not None:
        parts += [Span("   "), Span("\u25a0 paused", "warn")]
    if scene.flagged:
        parts += [Span("   "), Span("! ground truth flagged", "warn")]
    if scene.wheel != "recording":
        parts += [Span("   wheel: ", "dim"), Span(scene.wheel.replace("_", " "), "accent")]
    if scene.working:
        parts += [Span("   "), Span(f"{scene.working} \u2026", "dim")]
    if scene.run:
        parts += [Span("   run ", "dim"), Span(one_line(scene.run, 40))]
    if scene.branch:
        parts += [Span("   branch ", "dim"), Span(one_line(scene.branch, 40), "accent")]
    if scene.store_problem:
        parts += [Span("   "), Span("! steps are not kept", "warn")]
        parts.append(Span(f" ({one_line(scene.store_problem, 120)})", "dim"))
    return tuple(parts)


def header_note(scene: Scene) -> Span | None:
    """The state that changes how everything below is read: undecided, unscored, no ground truth, no prediction."""
    verdict = scene.verdict
    if scene.extra:
        return Span("no such instance in the dataset: not scored", "warn")
    if scene.truth.state == "none":
        return Span("no ground truth: not scored", "warn")
    if verdict is None:
        return Span("no prediction: ground truth only", "warn") if scene.prediction is None and scene.run else None
    if verdict.status == "unscored":
        return Span(f"unscored: {verdict.reason or 'no reason given'}", "warn")
    if verdict.passed is None:
        return Span("undecided", "warn")
    if scene.stale:
        return Span("steps were added: press v to evaluate", "warn")
    return Span("+ PASSED", "ok") if verdict.passed else Span("x FAILED", "fail")


def short(uuid: str, *, whole: bool = False) -> str:
    """A uuid in a title: whole, or its ends, since those of one domain may begin alike."""
    return one_line(uuid, 60) if whole or len(uuid) <= 16 else f"{one_line(uuid[:8], 8)}\u2026{one_line(uuid[-6:], 6)}"


def question(scene: Scene, *, context: bool) -> list[Line]:
    """The query with its turn; earlier turns before it where ``context`` is True."""
    turns = scene.instance.turns
    lines: list[Line] = []
    if context:
        for number, turn in enumerate(turns[:-1], start=1):
            lines.append(line((f" turn {number}  ", "label"), HANG, (turn.query, "dim")))
            if turn.answer is not None:
                lines.append(line(("    answer ", "label"), (answer_text(turn.answer), "dim")))
    which = ""
    if len(turns) > 1:
        which = f"   turn {len(turns)} of {len(turns)}"
        which += "  (h hides the context)" if context else "  (h shows the context)"
    lines.append(line((" Q  ", "label"), HANG, (scene.instance.query or "no query", "title"), (which, "dim")))
    return lines


def answer_text(answer: object) -> str:
    """An answer as people read it: a list's items joined by commas."""
    import json

    if isinstance(answer, str):
        return answer
    if isinstance(answer, list) and all(not isinstance(item, list | dict) for item in answer):
        return ", ".join(item if isinstance(item, str) else json.dumps(item) for item in answer)
    return json.dumps(answer, ensure_ascii=False)


def policy(view: PolicyView, *, whole: bool, key: str = "") -> list[Line]:
    """The policy banner: what it says, for which topics, whether it applies and why, what is allowed.

    ``whole`` adds its text; without it, ``key`` is told as the one that shows it.
    """
    if not view.text.strip():
        return []
    what = view.kind or "not understood"
    words, role = _APPLIES.get(view.applicability, ("", "dim"))
    parts: list[Span] = [Span(" POLICY  ", "label"), HANG, Span(what, "strong")]
    if view.topics:
        parts.append(Span(" for "))
        for index, topic in enumerate(view.topics):
            parts.append(Span(", " if index else ""))
            parts.append(Span(f"\u201c{one_line(topic, 80)}\u201d"))
    if words:
        parts += [Span(" \u2192 ", "dim"), Span(words, role)]
    if view.why:
        parts.append(Span(f" ({view.why})", "dim"))
    for name, state in (("API", view.api), ("RAG", view.rag)):
        text, state_role = _SOURCE_WORDS[state]
        role_of_name: Role = "api" if name == "API" else "rag"
        parts += [Span("   "), Span(f"{name}\u00a0", role_of_name), Span(text.replace(" ", "\u00a0"), state_role)]
    if view.first:
        parts += [Span("   first call: "), Span(view.first, "strong")]
    if view.violations:
        steps = ", ".join(str(number) for number in view.violations[:8])
        more = len(view.violations) - 8
        plural = "s" if len(view.violations) > 1 else ""
        parts.append(Span(f"   x broken by step{plural} {steps}{f' and {more} more' if more > 0 else ''}", "fail"))
    elif view.applicability == "applies":
        parts.append(Span("   no step breaks it", "dim"))
    if key and not whole:
        parts += [Span("   "), Span(key, "accent"), Span(" shows its words".replace(" ", "\u00a0"), "dim")]
    lines = [tuple(parts)]
    if whole:
        lines += [line(("         ", ""), (one_line(view.text, 4000), "dim"))]
    return lines


HINTED = (
    ("debugger.step", "step"),
    ("debugger.back", "back"),
    ("debugger.next-pane", "next pane"),
    ("debugger.evaluate", "evaluate"),
    ("debugger.leave", "all instances"),
    ("app.help", "all keys"),
)
HINTED_IN_LIST = (
    ("row.open", "debug it"),
    ("instances.find", "find"),
    ("instances.evaluate-all", "evaluate all"),
    ("instances.sort", "sort"),
    ("app.help", "all keys"),
    ("app.quit", "quit"),
)


def hint(key_of: Callable[[str], str]) -> list[Line]:
    """Three lines for the first start, each within 80 columns; ``key_of`` gives the keys of a command by its id."""
    return _hint(
        "The question, a run's steps, the reference path, the verdict.",
        HINTED,
        "WATERFALL says which gate failed and why.",
        key_of,
    )


def list_hint(key_of: Callable[[str], str]) -> list[Line]:
    """The same where a first start shows the list."""
    return _hint(
        "One row an instance, and what each run made of it.",
        HINTED_IN_LIST,
        "Nothing is evaluated until you ask for it.",
        key_of,
    )


def _hint(what: str, commands: Sequence[tuple[str, str]], why: str, key_of: Callable[[str], str]) -> list[Line]:
    keys: list[tuple[str, Role]] = [(" ", "")]
    for id_, word in commands:
        key = key_of(id_).partition(" ")[0] or "palette:"
        keys += [(key, "accent"), (f" {word}  ", "")]
    return [line((" Welcome. ", "title"), what), line(*keys), line((f" {why} Any key hides this hint.", "dim"))]
