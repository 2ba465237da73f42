"""The lines above a comparison: both sides with their verdicts, by which profile, and how much differs."""

from __future__ import annotations

from rich.cells import cell_len

from eval.model import Verdict
from vakra_tui.state.cells import cell
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.comparison import SIDES, SIGNS, WIDE, Compared, Side, Where, gate_words
from vakra_tui.state.lines import Line, Role, Span, line
from vakra_tui.state.panes import waterfall
from vakra_tui.text import count_words, one_line
from vakra_tui.wrap import crop, width_of

LONGEST_NAME = 30
SHORT_NAME = 16
"""Cells of a side's name at most, in a wide and in a narrow terminal."""


def side_lines(found: Compared, where: Where, width: int) -> list[Line]:
    """A side's name and gates on one line as fully as ``width`` cells allow, then what decided."""
    names = names_of(found, LONGEST_NAME if width >= WIDE else SHORT_NAME)
    side = found.side(where)
    sign, role = ("<", "removed") if where == "left" else (">", "added")
    name = cell(names[where], max(cell_len(each) for each in names.values()))
    head = (Span(f" {sign} {where:<6}", role), Span(f"{name}  ", "strong"))  # type: ignore[arg-type]
    said = _verdict_lines(found, side, width - width_of(head))
    return [(*head, *said[0]), *said[1:2]]


def names_of(found: Compared, most: int) -> dict[Where, str]:
    """The names of both sides in at most ``most`` cells: their beginnings, or their ends where only those differ."""
    whole = {where: one_line(found.side(where).name, 400) for where in SIDES}
    left, right = (crop((Span(whole[where]),), most) for where in SIDES)
    if left == right and whole["left"] != whole["right"]:
        return {
            where: "\u2026" + name[-(most - 1) :] if cell_len(name) > most else name for where, name in whole.items()
        }
    return {where: cell(name, min(cell_len(name), most)) for where, name in whole.items()}


def _verdict_lines(found: Compared, side: Side, room: int) -> list[Line]:
    """The gates of a side, then what decided; why there is no verdict where there is none."""
    scene, verdict = side.scene, found.verdict_of(side)
    if verdict is None:
        if scene.truth.state == "none":
            return [line(("not scored: the instance has no ground truth", "warn"))]
        return [line(("not evaluated" if scene.finished else "not evaluated: it is not finished", "warn"))]
    stale = scene.stale and verdict is scene.verdict
    gates = _without_label(waterfall.summary(verdict, stale=stale, brief=True))
    if width_of(gates) > room and verdict.status == "scored":
        gates = signs_line(verdict, stale=stale)
    if found.profile != "paper" or scene.profile != "paper":
        return [gates, waterfall.decisive(verdict)]
    return [gates, *waterfall.strip_lines(scene, brief=True)[1:2]]


def signs_line(verdict: Verdict, *, stale: bool = False) -> Line:
    """``policy \u2713  tool sequence \u2717  final response \u2013``."""
    parts: list[Span] = []
    for stage in verdict.stages:
        outcome = waterfall.outcome_span(stage.outcome)
        words = waterfall.STAGE_WORDS[stage.stage].replace(" ", "\u00a0")
        parts += [Span(f"{words}\u00a0"), Span(outcome.text[:1], outcome.role), Span("  ")]
    return (*parts, *((Span("(of an earlier state)", "warn"),) if stale else ()))


def _without_label(content: Line) -> Line:
    """A line of the waterfall without its heading word."""
    return content[1:] if content and content[0].role == "label" and "WATERFALL" in content[0].text else content


def head_lines(found: Compared, width: int) -> list[Line]:
    """How many steps are alike and how many are not, each named; what else differs; whose verdicts these are."""
    parts: list[tuple[str, Role]] = [(" steps  ", "label")]
    for state, (sign, word, role) in SIGNS.items():
        number = found.count(state)
        if number:
            parts += [(_bound(f"{sign} {number} {word}"), role), ("   ", "")]
    hops = sum(item.kind == "hop" and item.differs for item in found.items)
    gates = [gate_words(item.name) for item in found.items if item.kind == "gate" and item.differs]
    gates = [name for name in gates if name != "verdict"]
    if width >= WIDE:
        if hops:
            parts += [(_bound(f"{count_words(hops, 'hop')} recovered by one side only"), "warn"), ("   ", "")]
        if gates:
            parts.append((f"gates differ: {', '.join(map(_bound, gates))}   ".replace(": ", ":\u00a0"), "warn"))
    elif hops or gates:
        told = [count_words(hops, "hop")] if hops else []
        told += [count_words(len(gates), "gate")] if gates else []
        parts.append((_bound(f"{' and '.join(told)} differ"), "warn"))
    if not found.differing:
        parts.append(("nothing differs   ", "ok"))
    return [line(*parts), *_about_profile(found)]


def _bound(words: str) -> str:
    """Words that stay on one row."""
    return words.replace(" ", "\u00a0")


def _about_profile(found: Compared) -> list[Line]:
    """That the verdicts are not those of the profile that was asked for, where they are not."""
    if found.profile == found.wanted:
        return []
    lacking = [one_line(side.name, SHORT_NAME) for side in (found.left, found.right) if not side.listed]
    words = f"{found.wanted} has none of {' and '.join(lacking)}"
    how = f" ({key('instances.evaluate')} in the list scores a run by it)"
    return [line((f" verdicts by the profile {found.profile}: ", "warn"), (words + how, "dim"))]
