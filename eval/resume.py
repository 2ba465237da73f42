"""What makes a finished result reusable: the scope of a batch, the key of a line, and the seam to where both are kept.

A result is found again only under the same dataset, run, environments, profile, judge and prompt version, never by a
file name; so no report mixes two models or counts a line twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from eval.judges.human import HumanRuling
from eval.model import Gate
from eval.profile import Item, Unit
from eval.report import ReportInfo
from eval.scored import encoded

if TYPE_CHECKING:
    from sessions.store.records import PreparedSession

RULES_VERSION = 1
"""Raised whenever a rule changes what a verdict says, so that results of older rules are not reused."""


class ResultStore(Protocol):
    """Keeps finished lines and what was executed for them.

    A key that is there already is replaced; each call is one transaction.
    """

    def results(self, scope: str) -> Iterator[tuple[str, bytes]]: ...

    def put_results(
        self, scope: str, rows: Sequence[tuple[str, bytes]], *, executed: Sequence[PreparedSession] = ()
    ) -> None: ...


def scope_of(info: ReportInfo, extra: Mapping[str, str] | None = None) -> str:
    """The digest under which the lines of one run are kept.

    ``extra`` are further settings that decide a verdict (a judge's endpoint, say).
    """
    decisive = {
        "rules": RULES_VERSION,
        "profile": info.profile,
        "judge": msgspec.to_builtins(info.judge),
        "dataset": info.dataset_fingerprint,
        "environments": [msgspec.to_builtins(environment) for environment in info.environments],
        "run": [info.run_name, info.run_fingerprint],
        "extra": dict(extra or {}),
    }
    return _digest(encoded(decisive, ordered=True))


def register_of(dataset: str, run: str) -> str:
    """The scope under which batches on a dataset and a run (fingerprints) leave by which settings they were made."""
    return "settings " + _digest(f"{dataset} {run}".encode())


def settings_of(info: ReportInfo) -> bytes:
    """By which settings results are made, as what a register holds."""
    environments = [environment.kind for environment in info.environments]
    return encoded(
        {"profile": info.profile, "judge": msgspec.to_builtins(info.judge), "environments": environments}, ordered=True
    )


def settings_words(payload: bytes) -> str:
    """The settings of a register's row in words; empty for what ``settings_of`` did not write."""
    try:
        found = msgspec.json.decode(payload)
        judge = " ".join(str(found["judge"][name]) for name in ("kind", "model") if found["judge"].get(name))
        environments = ", ".join(str(kind) for kind in found["environments"])
        return f"profile {found['profile']}, judge {judge}, environment {environments}"
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return ""


HumanKey = tuple[str, Gate]
"""(uuid, gate)."""


def keys_of(unit: Unit, rulings: Mapping[HumanKey, HumanRuling] | None = None) -> list[str]:
    """The keys of a unit's lines.

    Items that are executed together depend on each other, so their keys hold all of them. A person's rulings are
    part of the key: a line that one of them touches is evaluated anew when it changes.
    """
    together = "" if len(unit.items) == 1 else " " + _digest("\n".join(_name(item) for item in unit.items).encode())
    return [f"{_name(item)}{together}{_ruled(item, rulings)}" for item in unit.items]


def _name(item: Item) -> str:
    kind = "extra" if item.instance is None else "missing" if item.prediction is None else "pair"
    return f"{item.capability}/{item.domain}/{item.uuid}/{kind}"


def _ruled(item: Item, rulings: Mapping[HumanKey, HumanRuling] | None) -> str:
    if not rulings:
        return ""
    own = sorted((gate, ruling.outcome, ruling.reason) for (uuid, gate), ruling in rulings.items() if uuid == item.uuid)
    return " human:" + _digest(encoded(own)) if own else ""


def _digest(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()
