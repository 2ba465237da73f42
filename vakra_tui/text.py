"""Foreign text made harmless: nothing here needs a screen library.

Every string that comes from data passes ``sanitize`` before it reaches a terminal, a log or a title. Control
characters, bidirectional overrides, zero-width format characters and lone surrogates become visible stand-ins of a
known width, so that nothing is executed, reordered, hidden or lost. The text itself is never changed: copies and
exports use the original.
"""

from __future__ import annotations

import re
import unicodedata

_FOREIGN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, bidi, separators
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"  # musical and tag format characters
    "\ud800-\udfff"  # lone surrogates cannot be encoded for a terminal
    "]"
)

_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_LONE_MARK = re.compile(rf"(?:^|(?<=\s))(?=[{_MARKS}])")
"""Before a combining mark with no letter to stand on."""

_CONTROL_PICTURES = 0x2400
_DELETE = 0x7F


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return "\u2421"
    if code <= 0x9F:
        return f"<{code:02x}>"
    return f"<U+{code:04X}>"


def sanitize(text: str) -> str:
    """``text`` as one line that a terminal can only print.

    C0 characters become control pictures (``␛``, ``␊``), DEL ``␡``, C1 ``<9b>``; bidirectional and zero-width
    format characters, line separators and lone surrogates ``<U+202E>``. A combining mark with no letter before it gets
    a dotted circle to stand on, so that it cannot melt into another cell.
    """
    if text.isascii() and text.isprintable():
        return text
    clean = _LONE_MARK.sub("\u25cc", _FOREIGN.sub(_stand_in, text))
    if clean and unicodedata.combining(clean[0]):
        return "\u25cc" + clean
    return clean


def one_line(text: str, limit: int = 400) -> str:
    """The start of a text on one line for lists: white space folded, at most ``limit`` characters of the source."""
    head = " ".join(text[: limit + 1].split())
    return head[:limit].rstrip() + "\u2026" if len(text) > limit else head


def size_words(characters: int) -> str:
    """A length in words: ``312 B``, ``1.2 KB``, ``5.0 MB`` (powers of ten, as characters of the text)."""
    if characters < 1000:
        return f"{characters} B"
    if characters < 1_000_000:
        return f"{characters / 1000:.1f} KB"
    return f"{characters / 1_000_000:.1f} MB"


def count_words(number: int, noun: str, plural: str = "") -> str:
    """``1 step``, ``3 steps``, ``1,204 rows``."""
    word = noun if number == 1 else (plural or noun + "s")
    return f"{number:,} {word}"
