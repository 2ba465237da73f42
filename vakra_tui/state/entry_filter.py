"""The filter language over the rows of the list of instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

from eval.model import SieveClass, StageName, UnscoredReason
from sessions.filters import Completion, Language, Predicate

if TYPE_CHECKING:
    from vakra_tui.state.listing import Entry


def _text(entry: Entry, matches: Callable[[str], bool]) -> bool:
    return any(matches(text) for text in (entry.query or "", entry.domain, entry.uuid))


def _failed(entry: Entry, stage: str) -> bool:
    return any(verdict.passed is False and verdict.failed_stage == stage for verdict in entry.verdicts.values())


def _gate(entry: Entry, name: str) -> bool:
    """Whether this kind of ruler decided a gate of some run."""
    return any(stage.decided_by == name for verdict in entry.verdicts.values() for stage in verdict.stages)


def differs(entry: Entry) -> bool:
    """Whether the runs do not fare alike: another outcome, gate or sieve class, or no prediction in one alone."""
    found = {(v.status, v.passed, v.failed_stage, v.sieve) for v in entry.verdicts.values()}
    return len(found) > 1


ENTRY_FILTERS: Language[Entry] = Language(
    [
        Predicate("text", "query, domain or uuid matches", _text, "pattern"),
        Predicate("cap", "capability: 4, >=2", lambda entry, matches: bool(matches(entry.capability)), "number"),
        Predicate(
            "domain",
            "the domain matches",
            lambda entry, matches: bool(matches(entry.domain)),
            "pattern",
            lambda entries: sorted({entry.domain for entry in entries}),
        ),
        Predicate("turns", "number of turns: 2, >1", lambda entry, matches: bool(matches(entry.turns)), "number"),
        Predicate(
            "policy",
            "how its policy stands to the instance",
            lambda entry, wanted: entry.applies == wanted,
            "choice",
            ("applies", "does_not_apply", "unknown", "none"),
        ),
        Predicate("fail", "some run failed at this gate", _failed, "choice", get_args(StageName)),
        Predicate(
            "sieve",
            "some run broke at",
            lambda entry, wanted: any(verdict.sieve == wanted for verdict in entry.verdicts.values()),
            "choice",
            get_args(SieveClass),
        ),
        Predicate("pass", "some run passed", lambda entry, _: any(v.passed is True for v in entry.verdicts.values())),
        Predicate(
            "undecided",
            "some run is undecided",
            lambda entry, _: any(v.status == "scored" and v.passed is None for v in entry.verdicts.values()),
        ),
        Predicate(
            "unscored",
            "some run could not be scored",
            lambda entry, _: any(v.status == "unscored" for v in entry.verdicts.values()),
        ),
        Predicate(
            "err",
            "it cannot be read, or a run could not be scored for its environment",
            lambda entry, _: (
                bool(entry.problem) or any(v.reason in get_args(UnscoredReason)[:3] for v in entry.verdicts.values())
            ),
        ),
        Predicate("by", "who decided a gate", _gate, "choice", ("program", "offline", "judge", "recorded", "human")),
        Predicate("missing", "a run has no prediction", lambda entry, _: _missing(entry)),
        Predicate("extra", "a prediction of no instance", lambda entry, _: entry.extra),
        Predicate("differs", "the runs fare differently", lambda entry, _: differs(entry)),
    ],
    text_predicate="text",
)
"""``~cap 4 ~policy applies ~fail tool_sequence !~err``."""


def _missing(entry: Entry) -> bool:
    return any(verdict.status == "missing" for verdict in entry.verdicts.values())


def completions(text: str, entries: Sequence[Entry]) -> list[Completion]:
    """How an expression can go on."""
    return ENTRY_FILTERS.complete(text, entries)


def completed_line(text: str, entries: Sequence[Entry]) -> str | None:
    """The line with the first completion of its begun word, None where nothing is begun."""
    if not text or text[-1].isspace():
        return None
    found = [each for each in completions(text, entries) if each.replaces]
    return text[: len(text) - found[0].replaces] + found[0].text if found else None
