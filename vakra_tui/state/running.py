"""The rows of a trajectory while its steps are run: a scene costs what is new since the one before.

Of each step that alone is told which follows from it and from the calls before it. Hops, origins and differences grow
with the length of responses and follow when the run has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sessions.dataflow import GroundTruthAnalysis
from sessions.dataflow.calls import OPENING_TOOL, is_opening
from sessions.drivers.recording import Recording, Standing
from sessions.trajectory import CallTool, ExecutedTrajectory, Step
from toolenv import policy as policies
from toolenv.model import ToolCall, ToolSpec
from vakra_tui.state.analysis import truth_view
from vakra_tui.state.build_scene import Analysed, Specs
from vakra_tui.state.policy_view import policy_view
from vakra_tui.state.rows import executed_row, is_numbered, pending_rows
from vakra_tui.state.scene import StepRow, TruthView

if TYPE_CHECKING:
    from vakra_tui.state.subject import Subject


class Running:
    """Follows one branch that is run; ``about`` is what its rows depend on besides the branch.

    ``ahead`` is the recording of which what is left is shown, None for none.
    """

    def __init__(
        self,
        subject: Subject,
        truth: GroundTruthAnalysis | None,
        tools: Sequence[ToolSpec],
        *,
        ahead: Recording | None,
    ) -> None:
        self.about = (id(truth), id(tools), ahead is not None, ahead.left_out if ahead is not None else None)
        self._subject = subject
        self._truth = truth
        self._recording = ahead
        self._specs = Specs(tools, subject.instance.domain)
        self._applicability = policies.applicability_of(subject.instance)
        self._policy = policies.policy_of(subject.instance)
        self._banner = policy_view(subject.instance, self._applicability)
        self._views: dict[bool, TruthView] = {}
        self._steps: tuple[Step, ...] = ()
        self._rows: tuple[StepRow, ...] = ()
        self._number = 0
        self._opened = False
        self._made = 0
        self._scored: list[ToolCall] = []
        self._broken: dict[int, str] = {}
        self._standing = Standing(ahead.prediction.calls, ahead.left_out) if ahead is not None else None
        self._ahead: tuple[int, tuple[StepRow, ...]] | None = None

    def goes_on(self, executed: ExecutedTrajectory) -> bool:
        """Whether this trajectory begins with the steps that were followed."""
        return executed.trajectory.steps[: len(self._steps)] == self._steps

    def analysed(self, executed: ExecutedTrajectory) -> Analysed:
        """What is shown of a trajectory that begins with the steps that were followed."""
        steps = executed.trajectory.steps
        fresh: list[StepRow] = []
        for index in range(len(self._steps), len(steps)):
            table = executed.tables[index] if index < len(executed.tables) else None
            step = steps[index]
            self._judge(step)
            counts = is_numbered(step)
            self._number += counts
            shown = self._number if counts else 0
            broken = self._broken.get(shown, "") if counts else ""
            fresh.append(executed_row(step, shown, table, (), {}, broken, self._subject.prediction))
        self._steps = steps
        self._rows += self._specs.of_all(fresh)
        finished = executed.trajectory.finished
        ahead = () if finished else self._rows_ahead(executed)
        return Analysed(
            rows=self._rows + ahead,
            truth=self._view(finished),
            policy=msgspec.structs.replace(self._banner, violations=tuple(self._broken)),
            finished=finished,
        )

    def _judge(self, step: Step) -> None:
        """Take one call to those that the policy is asked about."""
        if not isinstance(step.decision, CallTool):
            return
        instance, call = self._subject.instance, step.decision.call
        if is_opening(instance, step, not self._opened and not self._made):
            self._opened = True
            return
        self._made += 1
        if self._applicability != "applies" or (instance.capability != 1 and call.name == OPENING_TOOL):
            return
        reason = policies.violation(self._policy, self._applicability, self._scored, call)
        if reason:
            self._broken[self._made] = reason
        self._scored.append(call)

    def _rows_ahead(self, executed: ExecutedTrajectory) -> tuple[StepRow, ...]:
        """The rows of the recording that are to come: the same ones after every step that follows it."""
        if self._recording is None or self._standing is None:
            return ()
        prediction = self._recording.prediction
        done = self._standing.next(executed.trajectory.steps)
        if done > len(prediction.calls):
            return self._specs.of_all(pending_rows(prediction, done, self._number))
        shift = self._number - done
        if self._ahead is None or self._ahead[0] != shift:
            self._ahead = shift, self._specs.of_all(pending_rows(prediction, 0, shift))
        return self._ahead[1][done:]

    def _view(self, finished: bool) -> TruthView:
        """The reference path beside it, of which nothing is told while steps are run."""
        if finished not in self._views:
            self._views[finished] = truth_view(self._subject.instance, self._truth, None, ended=finished)
        return self._views[finished]
