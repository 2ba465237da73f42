"""The tree of branches: steps that share their prefix, and a cursor that moves while history does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from sessions.comparison import Pair, aligned
from sessions.trajectory import CallTool, Message, Step, Trajectory
from toolenv.model import Instance, Prediction, Value


class Drift(Value, frozen=True):
    """What replaying one step gave: ``same`` as before, or ``drifted`` with the difference."""

    outcome: Literal["same", "drifted"]
    difference: str = ""


class Branch(Value, frozen=True):
    """One line of steps. Its first ``fork_at`` steps are those of ``parent``; ``steps`` are its own, after them.

    ``replayed`` tells, for the prefix of a branch whose session was made by replay, how each step compared.
    """

    number: int
    name: str
    parent: int | None = None
    fork_at: int = 0
    steps: tuple[Step, ...] = ()
    replayed: tuple[Drift, ...] = ()

    @property
    def length(self) -> int:
        return self.fork_at + len(self.steps)


class Cursor(Value, frozen=True):
    """Where one is looking: ``at`` steps of a branch lie behind, 0 is before the first."""

    branch: int
    at: int


class Tree(Value, frozen=True):
    """All branches of one session; every change makes a new tree. Branch 0 is the first."""

    instance: Instance
    branches: tuple[Branch, ...] = (Branch(number=0, name="main"),)
    promoted: int | None = None

    def branch(self, number: int) -> Branch:
        """Raises ``IndexError`` for a number that is no branch's."""
        if not 0 <= number < len(self.branches):
            raise IndexError(f"there is no branch {number}")
        return self.branches[number]

    def steps(self, number: int) -> tuple[Step, ...]:
        """All steps of a branch from the beginning, the prefix that it shares included."""
        line = [self.branch(number)]
        if line[0].parent is None:
            return line[0].steps
        while line[-1].parent is not None:
            line.append(self.branch(line[-1].parent))
        steps: tuple[Step, ...] = ()
        for branch in reversed(line):
            steps = (*steps[: branch.fork_at], *branch.steps)
        return steps

    def trajectory(self, number: int, at: int | None = None) -> Trajectory:
        """The trajectory of a branch, or its first ``at`` steps."""
        steps = self.steps(number)
        return Trajectory(instance=self.instance, steps=steps if at is None else steps[:at])

    def appended(self, number: int, step: Step) -> Tree:
        branch = self.branch(number)
        return self._with(msgspec.structs.replace(branch, steps=(*branch.steps, step)))

    def forked(self, parent: int, at: int, name: str = "", replayed: Sequence[Drift] = ()) -> tuple[Tree, int]:
        """A new, empty branch that shares the first ``at`` steps of ``parent``; the tree with it and its number."""
        if not 0 <= at <= self.branch(parent).length:
            raise IndexError(f"branch {parent} has no place {at} to fork at")
        number = len(self.branches)
        branch = Branch(
            number=number,
            name=name or f"fork {self._first_own(parent, at)}{_letter(number)}",
            parent=parent,
            fork_at=at,
            replayed=tuple(replayed),
        )
        return msgspec.structs.replace(self, branches=(*self.branches, branch)), number

    def _first_own(self, parent: int, at: int) -> int:
        """The number, as people count, of the first step of a fork: that of the step which it replaces."""
        shared = self.steps(parent)[:at]
        return 1 + sum(not step.opening and not isinstance(step.decision, Message) for step in shared)

    def forks(self, number: int, at: int) -> tuple[Branch, ...]:
        """The branches that leave a branch after its first ``at`` steps."""
        return tuple(each for each in self.branches if each.parent == number and each.fork_at == at)

    def compared(self, left: int, right: int) -> list[Pair]:
        """Two branches side by side."""
        return aligned(self.steps(left), self.steps(right), self.instance.domain)

    def promote(self, number: int) -> Tree:
        """Make a branch the one that is exported."""
        self.branch(number)
        return msgspec.structs.replace(self, promoted=number)

    @property
    def exported(self) -> int:
        """The branch to export: the promoted one, else the first."""
        return 0 if self.promoted is None else self.promoted

    def _with(self, branch: Branch) -> Tree:
        branches = (*self.branches[: branch.number], branch, *self.branches[branch.number + 1 :])
        return msgspec.structs.replace(self, branches=branches)


def _letter(number: int) -> str:
    """1 -> a, 26 -> z, 27 -> aa."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters


def as_prediction(trajectory: Trajectory) -> Prediction:
    """What a trajectory predicts, as a record of a run: its calls as they were written, and its answer.

    The stepper's own opening is left out, since whoever executes the record opens the instance again. ``responses``
    are what this trajectory saw.
    """
    made = [
        (step.decision.call, step.result)
        for step in trajectory.steps
        if isinstance(step.decision, CallTool) and step.actor != "stepper"
    ]
    instance = trajectory.instance
    answered = trajectory.answer is not None
    return Prediction(
        uuid=instance.uuid,
        domain=instance.domain,
        query=instance.query,
        answer=trajectory.answer or "",
        calls=tuple(call for call, _ in made),
        capability=instance.capability,
        turn_id=instance.turns[-1].turn_id,
        status="success" if answered else "error",
        error="" if answered else "No final answer was given.",
        duration_s=sum(result.duration_s for _, result in made if result is not None),
        responses=tuple(result.text if result is not None else None for _, result in made),
    )
