"""Verdicts in the store, found again for the same dataset, run, environments, profile and judge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from toolenv.errors import StoreError

if TYPE_CHECKING:
    from eval.judges import HumanRuling
    from eval.model import Verdict
    from eval.profile import Item, ScoringContext, Unit
    from eval.resume import HumanKey
    from vakra_tui.wiring import Wiring

KEPT_AT_ONCE = 64
KEPT_EVERY_S = 0.5
"""Scored lines are committed at the latest after so many of them or so long; a crash loses no more than that."""


REFUSED_WAIT_S = 5.0
"""After a refusal lines are collected so long before the store is asked again."""


class KeptVerdicts:
    """Reads and keeps the lines of the runs of a wiring. Not safe across threads."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._scopes: dict[int, str] = {}
        self._unsaved: dict[str, list[tuple[str, bytes]]] = {}
        self._saved_at = 0.0
        self._refused_at = -REFUSED_WAIT_S
        self._unread: dict[int, tuple[int, str]] = {}

    def scope(self, index: int) -> str:
        """Under what the lines of a run are kept; found once for a reading of its files."""
        if index not in self._scopes:
            from eval.resume import scope_of

            self._scopes[index] = scope_of(self._wiring.report_info(index), self._wiring.decisive())
        return self._scopes[index]

    def forget_scopes(self) -> None:
        """Runs or dataset were read anew."""
        self._scopes.clear()

    def read(self, index: int) -> Iterator[tuple[Item, Verdict]]:
        """The lines of a run that are still right: the fingerprints of dataset, run and environments are those of now.

        A line that a person's ruling has changed since is left out. Raises ``StoreError``. ``unread`` tells after the
        last line which could not be read.
        """
        import msgspec

        from eval.resume import keys_of
        from eval.scored import decode

        wiring = self._wiring
        self._unread.pop(index, None)
        lines = dict(wiring.store.results(self.scope(index)))
        if not lines:
            return
        rulings = wiring.human_rulings(index)
        for unit in wiring.profile.units(wiring.items(wiring.runs[index])):
            for item, key in zip(unit.items, keys_of(unit, rulings), strict=True):
                payload = lines.get(key)
                if payload is None:
                    continue
                try:
                    yield item, decode(payload).verdict
                except msgspec.DecodeError as error:  # written by another version of this program, or damaged
                    self._unread[index] = self.unread(index)[0] + 1, str(error)

    def unread(self, index: int) -> tuple[int, str]:
        """How many lines of a run were there and could not be read, and why the last of them could not."""
        return self._unread.get(index, (0, ""))

    def others(self, index: int) -> list[str]:
        """By which other settings a run of this very content was scored before, in words. Raises ``StoreError``."""
        from eval.resume import register_of, settings_words

        wiring = self._wiring
        register = register_of(wiring.dataset.fingerprint(), wiring.runs[index].fingerprint())
        rows = [settings_words(body) for scope, body in wiring.store.results(register) if scope != self.scope(index)]
        return sorted({words for words in rows if words})

    def keep(
        self,
        index: int,
        unit: Unit,
        verdicts: Sequence[Verdict],
        context: ScoringContext,
        rulings: Mapping[HumanKey, HumanRuling],
    ) -> None:
        """Keep the lines of a unit as a batch would, all or none of them. Raises ``StoreError``."""
        from eval.portable import portable
        from eval.results import RETRIED
        from eval.resume import keys_of
        from eval.scored import Scored, encode, grouping
        from sessions.redaction import redact_bytes

        if self._wiring.store.read_only or any(verdict.reason in RETRIED for verdict in verdicts):
            return
        rows = self._unsaved.setdefault(self.scope(index), [])
        for item, key, verdict in zip(unit.items, keys_of(unit, rulings), verdicts, strict=True):
            scored = Scored(verdict=portable(verdict, context))
            if item.instance is not None:
                found = grouping(item.instance, context.dataset, context.instance)
                scored = Scored(verdict=scored.verdict, weight=found.weight, slices=found.slices)
            rows.append((key, redact_bytes(encode(scored))))
        now = time.monotonic()
        due = self.waiting >= KEPT_AT_ONCE or now - self._saved_at >= KEPT_EVERY_S
        if due and now - self._refused_at >= REFUSED_WAIT_S:
            self.flush()

    @property
    def waiting(self) -> int:
        """How many lines are not committed yet."""
        return sum(len(rows) for rows in self._unsaved.values())

    def flush(self) -> None:
        """Commit what waits. Raises ``StoreError``; what was refused goes on waiting."""
        self._saved_at = time.monotonic()
        try:
            for scope in list(self._unsaved):
                self._wiring.store.put_results(scope, self._unsaved[scope])
                del self._unsaved[scope]
        except StoreError:
            self._refused_at = self._saved_at
            raise
