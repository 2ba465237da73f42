"""The ways into the comparison of two trajectories and into the scores, and from a comparison into the debugger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.lines import plain
from vakra_tui.state.panes.waterfall import short_verdict
from vakra_tui.text import count_words, one_line
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.app import VakraApp
    from vakra_tui.screens.compare import CompareScreen, Making
    from vakra_tui.state.comparison import Side, Where
    from vakra_tui.state.entry import Entry

BRANCH, RUN = "branch ", "run "


def run_making(app: VakraApp, entry: Entry, run: str) -> Making:
    """How a run's prediction is executed beside the screen."""
    from vakra_tui.state.comparing import beside, progress_words, run_side
    from vakra_tui.state.scene import Scene

    async def made(told: Callable[[str], None]) -> Side:
        def heard(scene: Scene) -> None:
            told(progress_words(run, scene))

        told(progress_words(run, None))
        return await run_side(beside(app.world, entry, run, heard), run)

    return made


def compare_runs(app: VakraApp, entry: Entry) -> None:
    """From the list: two runs of a row, chosen where it has more."""
    app.run_worker(_compare_runs(app, entry), group="comparing", exclusive=True)


async def _compare_runs(app: VakraApp, entry: Entry) -> None:
    runs = app.world.runs_of(entry)
    if entry.extra or len(runs) < 2:
        app.toast("A comparison needs two runs with a prediction of this instance.")
        return
    left = runs[0] if len(runs) == 2 else await _chosen_run(app, entry, "The left side", runs)
    if left is None:
        return
    others = tuple(run for run in runs if run != left)
    right = others[0] if len(others) == 1 else await _chosen_run(app, entry, "The right side", others)
    if right is None:
        return
    screen = _screen([run_making(app, entry, left), run_making(app, entry, right)])
    picked = await app.push_screen_wait(screen)
    if picked is not None and screen.found is not None:
        where, index = picked
        app.open_entry(entry, run=screen.found.side(where).target, at=index)


async def _chosen_run(app: VakraApp, entry: Entry, question: str, runs: tuple[str, ...]) -> str | None:
    from vakra_tui.screens.choice import ChoiceScreen

    choices = [(run, plain(short_verdict(entry.verdicts.get(run)))) for run in runs]
    return await app.push_screen_wait(ChoiceScreen(question, choices))


def _screen(makings: list[Making]) -> CompareScreen:
    from vakra_tui.screens.compare import CompareScreen

    return CompareScreen(makings)


class ComparingVerbs(DebugBase):
    """The debugger's verbs that look beside: another run or branch of this instance, and the scores."""

    def action_scores(self) -> None:
        """The scores of all runs."""
        from vakra_tui.screens.scores import open_scores

        open_scores(self.app)

    @work(exclusive=True, group="doing")
    async def action_compare(self) -> None:
        """This branch beside another branch, or beside another run's prediction of this instance."""
        from vakra_tui.screens.choice import ChoiceScreen

        scene, entry = self.scene, self.session.entry
        if scene is None:
            return
        if not scene.tree:
            self.app.report(scene.problem or "The session is not open yet.", title="Nothing to compare")
            return
        here = scene.on_branch
        name = {branch.number: branch.name for branch in scene.tree}
        if scene.prediction is not None:
            # The first branch of a session on a run is its recording.
            name[0] = f"{name[0]} (run {scene.run})"
        choices = [
            (f"{BRANCH}{branch.number}", f"{name[branch.number]}, {count_words(branch.steps, 'step')}")
            for branch in scene.tree
            if branch.number != here
        ]
        runs = self.app.world.runs_of(entry) if entry is not None and not entry.extra else ()
        verdicts = entry.verdicts if entry is not None else {}
        choices += [(f"{RUN}{run}", plain(short_verdict(verdicts.get(run)))) for run in runs if run != scene.run]
        if not choices:
            self.app.toast("There is no other run or branch to compare.")
            return
        picked = choices[0][0] if len(choices) == 1 else None
        picked = picked or await self.app.push_screen_wait(ChoiceScreen("Compare with", choices))
        if picked is None:
            return
        against_run = picked.startswith(RUN) and here == 0 and scene.prediction is not None
        left = self._branch_making(here, scene.run if against_run else name[here])
        if picked.startswith(BRANCH):
            other = int(picked.removeprefix(BRANCH))
            right = self._branch_making(other, name[other])
        else:
            assert entry is not None, "runs are offered for a row of the list"
            right = run_making(self.app, entry, picked.removeprefix(RUN))
        screen = _screen([left, right])
        wanted = await self.app.push_screen_wait(screen)
        if wanted is not None and screen.found is not None:
            await self._go_into(screen.found.side(wanted[0]), wanted, here)

    def _branch_making(self, number: int, name: str) -> Making:
        from vakra_tui.state.comparing import branch_side

        async def made(told: Callable[[str], None]) -> Side:
            told(f"{one_line(name, 40)} \u2026")
            return await self.session.in_turn(branch_side, self.session, number, name)

        return made

    async def _go_into(self, side: Side, wanted: tuple[Where, int], here: int) -> None:
        """The debugger at a step of one side: here, on another branch, or on another run."""
        _, index = wanted
        if side.kind == "run":
            self.app.open_other_run(side.target, at=index)
            return
        if int(side.target) != here:
            self._follow = False
            if not await self._do(self.session.look_at, int(side.target)):
                return
        self._move(index)
