"""A person's rulings as the screen enters and reads them; the store keeps them, a batch on it counts them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from eval.model import Gate, Verdict
from toolenv.errors import StoreError

if TYPE_CHECKING:
    from eval.judge import Judge
    from eval.judges import HumanRuling
    from vakra_tui.state.keeping import Keeping

GATE_WORDS: dict[Gate, str] = {
    "policy": "policy",
    "tool_sequence": "tool sequence",
    "consistent": "consistent",
    "grounded": "grounded",
}


class PersonRulings:
    """Rulings by what they are about: a run (its fingerprint), or one state of a branch of a session.

    Read from the store once each. Where that fails verdicts are made without them, which ``told`` hears; a store that
    cannot be written raises.
    """

    def __init__(self, keeping: Keeping, dataset: Callable[[], str], told: Callable[[str], None]) -> None:
        self._keeping = keeping
        self._dataset = dataset
        self._told = told
        self._known: dict[str, dict[tuple[str, Gate], HumanRuling]] = {}

    async def about(self, subject: str) -> dict[tuple[str, Gate], HumanRuling]:
        """The rulings about a subject by (uuid, gate)."""
        if subject not in self._known:
            try:
                self._known[subject] = await self._read(subject)
            except (StoreError, msgspec.ValidationError) as error:
                self._told(f"Your rulings cannot be read, so verdicts are made without them: {error}")
                return {}
        return self._known[subject]

    async def _read(self, subject: str) -> dict[tuple[str, Gate], HumanRuling]:
        from eval.judges import HumanRuling

        store = self._keeping.ready()
        if store is None:
            return {}
        kept = await store.human_rulings(self._dataset(), subject)
        return {
            (uuid, msgspec.convert(gate, Gate)): msgspec.convert(ruling, HumanRuling)
            for (uuid, gate), ruling in kept.items()
        }

    async def put(self, subject: str, uuid: str, gate: Gate, ruling: HumanRuling | None) -> None:
        """Keep a ruling, or take it back with None. Raises ``StoreError``; nothing changed then."""
        store = self._keeping.ready()
        if store is None:
            raise StoreError(self._keeping.problem)
        known = await self.about(subject)
        body = msgspec.to_builtins(ruling) if ruling is not None else None
        await store.put_human_ruling(self._dataset(), subject, uuid, gate, body)
        if ruling is None:
            known.pop((uuid, gate), None)
        else:
            known[uuid, gate] = ruling

    async def over(self, judge: Judge, run: str, subject: str) -> Judge:
        """The judge with the rulings about a subject laid over it; ``run`` is the name that its cases carry."""
        from eval.judges import HumanRulings

        known = await self.about(subject)
        return HumanRulings(judge, {(run, *key): ruling for key, ruling in known.items()}) if known else judge


def gates_of(verdict: Verdict) -> dict[Gate, str]:
    """The gates that a verdict reached, each with its outcome."""
    found: dict[Gate, str] = {}
    for stage in verdict.stages:
        if stage.outcome == "skipped":
            continue
        if stage.stage == "final_response":
            for gate in ("consistent", "grounded"):
                ruling = (stage.rulings or {}).get(gate)
                if ruling is not None:
                    found[msgspec.convert(gate, Gate)] = ruling.outcome
        else:
            found[stage.stage] = stage.outcome
    return found
