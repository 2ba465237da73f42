"""How the released evaluator reads a judge's reply (contract, end of section 3, rows E1 and E17).

Only for ``--profile vakra``: a reply that it cannot read scores 0, and is marked as the judge's error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from eval.judges.replies import Reading
from eval.model import Gate

JUDGE_ERROR = "judge error: "
"""How the reason of a ruling begins that the release makes of a reply it cannot read."""

_FIRST_LINES = 10
_DIGIT = re.compile(r"\b([01])\b")
_LABEL = re.compile(r"\b(yes|partial|no|unsure)\b", re.I)
_CONCLUSION = re.compile(r"<conclusion>(.*?)</conclusion>", re.I | re.S)
_YES = frozenset({"1", "true", "yes"})
_NO = frozenset({"0", "false", "no"})


def released_reader(gate: Gate) -> Any:
    """A reader (reply, material) -> ``Reading`` for ``consistent`` or ``grounded``; it never refuses a reply."""
    return _groundedness if gate == "grounded" else _correctness


def correctness(reply: str) -> tuple[int, str]:
    """(score, explanation) of a correctness reply; an explanation that begins with ``JUDGE_ERROR`` is an error."""
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError):
        return 0, f"{JUDGE_ERROR}the reply is not one bare JSON object"
    if not isinstance(found, Mapping):
        return 0, f"{JUDGE_ERROR}the reply is not one bare JSON object"
    score = _score(found.get("score"))
    if score is None:
        return 0, f"{JUDGE_ERROR}the reply has no score that can be read"
    return score, str(found.get("explanation", ""))


def groundedness(reply: str) -> tuple[int, str]:
    """(score, explanation) of a groundedness reply: the first label word of the first ten lines, then of the rest."""
    if not reply.strip():
        return 0, f"{JUDGE_ERROR}the reply is empty"
    concluded = _CONCLUSION.search(reply)
    text = concluded.group(1).strip() if concluded else reply.strip()
    lines = text.splitlines()
    found = _LABEL.search("\n".join(lines[:_FIRST_LINES])) or _LABEL.search(text)
    if found is None:
        return 0, f"{JUDGE_ERROR}the reply has none of the labels yes, partial, no, unsure"
    line, _, rest = text[found.end() :].partition("\n")
    explanation = line.lstrip(" \t-–—:.").strip() or rest.strip()
    return int(found.group(1).lower() == "yes"), explanation


def _score(value: Any) -> int | None:
    if isinstance(value, bool | int | float):
        return int(value == 1)
    if not isinstance(value, str):
        return None
    text = value.strip().lower()
    if text in _YES or text in _NO:
        return int(text in _YES)
    digit = _DIGIT.search(text)
    return int(digit.group(1)) if digit else None


def _correctness(reply: str, material: str) -> Reading:
    return _reading(*correctness(reply), reply)


def _groundedness(reply: str, material: str) -> Reading:
    return _reading(*groundedness(reply), reply)


def _reading(score: int, explanation: str, reply: str) -> Reading:
    return Reading(outcome="pass" if score else "fail", reason=explanation, span=reply, how="strict")
