"""Where the results of one run gather: spool, tally and store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eval.profile import Item, Unit
from eval.resume import ResultStore
from eval.scored import Scored, decode, encode, encoded
from eval.scores import Tally
from eval.spool import KeyedSpool, Spool
from sessions.redaction import redact_bytes

if TYPE_CHECKING:
    from sessions.store.records import PreparedSession

FLUSH_LINES = 64
FLUSH_SECONDS = 0.25
"""Finished lines are committed at the latest after so many of them or so long; a crash loses no more than that."""

RETRIED = ("environment", "judge")
"""Reasons of unscored lines that another attempt may mend; such lines are not kept for ``--resume``."""

NOTES_KEY = "#notes"
"""Under this key a scope keeps what the judge said about the whole; no line has such a key."""


class Results:
    """Takes the finished lines of a run in any order. Only one process and one thread uses it.

    ``store`` is None where nothing is kept. ``done`` counts finished lines, resumed ones included. Secrets are taken
    out before a line is kept anywhere, so that a resumed report equals an undisturbed one.
    """

    def __init__(
        self, size: int, *, store: ResultStore | None = None, scope: str = "", spool: Path | None = None
    ) -> None:
        self.spool = Spool(size, spool)
        self.tally = Tally()
        self.done = 0
        self.taken_over = 0
        """Lines of ``done`` that an earlier batch had finished."""
        self._store = store
        self._scope = scope
        self._unsaved: list[tuple[str, bytes]] = []
        self._executed: list[PreparedSession] = []
        self._saved_at = time.monotonic()
        self._kept = KeyedSpool(spool)
        self._notes: set[str] = set()

    @property
    def notes(self) -> list[str]:
        """What the judge said about the whole, in a fixed order."""
        return sorted(self._notes)

    def load(self) -> None:
        """Take up the lines that an earlier batch of the same scope finished."""
        if self._store is None:
            return
        for key, payload in self._store.results(self._scope):
            if key == NOTES_KEY:
                self._notes.update(msgspec.json.decode(payload, type=list[str]))
            else:
                self._kept.put(key, payload)

    def resumed(self, unit: Unit, keys: Sequence[str]) -> bool:
        """Whether all lines of a unit are there already; if so they are taken over."""
        if not all(key in self._kept for key in keys):
            return False
        payloads = [self._kept.pop(key) for key in keys]
        try:
            lines = [decode(payload) for payload in payloads]
        except msgspec.DecodeError:
            # Written by another version of this program: evaluated anew, and replaced.
            return False
        for item, scored, payload in zip(unit.items, lines, payloads, strict=True):
            self._take(item, scored, payload)
        self.taken_over += len(lines)
        return True

    def accept(
        self,
        unit: Unit,
        keys: Sequence[str],
        lines: Sequence[Scored],
        notes: Sequence[str] = (),
        *,
        executed: Sequence[PreparedSession] = (),
    ) -> None:
        """Take the lines of a unit, and keep all or none of them for a resume; ``executed`` is stored with them."""
        if self._store is not None:
            self._executed.extend(executed)
        keep = self._store is not None and not any(line.verdict.reason in RETRIED for line in lines)
        if not self._notes.issuperset(notes):
            self._notes.update(notes)
            self._unsaved.append((NOTES_KEY, encoded(self.notes)))
        for item, key, scored in zip(unit.items, keys, lines, strict=True):
            payload = redact_bytes(encode(scored))
            self._take(item, scored, payload)
            if keep:
                self._unsaved.append((key, payload))
        if len(self._unsaved) >= FLUSH_LINES or time.monotonic() - self._saved_at >= FLUSH_SECONDS:
            self.flush()

    def _take(self, item: Item, scored: Scored, payload: bytes) -> None:
        self.spool.put(item.position, payload)
        self.tally.add(scored)
        self.done += 1

    def flush(self) -> None:
        """Commit what is finished. Raises ``StoreError``."""
        self._saved_at = time.monotonic()
        if (self._unsaved or self._executed) and self._store is not None:
            rows, self._unsaved = self._unsaved, []
            executed, self._executed = self._executed, []
            self._store.put_results(self._scope, rows, executed=executed)

    def close(self) -> None:
        self.spool.close()
        self._kept.close()
