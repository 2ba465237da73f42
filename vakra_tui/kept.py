"""Verdicts that a batch left in the store, found again for the same dataset, run, environments, profile and judge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.model import Verdict
    from eval.profile import Item
    from vakra_tui.wiring import Wiring


def kept_verdicts(wiring: Wiring, index: int) -> Iterator[tuple[Item, Verdict]]:
    """The lines of a run that are still right: the fingerprints of dataset, run and environments are those of now.

    A line that a person's ruling has changed since is left out.

    Raises ``StoreError``.
    """
    import msgspec

    from eval.resume import keys_of, scope_of
    from eval.scored import decode

    scope = scope_of(wiring.report_info(index), wiring.decisive())
    lines = dict(wiring.store.results(scope))
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
            except msgspec.DecodeError:
                continue  # written by another version of this program
