"""Opening and closing a session: records, the stored steps, the reference executed beside."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolenv.errors import DataError, EnvironmentFailure, StoreError, VakraError
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.live.base import RUNNING
from vakra_tui.state.live.judging import PROFILE, Judging
from vakra_tui.state.live.playing import Playing
from vakra_tui.state.live.stopping import Stopped

if TYPE_CHECKING:
    from eval.model import Verdict
    from sessions.events import StepEvent
    from sessions.store import SessionRef, StoredSession

STOPPED = "the execution of the reference path was stopped; evaluating executes it again"


def _continued(stored: StoredSession | None) -> SessionRef | None:
    """The session that new steps are added to; what a batch executed stays as it is, a person goes on in a new one."""
    from sessions.store import SessionRef

    if stored is None or stored.summary.kind != "person":
        return None
    return SessionRef(id=stored.summary.id, key=stored.summary.key)


class Opening(Playing, Judging):
    """Opening and closing a session: records, the stored steps, the reference executed beside."""

    async def open(self) -> None:
        """Load the records, execute the reference beside, run a recorded prediction to its end and evaluate it.

        An instance that a person worked on before comes back with all its steps and branches.
        """
        self.subject = self._load()
        self.wheel = "recording" if self.subject.prediction is not None else "human"
        self.reference_shown = bool(self.subject.run)
        self._opening = True
        await self._show(force=True)
        try:
            await self._open_timeline()
            await self._execute_truth()
            if self._timeline is not None:
                if self.wheel == "recording" and not self._restored:
                    await self.run_to_end()
                if self._timeline.finished and self._truth_problem != STOPPED:
                    await self.evaluate()
        finally:
            self._opening = False
            self._working = ""
            await self._show(force=True)

    async def close(self, at: int | None = None) -> None:
        """End the live sessions; ``at`` is where the person looked last.

        Raises ``StoreError`` where that cannot be kept.
        """
        if self._timeline is None:
            return
        timeline, self._timeline = self._timeline, None
        try:
            if at is not None and timeline.keeper is not None and timeline.keeper.ref is not None:
                timeline.go_to(at)
                await timeline.save_place()
        except StoreError as error:
            raise StoreError(f"The place where you were is not kept: {error}") from error
        finally:
            await timeline.close()

    async def _open_timeline(self) -> None:
        from sessions.checks import standard_checks
        from sessions.store import NewSession
        from sessions.timeline import Timeline
        from vakra_tui.state.remarks import Marking, remarks_of

        assert self.subject is not None
        try:
            environment = self.world.environments.serving(self.instance)
        except EnvironmentFailure as error:
            self._problem = str(error)
            return
        dataset, run = self.world.dataset_fingerprint, self.world.run_fingerprint(self.subject.run)
        store = self.world.keeping.ready()
        stored = None
        if store is not None:
            try:
                await self.world.read_flags()
                stored = await self.world.keeping.session(dataset, self.instance.uuid, run, self.subject.stored)
            except StoreError as error:
                self._store_problem = str(error)
                store = None
        new = NewSession(
            instance=self.instance,
            title=self.instance.query[:200],
            dataset=dataset,
            dataset_path="" if self.world.wiring.sample else str(self.world.wiring.data_path.resolve()),
            run=self.subject.run,
            run_fingerprint=run,
            environment=environment.name,
        )
        timeline = Timeline(
            self.instance,
            environment,
            self._driver(),
            store=store,
            new=new,
            tree=stored.tree if stored is not None else None,
            ref=_continued(stored),
            listeners=(self._step_event,),
            checks=standard_checks(self.instance),
        )
        try:
            self._breakpoints = await self.world.breakpoints()
        except StoreError as error:
            self._store_problem = str(error)
        timeline.breakpoints = list(self._breakpoints)
        self._store_problem = self._store_problem or self.world.keeping.problem
        if stored is not None and stored.tree.branch(0).length:
            self._restored = True
            self._marking = Marking(remarks_of(stored.marks, stored.notes))
            self._verdicts = self._kept_verdicts(stored)
            newest = len(stored.tree.branches) - 1
            timeline.go_to(stored.tree.branch(newest).length, newest)
            place = (stored.cursor.branch, stored.cursor.at) if stored.cursor is not None else None
            place = self.sought or place
            if self.subject.stored and place is not None and place[0] <= newest:
                left = stored.tree.branch(place[0])
                timeline.go_to(left.length, left.number)
                self.left = min(place[1], left.length)
            steps = timeline.steps
            if any(step.actor == "human" for step in steps):
                self.wheel = "human"
                timeline.hand_over(self._driver())
        try:
            self._offered = await timeline.tools()
        except EnvironmentFailure as error:
            self._problem = str(error)
            await timeline.close()
            return
        self._timeline = timeline

    def _kept_verdicts(self, stored: StoredSession) -> dict[int, tuple[int, Verdict]]:
        """Branch -> (steps, verdict) of every branch that was judged as it stands now, by the same judge.

        One that cannot be read is told among the problems.
        """
        import msgspec

        from eval.model import Verdict

        found: dict[int, tuple[int, Verdict]] = {}
        judge = self.world.judge_identity
        for kept in sorted(stored.verdicts, key=lambda verdict: verdict.created_at):
            known = 0 <= kept.branch < len(stored.tree.branches)
            if not known or not judge or (kept.profile, kept.judge) != (PROFILE, judge):
                continue
            if kept.steps == stored.tree.branch(kept.branch).length:
                try:
                    found[kept.branch] = kept.steps, msgspec.convert(kept.body, Verdict)
                except msgspec.ValidationError as error:
                    which = f"Session {stored.summary.key}: the kept verdict of branch {kept.branch}"
                    anew = f"{key('debugger.evaluate')} evaluates it anew"
                    self.world.say_problem(f"{which} cannot be read ({error}); {anew}.")
        return found

    def _step_event(self, event: StepEvent) -> None:
        if event.moment == "unsaved":
            self._store_problem = event.detail
        if event.moment == "observed" and self._working == RUNNING and self._showing is None and self._due():
            self._showing = asyncio.create_task(self._show_running())

    async def _show_running(self) -> None:
        """A scene between two steps of a run that is awaited as a whole."""
        try:
            await self._show()
        except VakraError as error:
            self._problem = str(error)
        finally:
            self._showing = None

    async def _execute_truth(self) -> None:
        if self.instance.ground_truth is None or self._timeline is None:
            self._truth_problem = self._problem
            return
        from vakra_tui.state.analysis import truth_of

        self._working = "executing the reference path"
        await self._show(force=True)
        try:
            self._truth = await self.stoppable(self.world.truth(self.instance))
            self._truth_problem = ""
            self._timeline.reference = self._truth.executed.trajectory.steps
            self._analysis = truth_of(self.instance, self._truth.executed)
        except Stopped:
            self._truth_problem = STOPPED
        except (EnvironmentFailure, DataError) as error:
            self._truth_problem = str(error)
        self._working = ""

    async def _before_evaluating(self) -> None:
        if self._truth_problem == STOPPED:
            await self._execute_truth()
            if self._truth is None and self._truth_problem == STOPPED:
                await self._show(force=True)
                raise Stopped
