"""Evaluating rows of the list, one after the other: what is asked for later comes first and ends nothing."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from toolenv.errors import VakraError
from vakra_tui.chrome import Chrome
from vakra_tui.state.memory import Memory
from vakra_tui.working import work

if TYPE_CHECKING:
    from vakra_tui.state.listing import Entry
    from vakra_tui.state.world import World

GROUP = "scoring"
"""The group of the worker that evaluates."""

TOLD = 5
"""Kinds of failures that a dialog names."""


class Evaluating(Chrome):
    """The part of the application that evaluates rows in the background."""

    world: World

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._evaluating = ""
        self._waiting: deque[Entry] = deque()
        self._behind = 0
        self._round = 0
        """Grows when the evaluation is stopped: what was stopped may still be ending when the next begins."""

    @property
    def evaluating(self) -> str:
        """How far the evaluation of rows is, in words; empty where none runs."""
        return self._evaluating

    def evaluate_entries(self, entries: Sequence[Entry]) -> None:
        """Evaluate every prediction of some rows, before those that wait already; ``action_stop`` ends all."""
        asked = {id(entry) for entry in entries}
        self._waiting = deque((*entries, *(entry for entry in self._waiting if id(entry) not in asked)))
        if not self._evaluating:
            self._tell_number()
            self._evaluate_waiting(self._round)

    def stop_evaluating(self) -> bool:
        """Evaluate no further rows; False where nothing is evaluated."""
        if not self._evaluating:
            return False
        self._round += 1
        self._ended()
        self.workers.cancel_group(self, GROUP)
        return True

    @work(group=GROUP)
    async def _evaluate_waiting(self, round_: int) -> None:
        failures: list[str] = []
        try:
            while self._waiting and self._round == round_:
                entry = self._waiting.popleft()
                self._behind += 1
                self._tell_number()
                self.list_changed()
                try:
                    await self.engine.run(self.world.evaluate(entry))
                except VakraError as error:
                    failures.append(str(error))
        finally:
            if self._round == round_:
                self._ended()
        if failures:
            self.report("\n".join(_told(failures)), title="Cannot evaluate")

    def _ended(self) -> None:
        self._waiting.clear()
        self._evaluating, self._behind = "", 0
        self.list_changed()

    def _tell_number(self) -> None:
        number = max(self._behind, 1)
        total = self._behind + len(self._waiting)
        self._evaluating = f"evaluating {number} of {total}, {self.key_of('app.stop')} stops"

    def list_changed(self) -> None:
        """Show the list again where it is looked at."""
        raise NotImplementedError


def _told(failures: Iterable[str]) -> list[str]:
    """The failures, each kind once with how many rows it befell."""
    counted = Counter(failures)
    lines = [text if number == 1 else f"{text} ({number} rows)" for text, number in counted.most_common(TOLD)]
    more = len(counted) - len(lines)
    return [*lines, f"and {more} other failures"] if more > 0 else lines
