"""The filter language over the rows of the list of instances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, get_args

from eval.model import DecidedBy, SieveClass, StageName, UnscoredReason
from sessions.filters import Completion, Language, Predicate
from toolenv.model import ToolStyle
from toolenv.policy import PolicyKind

if TYPE_CHECKING:
    from vakra_tui.state.entry import Entry


OUTSIDE: tuple[UnscoredReason, ...] = ("environment", "judge", "not recorded")
"""Reasons outside the prediction and the dataset for which a row could not be scored."""


def _text(entry: Entry, matches: Callable[[str], bool]) -> bool:
    return any(matches(text) for text in (entry.query or "", entry.domain, entry.uuid))


def _failed(entry: Entry, stage: str) -> bool:
    return any(verdict.passed is False and verdict.failed_stage == stage for verdict in entry.verdicts.values())


def _gate(entry: Entry, name: str) -> bool:
    """Whether this kind of ruler decided a gate of some run."""
    return any(stage.decided_by == name for verdict in entry.verdicts.values() for stage in verdict.stages)


def _slice(entry: Entry, name: str) -> str:
    """The group of a row in a slice of the report, empty where it is in none or was not read yet."""
    return (entry.slices or {}).get(name, "")


def _hops(entry: Entry, matches: Callable[[float], bool]) -> bool:
    number = _slice(entry, "hops")
    return number.isdecimal() and matches(int(number))


def _fared(entry: Entry, matches: Callable[[str], bool], *, passed: bool) -> bool:
    """Whether a run whose name matches passed, or did not (a missing prediction fails)."""
    return any(verdict.passed is passed and matches(run) for run, verdict in entry.verdicts.items())


def _runs(entries: Sequence[Entry]) -> list[str]:
    return sorted({run for entry in entries for run in (*entry.predictions, *entry.verdicts)})


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
        Predicate(
            "turns",
            "number of turns: 2, >1",
            lambda entry, matches: entry.query is not None and bool(matches(entry.turns)),
            "number",
        ),
        Predicate(
            "style",
            "the tool style of capability 1",
            lambda entry, wanted: _slice(entry, "style") == wanted,
            "choice",
            get_args(ToolStyle),
        ),
        Predicate("hops", "number of hops of the reference path: 2, >1", _hops, "number"),
        Predicate(
            "pattern",
            "the hop pattern matches: ^API-RAG$",
            lambda entry, matches: bool(matches(_slice(entry, "hop_pattern"))),
            "pattern",
            lambda entries: sorted({pattern for entry in entries if (pattern := _slice(entry, "hop_pattern"))}),
        ),
        Predicate(
            "kind",
            "what its policy asks for",
            lambda entry, wanted: entry.query is not None and entry.policy_kind == wanted,
            "choice",
            get_args(PolicyKind),
        ),
        Predicate(
            "policy",
            "how its policy stands to the instance",
            lambda entry, wanted: entry.query is not None and entry.applies == wanted,
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
        Predicate(
            "passes",
            "a run of this name passed",
            lambda entry, matches: _fared(entry, matches, passed=True),
            "pattern",
            lambda entries: _runs(entries),
        ),
        Predicate(
            "fails",
            "a run of this name failed",
            lambda entry, matches: _fared(entry, matches, passed=False),
            "pattern",
            lambda entries: _runs(entries),
        ),
        Predicate(
            "run",
            "a run of this name has a prediction",
            lambda entry, matches: any(map(matches, entry.predictions)),
            "pattern",
            lambda entries: _runs(entries),
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
            "it cannot be read, or a run could not be scored for its environment or judge",
            lambda entry, _: (
                bool(entry.problem) or any(verdict.reason in OUTSIDE for verdict in entry.verdicts.values())
            ),
        ),
        Predicate("by", "who decided a gate", _gate, "choice", get_args(DecidedBy)),
        Predicate("marked", "marked by you", lambda entry, _: entry.marked),
        Predicate("kept", "a verdict of it was read from the store", lambda entry, _: bool(entry.kept)),
        Predicate("unread", "its record was not read yet", lambda entry, _: not entry.read),
        Predicate("missing", "a run has no prediction", lambda entry, _: _missing(entry)),
        Predicate("extra", "a prediction of no instance", lambda entry, _: entry.extra),
        Predicate("differs", "the runs fare differently", lambda entry, _: differs(entry)),
    ],
    text_predicate="text",
)
"""``~cap 4 ~policy applies ~fail tool_sequence !~err``."""


def _missing(entry: Entry) -> bool:
    """Whether a run that is open has no prediction of an instance, scored or not."""
    lacking = not entry.extra and any(run not in entry.predictions for run in entry.runs)
    return lacking or any(verdict.status == "missing" for verdict in entry.verdicts.values())


def completions(text: str, entries: Sequence[Entry]) -> list[Completion]:
    """How an expression can go on."""
    return ENTRY_FILTERS.complete(text, entries)


def completed_line(text: str, entries: Sequence[Entry]) -> str | None:
    """The line with the first completion of its begun word or of a filter's value; None where neither is due."""
    found = completions(text, entries)
    if not found or not (found[0].replaces or _is_value(found[0])):
        return None
    return text[: len(text) - found[0].replaces] + found[0].text


def _is_value(offered: Completion) -> bool:
    """Whether it goes on with the value that the filter before it needs, not with a further filter."""
    return not offered.text.startswith("~")
