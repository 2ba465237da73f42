"""Merged questions: the phrase of one hop in the place of a value of the next, said as a person would say it."""

from __future__ import annotations

import re

from toolenv.build.words import AUXILIARY, OWNED, singular

_MEDIUM_PHRASE, _SHORT_PHRASE = 10, 7
_OPEN_ENDED = re.compile(r"\b(?:most|least|highest|lowest|among|whose|that|which|who|with|in)\b", re.IGNORECASE)
_ONCE = re.compile(
    r"(?P<counted> are there)? whose (?P<thing>[a-z]+(?: [a-z]+)?) is (?:the (?P=thing) "
    r"(?P<link>with the (?=(?:most|fewest|highest|lowest)\b)|that )|(?P<known>that) (?P=thing)\b)"
)
_MOST_COMMON = re.compile(r" whose (?P<what>[a-z]+(?: [a-z]+){0,3}) is the most common (?P=what) among\b")
_SAME = re.compile(
    r"(?P<before>\b(?P<things>[a-z]+)(?: are there)?) whose (?P<role>[a-z]+(?: [a-z]+){0,2}) is the "
    r"(?P<asked>[a-z]+(?: [a-z]+){0,3}?) (?P<link>of|for) "
    r"(?=the |[A-Z0-9\"'“]|\w*\d|[a-z]+ (?:ID )?\w*\d)"
)
_THE_ONE = re.compile(r" whose (?P<role>[a-z]+(?: [a-z]+){0,2}) is the (?P=role) (?=[a-z]+ed (?:by|in|at|for)\b)")
_COUNTED = re.compile(r"^(How many (?:[a-z]+ ){1,3})are there with the (same|most common)\b")
_ROLE = re.compile(r"\bwhose (?P<role>[a-z]+(?: [a-z]+){0,2}) is \{0\}")
_HEAD = re.compile(r"^the (?:most common )?(?P<role>[a-z]+(?: [a-z]+){0,2}?) (?:of|for|with|among)\b")
_TWICE = re.compile(r"\b(the|a|an) (?:the|an?) ", re.IGNORECASE)


def filled(text: str, phrase: str) -> str:
    """A question or phrase with its slot filled; a possessive after a long phrase becomes ``of``.

    What names the same thing twice says it once: ``the atoms whose molecule is the molecule with the most bonds``
    becomes ``the atoms of the molecule with the most bonds``, ``heroes whose publisher is the publisher of Blue
    Beetle`` becomes ``heroes with the same publisher as Blue Beetle``.
    """
    if len(phrase.split()) > 1:
        text = OWNED.sub(r"the \g<owned> of \g<slot>", text)
    text = _ONCE.sub(_said_once, text.replace("{0}", phrase))
    text = _THE_ONE.sub(r" whose \g<role> is the one ", text)
    text = _MOST_COMMON.sub(r" with the most common \g<what> among", text)
    return _TWICE.sub(r"\1 ", _COUNTED.sub(r"\1have the \2", _SAME.sub(_said_alike, text)))


def _said_once(match: re.Match[str]) -> str:
    rest = f"that {match['thing']}" if match["known"] else f"the {match['thing']} {match['link']}"
    return f"{' belong to' if match['counted'] else ' of'} {rest}"


def _said_alike(match: re.Match[str]) -> str:
    of_its_kind = match.string[match.end() :].startswith(f"the {singular(match['things'])} ")
    if match["asked"] == match["role"] and match["link"] == "for" and not of_its_kind:
        return f"{match['before']} whose {match['role']} is that of "
    asked = [singular(word) for word in match["asked"].split(" ")]
    role = [singular(word) for word in match["role"].split(" ")]
    # ``the bond type of`` a bond is its type.
    if asked not in (role, [singular(match["things"]), *role]):
        return match.group()
    return f"{match['before']} with the same {match['role']} as "


def reads_well(text: str, phrase: str) -> bool:
    """Whether a phrase of this length can stand in the slot without a doubt what belongs to what.

    At the end of a text any phrase can; between a verb and its complement a medium one; before more words a short one.
    """
    before, _, after = text.partition("{0}")
    if not re.search(r"\w", after) or OWNED.search(text):
        return True
    words = len(phrase.split())
    if "," in phrase or (after.startswith(",") and words > 5):
        return False
    left = re.search(r"([A-Za-z']+) $", before)
    if left is not None and left[1].lower() in AUXILIARY:
        return words <= _MEDIUM_PHRASE
    # What follows would be read as part of a phrase that ranks or has a clause of its own.
    return words <= _SHORT_PHRASE and not _OPEN_ENDED.search(phrase)


def same_role(text: str, phrase: str) -> bool:
    """Whether a slot ``whose <role> is {0}`` is for what the phrase is: an eye colour is no skin colour."""
    slot, head = _ROLE.search(text), _HEAD.match(phrase)
    if slot is None or head is None:
        return True
    role, given = ([singular(word) for word in match["role"].split(" ")] for match in (slot, head))
    return role == given or len(role) == 1 or len(given) == 1 or role[-1] != given[-1]
