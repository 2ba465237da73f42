"""Text matching as the released environment does it, on engines that no pattern can hang.

``contains`` is a regular expression without regard to case. Text columns of pandas 3 run it on RE2, as the release
does through Arrow, unless the pattern needs Python's syntax; everything else runs Python's own engine. That one can
take exponential time, so a pattern with repetitions runs on the ``regex`` engine with a deadline instead.
"""

from __future__ import annotations

import importlib
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

DEADLINE_S: Final = 5.0
"""Seconds that one call may spend in a backtracking engine."""

LONGEST_PATTERN: Final = 10_000
"""Characters that a pattern may have."""

Matcher = Callable[[str], bool]

_PLAIN = re.compile(r"[^.^$*+?{}\[\]\\|()]*")
_END_ANCHOR = re.compile(r"(?<!\\)((?:\\\\)*)\\Z")
_CLASS_ESCAPE = re.compile(r"\\[A-Za-z0-9]|\\\Z")
_UNICODE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[uU]|N\{)")


class PatternError(ValueError):
    """A pattern that is no regular expression, or one that takes too long. The message is a sentence."""


def contains(pattern: str, texts: Iterable[str], *, arrow: bool) -> Matcher:
    """Whether a text holds a match of ``pattern``, case ignored; ``texts`` are all that will be asked about.

    Raises ``PatternError``; so may the matcher, when its time is up.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"the pattern has {len(pattern)} characters; at most {LONGEST_PATTERN} are taken")
    texts = list(texts)
    if pattern.isascii() and _PLAIN.fullmatch(pattern) and all(map(str.isascii, texts)):
        wanted = pattern.lower()
        return lambda text: wanted in text.lower()
    if any("\ud800" <= character <= "\udfff" for character in pattern):
        raise PatternError("the pattern holds a character that is not valid Unicode text")
    if arrow and not _needs_python(pattern, texts):
        return _re2_search(_END_ANCHOR.sub(r"\1\\z", pattern), case_sensitive=False)
    return _python_search(pattern)


def like(pattern: str, *, sql: bool = False) -> Matcher:
    """The release's LIKE: ``%`` any run, ``_`` any one character, anchored, case-sensitive, not across lines.

    A ``.`` in the pattern is a wild card and ``.*`` any run (S12). With ``sql``, what SQL's LIKE says instead.
    """
    if any("\ud800" <= character <= "\udfff" for character in pattern):
        return lambda text: False
    if not sql and "_" not in pattern and "." not in pattern:
        return _like_plain(pattern)
    if sql:
        parts = [{"%": r"(?s:.*)", "_": r"(?s:.)"}.get(character) or _literal(character) for character in pattern]
        return _re2_full("".join(parts), case_sensitive=False)
    return _re2_full("".join(_like_parts(pattern)) + r"\n?", case_sensitive=True)


def places_holding(cells: list[Any], wanted: str) -> list[int] | None:
    """Positions of the cells that hold a plain text, case ignored; None where a slower way must answer.

    All cells are searched as one text, which finds rare matches far faster than cell by cell.
    """
    if not wanted or not wanted.isascii() or "\n" in wanted:
        return None
    whole = _lines(cells)
    if whole is None or not whole.isascii():
        return None
    whole, wanted = whole.lower(), wanted.lower()
    if whole.count(wanted) * 4 > len(cells):
        return [row for row, text in enumerate(whole.split("\n")) if wanted in text]
    found: list[int] = []
    row, start, place = 0, 0, whole.find(wanted)
    while place >= 0:
        row += whole.count("\n", start, place)
        found.append(row)
        start = whole.find("\n", place)
        place = whole.find(wanted, start) if start >= 0 else -1
    return found


def places_matching(cells: list[Any], pattern: str) -> list[int] | None:
    """Positions of the cells that hold a match of a regular expression, case ignored; None where ``contains`` must say.

    All cells are searched as the lines of one text: RE2 never matches across lines here, so each line is on its own.
    """
    if "(?" in pattern or _CLASS_ESCAPE.search(pattern) or not pattern.isascii() or len(pattern) > LONGEST_PATTERN:
        return None
    whole = _lines(cells)
    if whole is None:
        return None
    search = _re2(b"(?m)" + pattern.encode("ascii"), False, lines=True)
    if search is None:
        return None
    text = whole.encode("utf-8")
    found: list[int] = []
    row, start = 0, 0
    while (match := search.search(text, start)) is not None:
        place = match.start()
        row += text.count(b"\n", start, place)
        if type(cells[row]) is str:
            found.append(row)
        start = text.find(b"\n", place) + 1
        row += 1
        if start == 0:
            break
    return found


def _lines(cells: list[Any]) -> str | None:
    """All cells as lines of one text, NULL as an empty one; None where a cell has lines of its own."""
    try:
        whole = "\n".join(cells)
    except TypeError:
        whole = "\n".join([cell if type(cell) is str else "" for cell in cells])
    return whole if whole.count("\n") == len(cells) - 1 else None


def like_differs(pattern: str, texts: Iterable[str]) -> bool:
    """Whether SQL's LIKE could match other texts than the release's does."""
    return any(character == "." or character.isalpha() for character in pattern) or any("\n" in text for text in texts)


def has_wildcards(pattern: str) -> bool:
    """Whether a pattern says something else as a regular expression than as plain text."""
    return _PLAIN.fullmatch(pattern) is None


def _like_plain(pattern: str) -> Matcher:
    """LIKE where only ``%`` is special: the parts between must follow one another. Texts of many lines go to RE2."""
    first, *middle = pattern.split("%")
    last = middle.pop() if middle else None
    of_lines = _re2_full("".join(_like_parts(pattern)) + r"\n?", case_sensitive=True)

    def matches(text: str) -> bool:
        if "\n" in text:
            return of_lines(text)
        if last is None:
            return text == first
        if not text.startswith(first) or not text.endswith(last):
            return False
        place, end = len(first), len(text) - len(last)
        for part in middle:
            place = text.find(part, place, end)
            if place < 0:
                return False
            place += len(part)
        return place <= end

    return matches


def _like_parts(pattern: str) -> Iterator[str]:
    text = pattern.replace("%", ".*").replace("_", ".")
    position = 0
    while position < len(text):
        if text.startswith(".*", position):
            yield ".*"
            position += 2
        else:
            yield "." if text[position] == "." else _literal(text[position])
            position += 1


def _literal(character: str) -> str:
    return character if character.isalnum() or character == " " else rf"\x{{{ord(character):x}}}"


def _engine() -> Any:
    return importlib.import_module("re2")


@lru_cache(maxsize=256)
def _re2(pattern: bytes, case_sensitive: bool, lines: bool = False) -> Any:
    """A compiled pattern over UTF-8 bytes, since no offset in characters is ever needed.

    With ``lines`` no match holds a line break, and what does not compile gives None.
    """
    engine = _engine()
    options = engine.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive
    options.never_nl = lines
    try:
        return engine.compile(pattern, options)
    except engine.error as error:
        if lines:
            return None
        detail = error.args[0] if error.args else ""
        text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
        raise PatternError(f"{pattern.decode()!r} is not a regular expression: {text}") from error


def _re2_search(pattern: str, *, case_sensitive: bool) -> Matcher:
    search = _re2(pattern.encode("utf-8"), case_sensitive).search
    return lambda text: search(text.encode("utf-8")) is not None


def _re2_full(pattern: str, *, case_sensitive: bool) -> Matcher:
    match = _re2(pattern.encode("utf-8"), case_sensitive).fullmatch
    return lambda text: match(text.encode("utf-8")) is not None


def _python_search(pattern: str) -> Matcher:
    """A search by Python's rules. Without repetitions Python's engine is linear; with them, ``regex`` keeps time."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"{pattern!r} is not a regular expression: {error}") from error
    if not any(character in pattern for character in "*+?{|"):
        return lambda text: compiled.search(text) is not None
    return _timed_search(pattern)


def _timed_search(pattern: str) -> Matcher:
    engine = importlib.import_module("regex")
    try:
        search = engine.compile(pattern, engine.IGNORECASE | engine.VERSION0).search
    except engine.error as error:
        raise PatternError(f"{pattern!r} is not a regular expression: {error}") from error
    ends_at = time.monotonic() + DEADLINE_S

    def matches(text: str) -> bool:
        left = ends_at - time.monotonic()
        try:
            if left > 0:
                return search(text, timeout=left) is not None
        except TimeoutError:
            pass
        raise PatternError(f"matching {pattern!r} took longer than {DEADLINE_S:g} s and was stopped")

    return matches


def _needs_python(pattern: str, texts: list[str]) -> bool:
    """Whether the release leaves RE2 for Python's engine.

    It does for look-around, back-references, Unicode escapes and white-space classes; for word and digit classes and
    boundaries where a text is not ASCII; for ``$`` where a text has a line break.
    """
    if _UNICODE_ESCAPE.search(pattern):
        return True
    nodes = {(str(operation), str(argument)) for operation, argument in _nodes(pattern)}
    operations = {operation for operation, _ in nodes}
    if operations & {"ASSERT", "ASSERT_NOT", "GROUPREF"}:
        return True
    arguments = {argument for operation, argument in nodes if operation in ("CATEGORY", "AT")}
    if arguments & {"CATEGORY_SPACE", "CATEGORY_NOT_SPACE"}:
        return True
    unicode_classes = {"WORD", "NOT_WORD", "DIGIT", "NOT_DIGIT"}
    sensitive = {f"CATEGORY_{name}" for name in unicode_classes} | {"AT_BOUNDARY", "AT_NON_BOUNDARY"}
    if arguments & sensitive and not all(map(str.isascii, texts)):
        return True
    return "AT_END" in arguments and any("\n" in text for text in texts)


def _nodes(pattern: str) -> Iterator[tuple[Any, Any]]:
    """All nodes of the pattern as Python parses it; none where it cannot (RE2 then decides)."""
    parser = importlib.import_module("re._parser")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return
    waiting: list[Any] = [tree]
    while waiting:
        for operation, argument in waiting.pop():
            yield operation, argument if not isinstance(argument, list | tuple) else None
            name = str(operation)
            if name == "SUBPATTERN":
                waiting.append(argument[3])
            elif name == "BRANCH":
                waiting.extend(argument[1])
            elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                waiting.append(argument[2])
            elif name in ("ATOMIC_GROUP", "IN"):
                waiting.append(argument)
