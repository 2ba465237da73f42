"""The columns of the list of instances: what each shows, by what it sorts, and which there is room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from eval.model import Verdict
from vakra_tui.state.lines import Role
from vakra_tui.state.panes.waterfall import BRIEF_BELOW, BRIEFEST_BELOW

if TYPE_CHECKING:
    from vakra_tui.state.listing import Entry

LEAST_QUERY = 40
"""Cells of the query below which further columns give way to it."""

EASY_QUERY = 60
"""Cells of the query from which on other columns may be said in full."""

LEAST_BESIDE_RUNS = 16
"""Cells of the query that the verdicts of many runs leave at least; the runs that do not fit are turned to."""

WIDEST_VERDICT = 34
BRIEF_VERDICT = 22
NARROW = 100
"""Cells below which only capability, domain, query and verdicts have columns."""

VERY_WIDE = 190
"""Cells of a list in which several runs have their verdicts in few words, so that the query can be read."""

LEAST_VERDICT = 8

LONGEST_RUN_NAME = 13
"""Cells that a column of verdicts has at least for its run's name, where the name is that long."""

POLICY_WORDS = {
    "only_documents": "docs only",
    "no_documents": "no docs",
    "documents_first": "docs first",
    "other_first": "tools first",
    "unknown": "other",
}
APPLIES_WORDS = {"applies": "applies", "does_not_apply": "not here", "unknown": "unclear"}
_APPLIES_SHORT = {"applies": "!", "does_not_apply": "\u00b7", "unknown": "?"}

Key = tuple[Any, ...] | None
"""By what a row sorts; None, not known, comes last in either direction."""


@dataclass(frozen=True)
class Column:
    """One column about the instance itself. ``cells`` is its width, ``text`` what a row shows in it."""

    name: str
    title: str
    cells: int
    text: Callable[[Entry], tuple[str, Role]]
    key: Callable[[Entry], Key]


def _number(value: int | None) -> Key:
    return None if value is None else (value,)


def _word(value: str | None) -> Key:
    return (value.casefold(), value) if value else None


def hops(entry: Entry) -> tuple[int, str] | None:
    """(number of hops, pattern or empty) of the reference path as far as the records tell it."""
    slices = entry.slices or {}
    number, pattern = slices.get("hops"), slices.get("hop_pattern", "")
    return (int(number), pattern) if number is not None and number.isdecimal() else None


def _hops_text(entry: Entry) -> tuple[str, Role]:
    known = hops(entry)
    if known is None:
        return "", "dim"
    return (known[1] or str(known[0])), "dim"


def _style_text(entry: Entry) -> tuple[str, Role]:
    return (entry.slices or {}).get("style", "").upper(), "dim"


def _turns_text(entry: Entry) -> tuple[str, Role]:
    return (str(entry.turns) if entry.query is not None and not entry.extra else ""), "dim"


def policy_words(entry: Entry) -> str:
    """What kind of policy an instance carries and whether it applies to it; empty without one."""
    if entry.policy_kind == "none":
        return ""
    return f"{POLICY_WORDS.get(entry.policy_kind, entry.policy_kind)}: {APPLIES_WORDS.get(entry.applies, '')}"


def _policy_text(entry: Entry) -> tuple[str, Role]:
    return policy_words(entry), "warn" if entry.applies == "applies" else "dim"


def _policy_short(entry: Entry) -> tuple[str, Role]:
    if entry.policy_kind == "none":
        return "", "dim"
    words = POLICY_WORDS.get(entry.policy_kind, entry.policy_kind)
    return f"{_APPLIES_SHORT.get(entry.applies, '?')} {words}", "warn" if entry.applies == "applies" else "dim"


def _policy_key(entry: Entry) -> Key:
    order = ("applies", "unknown", "does_not_apply")
    if entry.policy_kind == "none":
        return None
    return order.index(entry.applies) if entry.applies in order else len(order), entry.policy_kind


CAPABILITY = Column(
    "capability",
    "cap",
    4,
    lambda entry: (str(entry.capability) if entry.capability else "?", "accent"),
    lambda entry: _number(entry.capability or None),
)
DOMAIN = Column("domain", "domain", 12, lambda entry: (entry.domain, "dim"), lambda entry: _word(entry.domain))
WIDEST_DOMAIN = 18
NARROW_DOMAIN = 12
STYLE = Column("style", "style", 5, _style_text, lambda entry: _word((entry.slices or {}).get("style")))
TURNS = Column(
    "turns", "turns", 5, _turns_text, lambda entry: _number(entry.turns if entry.query is not None else None)
)
HOPS = Column("hops", "hops", 11, _hops_text, lambda entry: hops(entry))
POLICY = Column("policy", "policy", 21, _policy_text, _policy_key)
POLICY_SHORT = Column("policy", "policy", 13, _policy_short, _policy_key)
QUERY = Column("query", "query", 0, lambda entry: (entry.query or "", ""), lambda entry: _word(entry.query))
UUID = Column("uuid", "uuid", 0, lambda entry: (entry.uuid, "dim"), lambda entry: _word(entry.uuid))

SORTED = (CAPABILITY, DOMAIN, STYLE, TURNS, HOPS, POLICY, QUERY, UUID)
"""What the list sorts by, besides the verdict of each run."""

MEANINGS: Mapping[str, str] = {
    "capability": "1 to 4",
    "domain": "its name",
    "style": "the tool style of capability 1: SLOT or SEL",
    "turns": "length of the dialogue",
    "hops": "hops of the reference path",
    "policy": "those that it applies to first",
    "query": "by its letters",
    "uuid": "by its letters",
}

_STAGES = ("policy", "tool_sequence", "final_response")
_SIEVES = ("tool_selection", "argument_names", "argument_values", "answer")


@lru_cache(maxsize=512)
def _verdict_key(status: str, passed: bool | None, stage: str | None, sieve: str | None) -> tuple[int, int, int]:
    """Failed ones first, by gate and sieve class; then undecided, unscored and missing ones, those that passed last."""
    if status == "scored" and passed is False:
        place = _SIEVES.index(sieve) if sieve in _SIEVES else len(_SIEVES)
        return 0, _STAGES.index(stage) if stage in _STAGES else len(_STAGES), place
    order = {"missing": 1, "scored": 2, "unscored": 3, "extra": 4}
    return (5, 0, 0) if passed else (order.get(status, 4), 0, 0)


def verdict_key(verdict: Verdict | None) -> Key:
    """By what a run's column sorts."""
    if verdict is None:
        return None
    return _verdict_key(verdict.status, verdict.passed, verdict.failed_stage, verdict.sieve)


def verdict_words(verdict: Verdict) -> str:
    """A verdict in words, for finding."""
    return _verdict_words(verdict.status, verdict.passed, verdict.failed_stage, verdict.sieve, verdict.reason)


@lru_cache(maxsize=512)
def _verdict_words(status: str, passed: bool | None, stage: str | None, sieve: str | None, reason: str | None) -> str:
    if status == "missing":
        return "no prediction missing"
    if status != "scored":
        return f"{status} {reason or ''}"
    if passed is None:
        return "undecided"
    return "passed" if passed else f"failed {stage or ''} {sieve or ''}".replace("_", " ")


class VerdictWords(NamedTuple):
    """Cells that a run's verdicts need: in all their words, in few, in fewest; and those of its name."""

    whole: int = WIDEST_VERDICT
    brief: int = BRIEF_VERDICT
    briefest: int = BRIEF_VERDICT
    name: int = LONGEST_RUN_NAME

    def needed(self, cells: int) -> int:
        """What a column needs of the ``cells`` that there are for it."""
        words = self.whole if cells >= BRIEF_BELOW else self.brief if cells >= BRIEFEST_BELOW else self.briefest
        return min(cells, max(words, self.name, LEAST_VERDICT))


class Layout(NamedTuple):
    """What there is room for: columns from the left, cells of the query, cells of each shown run's verdict.

    ``words`` are the cells by which the words of a verdict are chosen: what there was room for.
    """

    columns: tuple[Column, ...]
    query: int
    verdicts: tuple[int, ...]
    words: int


def runs_beside(width: int, runs: int, domain: Column) -> int:
    """How many runs there is room for."""
    room = width - _cells([CAPABILITY, domain]) - LEAST_BESIDE_RUNS
    return min(runs, max(room // (LEAST_VERDICT + 1), 1))


def domain_column(width: int, longest: int) -> Column:
    """The column of domains, as wide as the longest name needs."""
    most = NARROW_DOMAIN if width < NARROW else WIDEST_DOMAIN
    return replace(DOMAIN, cells=max(min(longest, most), len(DOMAIN.title) + 1))


@lru_cache(maxsize=64)
def layout(
    width: int, said: tuple[VerdictWords, ...], capabilities: frozenset[int], longest_domain: int = WIDEST_DOMAIN
) -> Layout:
    """Which columns fit into ``width`` cells: those that say most stay longest, and the query keeps its room.

    A column that can say nothing of these capabilities is never shown. ``longest_domain`` is the length of the longest
    name of a domain in cells. A run's column is as wide as what is ``said`` in it; the query gets the rest.
    """
    narrow = width < NARROW
    domain = domain_column(width, longest_domain)
    chosen: list[Column] = [CAPABILITY, domain]
    room = width - _cells(chosen)
    shown = runs_beside(width, len(said), domain)
    verdict = BRIEF_VERDICT if narrow else WIDEST_VERDICT
    if shown > 1:
        verdict = min(BRIEF_VERDICT if width < VERY_WIDE else verdict, room // 2 // shown)
        # The fewest words in whole rather than half the room for the query, which keeps its least.
        least = max(words.briefest for words in said[:shown])
        verdict = max(LEAST_VERDICT, verdict, min(least, (room - LEAST_BESIDE_RUNS) // shown - 1))
    verdicts = tuple(words.needed(verdict) for words in said[:shown])
    room -= sum(cells + 1 for cells in verdicts)
    wanted: Sequence[tuple[Column, frozenset[int]]] = (
        (POLICY_SHORT, frozenset({4})),
        (HOPS, frozenset({0, 1, 2, 3, 4})),
        (STYLE, frozenset({1})),
        (TURNS, frozenset({4})),
    )
    for column, concerned in wanted:
        if not narrow and capabilities & concerned and room - column.cells - 1 >= LEAST_QUERY:
            chosen.append(column)
            room -= column.cells + 1
    if POLICY_SHORT in chosen and room - (POLICY.cells - POLICY_SHORT.cells) >= EASY_QUERY:
        chosen[chosen.index(POLICY_SHORT)] = POLICY
        room -= POLICY.cells - POLICY_SHORT.cells
    order = (CAPABILITY, domain, STYLE, TURNS, HOPS, POLICY, POLICY_SHORT)
    return Layout(tuple(column for column in order if column in chosen), max(room, 1), verdicts, verdict)


def _cells(columns: Sequence[Column]) -> int:
    return sum(column.cells + 1 for column in columns)


def ordered(entries: Sequence[Entry], key: Callable[[Entry], Key], *, reverse: bool) -> list[Entry]:
    """Entries by a key, equal ones in the order given; those without one come last in either direction."""
    keyed = [(key(entry), entry) for entry in entries]
    known = [(found, entry) for found, entry in keyed if found is not None]
    known.sort(key=lambda pair: pair[0], reverse=reverse)
    return [entry for _, entry in known] + [entry for found, entry in keyed if found is None]
