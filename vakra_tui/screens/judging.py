"""The debugger's verbs about the verdict: evaluate, and rule a gate oneself."""

from __future__ import annotations

from toolenv.errors import VakraError
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.commands.chosen import key
from vakra_tui.state.live.stopping import Stopped
from vakra_tui.state.rulings import GATE_WORDS, gates_of
from vakra_tui.working import work

TAKE_BACK = "take back"


class JudgingVerbs(DebugBase):
    """Evaluating, and a person's rulings."""

    def action_evaluate(self) -> None:
        self._evaluate()

    @work(group="session")
    async def _evaluate(self) -> None:
        """Evaluate; a verdict that comes out as it was shown already is told, since nothing moves on the screen."""
        before = self.scene.verdict if self.scene is not None and not self.scene.stale else None
        if not await self._do(self.session.evaluate) or before is None or before.status == "unscored":
            return
        scene = self.session.scene
        if scene is not None and scene.verdict == before:
            outcome = "undecided" if before.passed is None else "passed" if before.passed else "failed"
            self.app.toast(f"Evaluated: {outcome}, nothing has changed since.")

    @work(group="session")
    async def action_repair(self) -> None:
        """Search for the smallest repair; what was found can be opened as a branch. Leaving ends the search."""
        from vakra_tui.screens.choice import ChoiceScreen

        try:
            found = await self.app.engine.run(self.session.in_turn(self.session.repair))
        except Stopped as stopped:
            self.app.toast(str(stopped))
            return
        except VakraError as error:
            self.app.report(str(error))
            return
        if found.repair is None:
            self.app.report(found.sentence, title="Repair search")
            return
        choices = (("open it", "the repaired trajectory, run on a branch"), ("leave it", "go on as it is"))
        picked = await self.app.push_screen_wait(ChoiceScreen(f"Repair search: {found.sentence}", choices))
        if picked == "open it":
            self._follow = True
            await self._do(self.session.open_repair, found.repair)

    @work(exclusive=True, group="doing")
    async def action_judge(self) -> None:
        """Rule a gate of the shown verdict: pass or fail, with a reason; or take such a ruling back."""
        from eval.judges import HumanRuling
        from vakra_tui.screens.ask import AskScreen
        from vakra_tui.screens.choice import ChoiceScreen

        verdict = self.scene.verdict if self.scene is not None else None
        if self.scene is None or verdict is None or self.scene.stale:
            self.app.toast(f"There is no verdict of what is shown; {key('debugger.evaluate')} evaluates.", warn=True)
            return
        try:
            ruled = await self.app.engine.run(self.session.in_turn(self.session.ruled))
        except VakraError as error:
            self.app.report(str(error))
            return
        gates = gates_of(verdict)
        offered = {GATE_WORDS[gate]: gate for gate in GATE_WORDS if gate in gates or gate in ruled}
        if not offered:
            self.app.toast("No gate was reached, so there is nothing to rule.", warn=True)
            return
        choices = [
            (words, f"{gates.get(gate, 'skipped')}{', by you' if gate in ruled else ''}")
            for words, gate in offered.items()
        ]
        telling = [gate for wanted in ("fail", "undecided") for gate, outcome in gates.items() if outcome == wanted]
        worst = GATE_WORDS[telling[0]] if telling else ""
        picked = await self.app.push_screen_wait(ChoiceScreen("Which gate do you rule?", choices, chosen=worst))
        if picked is None:
            return
        gate = offered[picked]
        outcomes = [("pass", f"{picked} holds"), ("fail", f"{picked} is broken")]
        if gate in ruled:
            outcomes.append((TAKE_BACK, f"your ruling goes, {self.scene.judge} or the program decides again"))
        outcome = await self.app.push_screen_wait(ChoiceScreen(f"Your ruling on {picked}", outcomes))
        if outcome is None:
            return
        if outcome == TAKE_BACK:
            await self._do(self.session.rule, gate, None)
            return
        before = ruled[gate].reason if gate in ruled else ""
        reason = await self.app.push_screen_wait(AskScreen(f"Why does {picked} {outcome}?", value=before))
        if reason is not None:
            ruling = HumanRuling(outcome="pass" if outcome == "pass" else "fail", reason=reason)
            await self._do(self.session.rule, gate, ruling)
