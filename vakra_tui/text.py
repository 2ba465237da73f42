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
    "\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero width, bidi, separators
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"  # joiners and fillers that show nothing
    "\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff"  # selectors, skin tones, tags: terminals differ
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U00013430-\U0001345f"  # format characters of scripts and music
    "\ufdd0-\ufdef\ufffe\uffff\U00040000-\U000dffff"  # no characters at all
    "\ud800-\udfff"  # lone surrogates cannot be encoded for a terminal
    "]"
)

_SHOWN_KINDS = frozenset(("Zs", "Co", "Cf"))
"""Categories that Python counts as not printable and that take up one cell, once ``_FOREIGN`` is replaced."""

_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u06d6-\u06dc\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f7e\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\u302a-\u302f\u3099\u309a"
    "\ufe20-\ufe2f"
)
_WORD_START = re.compile(r"(?:^|(?<=\s))[^\x00-\u02ff\s]")

_LONE_JAMO = re.compile("(?<![\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb])[\u1161-\u11ff\ud7b0-\ud7fb]")
"""Hangul vowels and finals: without a syllable before them they take no room."""

MARKS_ON_A_LETTER = 5
"""Combining marks that one letter bears; terminals drop what is above, or draw it over other lines."""

_PILE = re.compile(rf"[{_MARKS}]{{{MARKS_ON_A_LETTER}}}(?=[{_MARKS}])")

_CIRCLE = "\u25cc"
_CONTROL_PICTURES = 0x2400
_DELETE = 0x7F


def _stand_in(match: re.Match[str]) -> str:
    return _named(ord(match.group()))


def _named(code: int) -> str:
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
    format characters, fillers, variation selectors, skin tones, line separators, lone surrogates and code points that
    are no character ``<U+202E>``. A combining mark with no letter before it gets a dotted circle to stand on, so that
    it cannot melt into another cell, and so does what piles up on one letter beyond ``MARKS_ON_A_LETTER``.
    """
    if text.isascii() and text.isprintable():
        return text
    clean = _FOREIGN.sub(_stand_in, text)
    if not clean.isprintable():
        clean = "".join(map(_shown, clean))
    clean = _WORD_START.sub(_based, _LONE_JAMO.sub(_stand_in, clean))
    return _PILE.sub(rf"\g<0>{_CIRCLE}", clean)


def _based(match: re.Match[str]) -> str:
    """The first character of a word; a combining mark with no letter gets a circle to stand on."""
    character = match.group()
    return _CIRCLE + character if unicodedata.category(character)[0] == "M" else character


def _shown(character: str) -> str:
    """A character, or the name of a code point that this Unicode does not know: no terminal's width can be told."""
    if character.isprintable() or unicodedata.category(character) in _SHOWN_KINDS:
        return character
    return _named(ord(character))


_BLANKS = re.compile(r"[ \t\r\n\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
"""What is folded to one blank; separators that a person would not see stay, and are named."""


def one_line(text: str, limit: int = 400) -> str:
    """The start of a text on one line for lists: white space folded, at most ``limit`` characters of the source."""
    head = _BLANKS.sub(" ", text[: limit + 1]).strip(" ")
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
