"""Header line, question and policy banner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from vakra_tui.state.commands.chosen import key
from vakra_tui.state.lines import HANG, Line, Role, Span, line
from vakra_tui.state.scene import Scene
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
    """Instance, state, wheel, work that runs and how to stop it, run and branch, on one row of ``width`` cells.

    Where not all fit, what stands elsewhere or can be looked up gives way, then the words about the work: never the
    state, the wheel or the way to stop. Width 0 takes all.
    """
    note = header_note(scene)
    state = [Span("   "), note] if note is not None else []
    if scene.pause is not None:
        state += [Span("   "), Span("\u25a0 paused", "warn")]
    if scene.flagged:
        state += [Span("   "), Span("! ground truth flagged", "warn")]
    replays = replay_words(scene)
    if scene.wheel != "recording" or replays:
        state += [Span("   wheel: ", "dim"), Span(scene.wheel.replace("_", " "), "accent")]
    parts = {
        "name": [Span(" vakra-tui ", "title")],
        "place": _place(scene, whole=width >= WHOLE_FROM),
        "state": state,
        "replays": [Span(f", {replays}", "dim")] if replays else [],
        "work": [Span("   "), Span(scene.working, "dim")] if scene.working else [],
        "stop": _way_out(scene),
        "branch": [Span("   branch ", "dim"), Span(one_line(scene.branch, 40), "accent")] if scene.branch else [],
        "run": [Span("   run ", "dim"), Span(one_line(scene.run, 40))] if scene.run else [],
        "store": [Span("   "), Span("! steps are not kept", "warn")] if scene.store_problem else [],
        "why": [Span(f" ({one_line(scene.store_problem, 120)})", "dim")] if scene.store_problem else [],
    }
    for least in ("why", "name", "place", "run", "branch", "replays"):
        if not width or _cells(parts) <= width:
            break
        parts[least] = [Span(" "), Span(short(scene.instance.uuid))] if least == "place" else []
    over = _cells(parts) - width
    if width and over > 0 and scene.working:
        room = max(cell_len(scene.working) - over, 0)
        parts["work"] = [Span("   "), Span(set_cell_size(scene.working, room).rstrip(), "dim")]
    return tuple(span for part in parts.values() for span in part)


def _place(scene: Scene, *, whole: bool) -> list[Span]:
    instance = scene.instance
    return [
        Span(f" {one_line(instance.domain, 30)}", "accent"),
        Span(" / ", "dim"),
        Span(f"cap {instance.capability or '?'}"),
        Span(" / ", "dim"),
        Span(short(instance.uuid, whole=whole)),
    ]


def _way_out(scene: Scene) -> list[Span]:
    """How the work that runs is stopped, where it can be."""
    if not scene.working:
        return []
    return [Span(f" ({key('app.stop')} stops) \u2026" if scene.stoppable else " \u2026", "dim")]


def _cells(parts: Mapping[str, Sequence[Span]]) -> int:
    return sum(cell_len(span.text) for part in parts.values() for span in part)


def working_words(scene: Scene) -> str:
    """What is being done and how it is stopped, as ``header`` tells it."""
    return scene.working + "".join(span.text for span in _way_out(scene))


def replay_words(scene: Scene) -> str:
    """That the recording's old calls are made again on a branch; empty elsewhere.

    They were decided on other responses than those of the branch, and a person who forked expects the agent to react.
    """
    if not scene.on_branch or scene.wheel != "recording":
        return ""
    if scene.finished and scene.rows and scene.rows[-1].actor != "recording":
        return ""  # Somebody else gave the answer, as in a repair that answers anew.
    return "replays its old calls and answer"


def header_note(scene: Scene) -> Span | None:
    """The state that changes how everything below is read: undecided, unscored, no ground truth, no prediction."""
    verdict = scene.verdict
    if scene.extra:
        return Span("no such instance in the dataset: not scored", "warn")
    if scene.truth.state == "none":
        return Span("no ground truth: not scored", "warn")
    if verdict is None:
        return Span("no prediction: ground truth only", "warn") if scene.prediction is None and scene.run else None
    if scene.stale:
        return Span(f"steps were added: {key('debugger.evaluate')} evaluates", "warn")
    if verdict.status == "unscored":
        return Span(f"unscored: {one_line(verdict.reason or 'no reason given', 80)}", "warn")
    if verdict.passed is None:
        return Span("undecided", "warn")
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
        turns_key = key("debugger.earlier-turns")
        which += f"  ({turns_key} {'hides' if context else 'shows'} the context)"
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


def policy(scene: Scene, *, whole: bool, key: str = "") -> list[Line]:
    """The policy banner: what it says, for which topics, whether it applies and why, what is allowed.

    ``whole`` adds its text; without it, ``key`` is told as the one that shows it.
    """
    view = scene.policy
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
        parts += [Span("   "), Span("first\u00a0call:\u00a0"), Span(view.first, "strong")]
    if view.violations:
        steps = ", ".join(str(number) for number in view.violations[:8])
        more = len(view.violations) - 8
        plural = "s" if len(view.violations) > 1 else ""
        told = f"x broken by step{plural} ".replace(" ", "\u00a0")
        parts += [Span("   "), Span(f"{told}{steps}{f' and {more} more' if more > 0 else ''}", "fail")]
    elif view.applicability == "applies":
        parts += [Span("   "), Span(_unbroken(scene).replace(" ", "\u00a0"), "dim")]
    if key and not whole:
        parts += [Span("   "), Span(f"{key}\u00a0", "accent"), Span("shows\u00a0its\u00a0words", "dim")]
    lines = [tuple(parts)]
    if whole:
        lines += [line(("         ", ""), (one_line(view.text, 4000), "dim"))]
    return lines


def _unbroken(scene: Scene) -> str:
    """That no step breaks the policy, as far as steps were executed."""
    if scene.finished:
        return "no step breaks it"
    if scene.working:
        return "broken by a step: \u2026"
    return "no step so far breaks it" if scene.executed else "no step was made yet"


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
        keys += [(key_of(id_), "accent"), (f" {word}  ", "")]
    return [line((" Welcome. ", "title"), what), line(*keys), line((f" {why} Any key hides this hint.", "dim"))]
