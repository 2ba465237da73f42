"""The debugger's verbs with an agent at one's side: a proposal, and what becomes of it; asking it again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from sessions.trajectory import Answer, CallTool, Decision, GiveUp
from toolenv.errors import VakraError
from toolenv.model import ToolCall, ToolSpec
from vakra_tui.screens.debug_base import DebugBase
from vakra_tui.state.live.stopping import Stopped
from vakra_tui.state.scene import columns_of
from vakra_tui.working import work

if TYPE_CHECKING:
    from sessions.agent import Variation
    from vakra_tui.state.proposing import Offer

NO_AGENT = "No agent is named: start with --agent react --model M --base-url URL, or with one of your own."

OWN_AGENT = "react"

FOREIGN = "the agent finds them in its options, and they do what it makes of them"


class AskingVerbs(DebugBase):
    """Has the agent propose a step and lets a person take, change or reject it."""

    @work(exclusive=True, group="doing")
    async def action_propose(self) -> None:
        """What the agent would do next; nothing is run before a person takes it."""
        if self.session.agent_name is None:
            self.app.report(NO_AGENT, title="No agent")
            return
        await self._ruled(await self._offered(self.session.ask, self.behind))

    @work(exclusive=True, group="doing")
    async def action_ask_again(self) -> None:
        """The step under the cursor once more, asked in another way, on a branch of its own."""
        from vakra_tui.screens.proposal import AskAgainScreen

        if self.session.agent_name is None or self.scene is None:
            self.app.report(NO_AGENT, title="No agent")
            return
        at = min(self.cursor, self.scene.executed)
        try:
            usual: Variation = await self.app.engine.call(lambda: self.session.usual)
        except VakraError as error:
            self.app.report(str(error))
            return
        own = self.session.agent_name == OWN_AGENT
        asked_before = max(self.session.asked_here(at), 1)
        # An agent that is told no seed otherwise is offered one all the same: without it, it may well say the same.
        seed = str((usual.seed or 0) + asked_before) if usual.seed is not None or not own else ""
        number = self.row.number if self.row is not None else 1
        asked = await self.app.push_screen_wait(
            AskAgainScreen(
                f"Ask {self.session.agent_name} for step {max(number, 1)} again, on a branch",
                model=usual.model or "",
                temperature="" if usual.temperature is None else f"{usual.temperature:g}",
                seed=seed,
                note="" if own else FOREIGN,
            )
        )
        if asked is not None:
            await self._ruled(await self._offered(self.session.ask_again, at, _variation(usual, *asked)))

    async def _offered(self, verb: Callable[..., Coroutine[Any, Any, Offer]], *arguments: Any) -> Offer | None:
        """A proposal asked for in the engine thread; None where none came, which a dialog has told then."""
        self._follow = True
        try:
            return await self.app.engine.run(self.session.in_turn(verb, *arguments))
        except Stopped as stopped:
            self.app.toast(str(stopped))
        except VakraError as error:
            self.app.report(str(error), title="The agent proposed nothing")
        return None

    async def _ruled(self, offer: Offer | None) -> None:
        """Show a proposal until it is taken, changed or left; one that is rejected leads to another."""
        from vakra_tui.screens.ask import AskScreen
        from vakra_tui.screens.proposal import ProposalScreen

        while offer is not None:
            ruled = await self.app.push_screen_wait(ProposalScreen(offer))
            if ruled is None:
                again, run = self.app.key_of("debugger.propose"), self.app.key_of("debugger.step")
                self.app.toast(f"Nothing was run. The proposal stays: {again} shows it again, {run} runs it.")
                return
            self._follow = True
            if ruled == "accept":
                await self._do(self.session.accept)
                return
            if ruled == "reject":
                note = "the model is told that it was rejected, and this"
                word = await self.app.push_screen_wait(AskScreen("Reject it, with a word to the model", note=note))
                if word is not None:
                    offer = await self._offered(self.session.reject, word)
                continue
            decision = await self._edited(offer)
            if decision is not None:
                await self._do(self.session.decide_otherwise, decision)
                return

    async def _edited(self, offer: Offer) -> Decision | None:
        """What a person makes of a proposal; None where it was left."""
        from vakra_tui.screens.ask import AskScreen

        decision = offer.decision
        if not isinstance(decision, CallTool):
            text = "" if isinstance(decision, GiveUp) else decision.text
            written = await self.app.push_screen_wait(AskScreen("The final answer instead", value=text))
            return Answer(text=written) if written else None
        call = await self._edited_call(decision.call)
        return CallTool(call=call) if call is not None else None

    async def _edited_call(self, proposed: ToolCall) -> ToolCall | None:
        from vakra_tui.screens.call import CallScreen
        from vakra_tui.screens.tools import tools_screen
        from vakra_tui.state.panes.call_form import form_lines

        if self.scene is None:
            return None
        try:
            tools = await self.app.engine.run(self.session.in_turn(self.session.tools))
        except VakraError as error:
            self.app.report(str(error))
            return None
        spec: ToolSpec | None = next((tool for tool in tools if tool.name == proposed.name), None)
        if spec is None:
            picked = await self.app.push_screen_wait(tools_screen(tools, self.scene, self.behind))
            if picked is None or isinstance(picked, ToolCall):
                return picked
            spec = picked
        screen = CallScreen(
            self.session,
            spec,
            self.behind,
            values=proposed.arguments,
            handles=self.session.handles(),
            columns=columns_of(self.scene),
            said=form_lines(self.scene, self.behind, spec, proposed.arguments),
        )
        return await self.app.push_screen_wait(screen)


def _variation(usual: Variation, model: str, temperature: str, seed: str) -> Variation:
    """What was typed, as far as it differs from the usual; the dialog gives nothing but numbers for the last two."""
    from sessions.agent import Variation

    wanted = (model or None, float(temperature) if temperature else None, int(seed) if seed else None)
    as_usual = (usual.model, usual.temperature, usual.seed)
    changed = [None if value == before else value for value, before in zip(wanted, as_usual, strict=True)]
    return Variation(model=changed[0], temperature=changed[1], seed=changed[2])  # type: ignore[arg-type]
