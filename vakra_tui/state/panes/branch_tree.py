"""The tree of branches as rows between the steps of the branch that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from vakra_tui.state.lines import Line, Span
from vakra_tui.state.scene import BranchRow
from vakra_tui.text import count_words, one_line

ACTORS = {"agent": "A", "human": "H", "recording": "R", "ground_truth": "G", "stepper": "\u00b7"}
"""One letter for who decided a step; the help screen spells them out."""


class Twig(NamedTuple):
    """A branch drawn after ``after`` steps: ``lead`` are the strokes before its name."""

    branch: BranchRow
    after: int
    lead: str


def twigs(tree: Sequence[BranchRow], shown: int) -> list[Twig]:
    """Every branch but the shown one, in the order of the places where they leave the line that is shown.

    A branch that was left for the shown one is drawn where it goes on; branches of branches hang below their parent.
    """
    tree = [_leaving(branch, tree) for branch in tree]
    by_number = {branch.number: branch for branch in tree}
    left_at = _lineage(by_number, shown)
    drawn: list[Twig] = []
    hanging: list[tuple[int, BranchRow]] = []
    for branch in tree:
        if branch.number in left_at:
            if branch.number != shown and branch.steps > left_at[branch.number]:
                hanging.append((left_at[branch.number], branch))
        elif branch.parent in left_at and branch.fork_at <= left_at[branch.parent]:
            hanging.append((branch.fork_at, branch))
    hanging.sort(key=lambda pair: (pair[0], pair[1].number))
    for index, (after, branch) in enumerate(hanging):
        last = index + 1 == len(hanging) or hanging[index + 1][0] != after
        _draw(drawn, tree, branch, after, left_at, "", last=last)
    return drawn


def _leaving(branch: BranchRow, tree: Sequence[BranchRow]) -> BranchRow:
    """The branch as a child of the one whose steps it leaves: forked where its parent was forked, or before, it has
    no step of its parent's own.
    """
    by_number = {each.number: each for each in tree}
    parent = branch.parent
    while parent in by_number and by_number[parent].parent is not None and branch.fork_at <= by_number[parent].fork_at:
        parent = by_number[parent].parent
    return msgspec.structs.replace(branch, parent=parent) if parent != branch.parent else branch


def _lineage(by_number: dict[int, BranchRow], shown: int) -> dict[int, int]:
    """Branch -> how many of its steps the shown branch has: the shown one itself and those it comes from."""
    branch = by_number[shown]
    line = {shown: branch.steps}
    shared = branch.steps
    while branch.parent is not None and branch.parent in by_number:
        shared = min(shared, branch.fork_at)
        branch = by_number[branch.parent]
        line[branch.number] = shared
    return line


def _draw(
    drawn: list[Twig],
    tree: Sequence[BranchRow],
    branch: BranchRow,
    after: int,
    left_at: dict[int, int],
    before: str,
    *,
    last: bool,
) -> None:
    drawn.append(Twig(branch, after, before + ("\u2514\u2500 " if last else "\u251c\u2500 ")))
    children = [
        child
        for child in tree
        if child.parent == branch.number
        and child.number not in left_at
        and child.fork_at > left_at.get(branch.number, -1)
    ]
    inside = before + ("   " if last else "\u2502  ")
    for index, child in enumerate(children):
        _draw(drawn, tree, child, after, left_at, inside, last=index + 1 == len(children))


def twig_line(twig: Twig) -> Line:
    """``├─ fork 2b  H  3 steps  ✗`` under the step after which it leaves."""
    branch = twig.branch
    own = max(branch.steps - twig.after, 0)
    mark = Span("")
    if branch.judged:
        mark = {
            True: Span(" \u2713", "ok"),
            False: Span(" \u2717", "fail"),
            None: Span(" ?", "warn"),
        }[branch.passed]
    return (
        Span("      " + twig.lead, "bar"),
        Span(one_line(branch.name, 40), "accent"),
        Span(f" {ACTORS.get(branch.actor, '')}".rstrip(), "dim"),
        mark,
        Span(f" +{count_words(own, 'step')}", "dim"),
    )


def branch_words(branch: BranchRow, shown: int) -> str:
    """A branch in a list to choose from: name, steps, verdict, and whether it is the one that is ``shown``."""
    outcome = {True: "\u2713 passed", False: "\u2717 failed", None: "? undecided"}[branch.passed]
    parts = [
        one_line(branch.name, 24),
        count_words(branch.steps, "step"),
        outcome if branch.judged else "not evaluated",
    ]
    return ", ".join(parts) + (" (here)" if branch.number == shown else "")
