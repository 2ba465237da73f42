"""Offline ruling: does the answer agree with the ground-truth answer? (contract, "Gate 2")"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eval.gates.evidence import capped
from eval.model import Evidence, Ruling
from eval.offline.due import NO, SIGNS, YES, Due, DueIndex, Place, due_values, signs, yes_no_words
from eval.offline.items import Enumeration, enumeration
from eval.offline.numbers import AnswerNumber, numbers
from eval.offline.reading import Reading, asserts_nothing, declines, prepared, read_answer, telling_words
from eval.offline.rows import rows_mixed
from toolenv.model import Json
from toolenv.policy import is_refusal
from toolenv.values import shown_value

SHOWN = 5
MIXED = "all values are there, but which belong together cannot be told"


def consistent_ruling(
    answer: str, truth: Json, questions: Sequence[str], wording: str | None = None, quoted: bool = False
) -> Ruling:
    """The ruling on an answer.

    ``truth`` is the ground-truth answer, ``questions`` are the user's turns, the last last, and ``wording`` is the
    refusal that the policy asks for, if it does. ``quoted`` says that the ground truth's answer only sounds like a
    refusal: its responses show that very text.
    """
    due = due_values(truth)
    reading = read_answer(answer, questions, wording, {d.needle for d in due})
    if reading.is_empty:
        return _fail("the answer is empty")
    if not quoted and declines(truth, wording):
        return _refusal_due(reading)
    if not due:
        return _undecided("the ground-truth answer holds no value that could be looked for")
    index = DueIndex(due)
    found = index.places(reading.text, reading.numbers)
    there = {id(place.due) for place in found}
    lacking = [d for d in due if id(d) not in there]
    if reading.refusal is not None and not _is_value(found):
        return _refused(reading, due, lacking)
    if lacking and asserts_nothing(reading, questions):
        return _fail("nothing is asserted after the lead-in")
    listed = enumeration(reading, index)
    if listed is not None and listed.strict:
        ruling = _listed(reading, due, listed, found, questions)
        return _undecided(MIXED) if ruling.outcome == "pass" and rows_mixed(truth, reading) else ruling
    if lacking:
        return _without(reading, due, lacking, questions)
    doubt = _doubt(reading, due, found, questions)
    if doubt is None and listed is not None and listed.extra:
        doubt = f"{_names(listed.extra)} stands among the values and is none of them"
    if doubt is None and rows_mixed(truth, reading):
        doubt = MIXED
    if doubt is not None:
        return _undecided(doubt)
    return _pass(f"the answer gives {_due(due)}", due)


# --- outcomes --------------------------------------------------------------------------------------------------------


def _pass(reason: str, due: Sequence[Due]) -> Ruling:
    return Ruling(
        outcome="pass", decided_by="offline", reason=reason, evidence=(capped("found", [d.value for d in due]),)
    )


def _fail(reason: str, *evidence: Evidence) -> Ruling:
    return Ruling(outcome="fail", decided_by="offline", reason=reason, evidence=tuple(evidence))


def _undecided(reason: str) -> Ruling:
    return Ruling(outcome="undecided", reason=reason)


def _names(items: Sequence[str]) -> str:
    shown = ", ".join(shown_value(item) for item in items[:SHOWN])
    return shown if len(items) <= SHOWN else f"{shown} and {len(items) - SHOWN} more"


def _due(due: Sequence[Due]) -> str:
    shown = ", ".join(d.text for d in due[:SHOWN])
    return shown if len(due) <= SHOWN else f"{shown} and {len(due) - SHOWN} more"


# --- refusals --------------------------------------------------------------------------------------------------------

_AFTER_ALL = re.compile(
    r"\b(?:but|however|nevertheless|nonetheless|still|although|that said|from my|in general|known)\b"
)


def _refusal_due(reading: Reading) -> Ruling:
    if reading.refusal is None:
        return _fail("the ground truth declines to answer and the answer does not")
    rest = reading.text.partition(prepared(reading.refusal))[2]
    if _AFTER_ALL.search(rest) or numbers(rest):
        return _undecided("the answer declines and then says more")
    return Ruling(outcome="pass", decided_by="offline", reason="both decline to answer")


def _refused(reading: Reading, due: Sequence[Due], lacking: Sequence[Due]) -> Ruling:
    if len(lacking) < len(due) or any(d.kind == "null" for d in due):
        return _undecided(f"the answer declines ('{reading.refusal}') and yet gives a value")
    if _AFTER_ALL.search(reading.text.partition(prepared(reading.refusal or ""))[2]):
        return _undecided(f"the answer declines ('{reading.refusal}') and then says more")
    return _fail(f"the answer declines ('{reading.refusal}') and the ground truth does not")


def _is_value(found: Sequence[Place]) -> bool:
    """Whether what sounds like a refusal is a value that is due (a quoted text may decline)."""
    return any(place.due.kind == "text" and is_refusal(place.due.needle) for place in found)


# --- enumerations ----------------------------------------------------------------------------------------------------


def _listed(
    reading: Reading, due: Sequence[Due], listed: Enumeration, found: Sequence[Place], questions: Sequence[str]
) -> Ruling:
    """An answer of items alone, compared as a set."""
    missing, extra = listed.missing, listed.extra
    if len(missing) == len(due):
        others = all(d.kind == "text" and any(_alike(item, d.needle) for item in extra) for d in missing)
        if others and len(extra) > 1:
            return _fail(f"the answer's list gives {_names(extra)} in place of {_due(missing)}", capped("extra", extra))
        return _without(reading, due, missing, questions)
    if missing and extra and any(_may_be(d, item) for d in missing for item in extra):
        return _undecided(f"{_due(missing)} may be written in other words")
    if missing:
        return _fail(f"the answer's list lacks {_due(missing)}", capped("missing", [d.value for d in missing]))
    lone = due[0].kind if len(due) == 1 else None
    if extra and (lone == "yes_no" or (lone == "text" and not any(_alike(item, due[0].needle) for item in extra))):
        return _undecided(f"{_names(extra)} may explain {due[0].text} or be another value")
    if extra:
        return _fail(
            f"the answer's list has {_names(extra)}, which is not in the ground truth", capped("extra", list(extra))
        )
    negated = _negated(reading.text, found)
    if negated is not None:
        return _undecided(negated)
    return _pass(f"the answer gives {_due(due)}", due)


def _may_be(due: Due, item: str) -> bool:
    """Whether an item could be a due value in another form (a date in words, a rounded number, a shortened name)."""
    if due.kind == "number":
        assert isinstance(due.key, int | float)
        return any(n.opaque or n.joined or _fraction(n, due.key) for n in numbers(item))
    if due.kind == "sign":
        return False
    digits = set(re.findall(r"\d+", due.needle))
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}.*", due.needle):
        return bool(digits & set(re.findall(r"\d+", item)))
    words, others = (set(re.findall(r"[^\W\d_]{3,}", text)) for text in (due.needle, item))
    return bool(words and others) and (words <= others or others <= words)


def _alike(item: str, needle: str) -> bool:
    """Whether an item has the shape of a value: letters, digits and signs in the same order (``tr041``, ``tr377``)."""
    shape = [re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", text.strip(" \"'."))) for text in (item, needle)]
    return shape[0] == shape[1] and "9" in shape[0]


# --- answers without a due value -------------------------------------------------------------------------------------


def _without(reading: Reading, due: Sequence[Due], lacking: Sequence[Due], questions: Sequence[str]) -> Ruling:
    """An answer that does not give every due value: inconsistent where it gives another of the same kind."""
    missing_numbers = [d for d in lacking if d.kind == "number"]
    if missing_numbers:
        ruling = _other_numbers(reading, due, missing_numbers, questions)
        if ruling is not None:
            return ruling
    missing_signs = [d for d in lacking if d.kind == "sign"]
    others = sorted(_rivals({d.needle for d in due if d.kind == "sign"}, reading))
    if missing_signs and others:
        return _fail(f"{_due(missing_signs)} is due and the answer gives {_names(others)}", {"given": others})
    for wanted in lacking:
        if wanted.kind == "yes_no":
            other = NO if wanted.needle in YES else YES
            if any(word in other for _, _, word in yes_no_words(reading.text)):
                return _fail(f"{wanted.text} is due and the answer says the opposite")
    return _undecided(f"the answer does not give {_due(lacking)} in a form that the rules know")


def _other_numbers(
    reading: Reading, due: Sequence[Due], lacking: Sequence[Due], questions: Sequence[str]
) -> Ruling | None:
    """Inconsistent when numbers are due and only others are given; None where the rules cannot see that."""
    asked = [n for question in questions for n in numbers(prepared(question))]
    asked_values = {n.value for n in asked}
    index = DueIndex(due)
    others = [n for n in reading.numbers if not n.dated and n.value not in asked_values and not index.written(n)]
    if any(n.opaque or n.joined for n in reading.numbers):
        return None
    for wanted in lacking:
        assert isinstance(wanted.key, int | float)
        if any(_fraction(n, wanted.key) or (wanted.percent and _is_share(n, wanted.key)) for n in reading.numbers):
            return _undecided(f"{wanted.text} is due and the answer gives a percentage that may be the same share")
    if not others:
        return None
    shown = [reading.text[n.start : n.end] for n in others]
    return _fail(f"{_due(lacking)} is due and the answer gives {_names(shown)}", capped("given", shown))


def _is_share(number: AnswerNumber, due: int | float) -> bool:
    """Whether a number is a due percentage written as a fraction of one."""
    return not number.percent and abs(number.value * 100 - due) <= 50.0 * 10.0**-number.decimals * (1 + 1e-9)


def _fraction(number: AnswerNumber, due: int | float) -> bool:
    """Whether a percentage and a due number are one share written in two ways."""
    if not number.percent:
        return False
    scaled = due * 100
    return abs(scaled - number.value) <= 0.5 * 10.0**-number.decimals * (1 + 1e-9)


# --- doubts about an answer that gives every due value ---------------------------------------------------------------

_NEGATION = re.compile(
    r"(?:\b(?:not|isn't|wasn't|aren't|weren't|never|neither|nor|without|except(?: for)?|rather than|instead of|"
    r"other than|excluding|unlike|as opposed to|apart from|besides)(?:\s+(?:the|a|an|just|only|exactly))?\s*[\"'(]*)$"
)
_BOUND = re.compile(
    r"(?:\b(?:more|less|fewer|greater|higher|lower|larger|smaller) than|\bat (?:least|most)|"
    r"\b(?:over|under|above|below|up to|between|almost|nearly|exceeds?|exceeding|beyond))\s*[\"'(]*$"
)
_ALTERNATIVE_AFTER = re.compile(r"[\"')]*\s+or\s+[\"'(]*(?:\d|[^\W\d_]+)")
_DENIED = re.compile(
    r"[\"')]*\s+(?:(?:is|are|was|were|would be)\s+(?:wrong|incorrect|false|untrue)"
    r"|(?:is|are|was|were)(?:n't|\s+not)\s+(?:the\s+)?(?:right|correct|answer|case))\b"
)
_BOTH = re.compile(r"\b(?:yes\W{1,3}(?:(?:and|or)\W{1,2})?no|no\W{1,3}(?:(?:and|or)\W{1,2})?yes)\b")
_CORRECTION = re.compile(
    r"\b(?:correction|scratch that|i meant|on second thought|actually,? (?:it|the (?:answer|result)) is)\b"
)
_CLAIM = re.compile(
    r"\b(?:answers?|results?|totals?|counts?|sums?|averages?)\s+(?:is|are|=|:|equals?)\s*(?:approximately|about|exactly)?\s*[\"']?$"
    r"|\b(?:answer|result)\s*:\s*[\"']?$"
)


def _doubt(reading: Reading, due: Sequence[Due], found: Sequence[Place], questions: Sequence[str]) -> str | None:
    """Why an answer that holds every due value may still not give it, or None."""
    if _CORRECTION.search(reading.text):
        return "the answer corrects itself"
    return (
        _negated(reading.text, found)
        or _opposed(reading, due)
        or _claimed_otherwise(reading, due)
        or _only_repeated(reading, due, questions)
    )


def _negated(text: str, found: Sequence[Place]) -> str | None:
    free: set[int] = set()
    for place in found:
        before, after = text[max(0, place.start - 80) : place.start], text[place.end : place.end + 80]
        bounded = place.due.kind == "number" and _BOUND.search(before)
        open_choice = place.due.kind in ("number", "yes_no") and (
            _ALTERNATIVE_AFTER.match(after) or re.search(r"\b(?:either|or)\s+[\"'(]*$", before)
        )
        if not (_NEGATION.search(before) or bounded or open_choice or _DENIED.match(after)):
            free.add(id(place.due))
    bound = [place.due for place in found if id(place.due) not in free]
    return f"{bound[0].text} is given with a reservation" if bound else None


def _opposed(reading: Reading, due: Sequence[Due]) -> str | None:
    """A sign or a yes beside its opposite."""
    wanted = {d.needle for d in due if d.kind == "sign"}
    others = _rivals(wanted, reading)
    if wanted and others:
        return f"the answer gives {_names(sorted(wanted))} and {_names(sorted(others))}"
    wants = [d for d in due if d.kind == "yes_no"]
    if len(wants) == 1:
        other = NO if wants[0].needle in YES else YES
        if any(word in other for _, _, word in yes_no_words(reading.text)) or _BOTH.search(reading.text):
            return f"the answer says {wants[0].text} and its opposite"
    return None


def _rivals(wanted: set[str], reading: Reading) -> set[str]:
    """The signs of an answer that deny those that are due.

    Two sets of signs are in use: labels (``+ -``) and bond types (``- = #``). Beside a ``+`` the bond types are talk
    about something else, unless the sign is all that the answer says.
    """
    others = {sign for _, _, sign in signs(reading.text)} & SIGNS - wanted
    talk = "+" in wanted and len(reading.payload.split()) > 3
    return others & {"+", "-"} if talk else others


def _claimed_otherwise(reading: Reading, due: Sequence[Due]) -> str | None:
    """A number that the answer calls its result and that is none of those due."""
    if not any(d.kind == "number" for d in due):
        return None
    index = DueIndex(due)
    claims = [n for n in reading.numbers if _CLAIM.search(reading.text[max(0, n.start - 80) : n.start])]
    if claims and not any(index.written(n) for n in claims):
        return f"the answer calls {reading.text[claims[0].start : claims[0].end]} its result"
    return None


def _only_repeated(reading: Reading, due: Sequence[Due], questions: Sequence[str]) -> str | None:
    """Values that the question itself names, in an answer that repeats more of the question than them."""
    index = DueIndex(due)
    asked = {id(d) for question in questions for d in index.given(prepared(question))}
    if not all(d.kind in ("number", "text") and id(d) in asked for d in due):
        return None
    rest = reading.payload
    for place in sorted(index.places(rest), key=lambda p: -p.start):
        rest = rest[: place.start] + rest[place.end :]
    repeated = telling_words(rest) & {word for question in questions for word in telling_words(prepared(question))}
    if not repeated and not numbers(rest):
        return None
    return f"{_due(due)} is in the question too, and the answer may only repeat it"
