"""The nouns of repair search: what was replaced, what came of it, what a search found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from eval.model import Verdict
from sessions.branches import Tree, as_prediction
from sessions.trajectory import ExecutedTrajectory
from toolenv.model import Prediction, ToolCall, Value

ReplacementKind = Literal["answer", "arguments", "call", "insert", "remove"]
"""What stands where: the ground truth's answer; its arguments, or its call, in place of a predicted one; a call of its
that the prediction lacks, put in; a call that the policy forbids, left out."""

SearchOutcome = Literal["replacement", "prefix", "plan", "reference", "stopped", "not failed", "missing"]
"""``replacement``: one replacement makes the waterfall pass. ``prefix``: none does, but the prediction's own rest
passes after the first steps of the ground truth. ``plan``: not even that; the plan itself is wrong. ``reference``: the
ground truth's own calls and answer do not pass here, so that nothing can be learned from it. ``stopped``: the limit of
executions came first. ``not failed`` and ``missing``: there was nothing to search."""


class Replacement(Value, frozen=True):
    """One change of a prediction.

    ``step`` is the number of the predicted call (from 1, the opening left out) that is replaced or left out, or before
    which a call is put in; one more than there are calls is the answer's place. ``hop`` is the ground truth's call, 0
    for its answer. ``tool`` is the tool that the broken step called, or should have called where none was.
    ``arguments`` are the names of those that differ. ``re_answered`` says that the ground truth's answer was given
    with the replaced call, because the prediction's own did not follow from what the repaired calls show; it is part
    of the same replacement. ``size`` counts what is written anew: differing arguments; a tool and its arguments, and
    one more where a step is added; 1 for an answer and for a step left out.
    """

    kind: ReplacementKind
    step: int
    hop: int
    tool: str
    before: ToolCall | None = None
    after: ToolCall | None = None
    arguments: tuple[str, ...] = ()
    answer: str | None = None
    re_answered: bool = False
    size: int = 1


class Repair(Value, frozen=True):
    """A repaired trajectory, executed, with its verdict. Its first ``fork_at`` steps are the prediction's own."""

    replacement: Replacement | None
    executed: ExecutedTrajectory
    verdict: Verdict
    fork_at: int

    @property
    def prediction(self) -> Prediction:
        """The repaired trajectory as a record of a run."""
        return as_prediction(self.executed.trajectory)

    def as_branch(self, tree: Tree, parent: int = 0, name: str = "repair") -> tuple[Tree, int]:
        """The tree with the repair as a branch of ``parent``, which must hold the searched prediction's steps; its
        number."""
        grown, number = tree.forked(parent, min(self.fork_at, tree.branch(parent).length), name)
        for step in self.executed.trajectory.steps[self.fork_at :]:
            grown = grown.appended(number, step)
        return grown, number


class Spent(Value, frozen=True):
    """What a search cost. ``executions`` are tool calls that were run; ``reused`` were known from an execution before.

    ``tried`` are the trajectories that were judged, ``not_recorded`` those left out because an environment does not
    hold an answer to one of their calls.
    """

    executions: int = 0
    reused: int = 0
    tried: int = 0
    not_recorded: int = 0


class RepairResult(Value, frozen=True):
    """What a search found.

    ``earliest`` and ``smallest`` are set for ``replacement`` (often the same). For ``prefix`` and ``plan``,
    ``prefixed`` is the trajectory that passes after the first ``prefix`` ground-truth calls. ``step`` and ``tool`` name
    the step that broke the prediction (see ``Replacement``), or where it first leaves the path of the ground truth;
    None and empty where none can be named.
    """

    outcome: SearchOutcome
    sentence: str
    step: int | None = None
    tool: str = ""
    earliest: Repair | None = None
    smallest: Repair | None = None
    prefix: int | None = None
    prefixed: Repair | None = None
    spent: Spent = Spent()

    @property
    def repair(self) -> Repair | None:
        """The repaired trajectory to open."""
        return self.earliest or self.prefixed


class Progress(Value, frozen=True):
    """Where a search is: ``tried`` of at most ``total`` trajectories, and what it tries now."""

    tried: int
    total: int
    executions: int
    trying: str


Listener = Callable[[Progress], None]
