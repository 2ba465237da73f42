"""Foreign text on its way to the terminal: nothing but printable cells ever gets there, and widths are right."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from vakra_tui.render import content, palette, strip
from vakra_tui.state.cells import cell
from vakra_tui.state.lines import HANG, Lines, Span, line, plain
from vakra_tui.text import one_line, sanitize, size_words
from vakra_tui.wrap import crop, width_of, wrap

BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}
HARD = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x00\x07\x08\t\n\r\x1b\x7f\x80\x9b\x9d\u200b\u200d\u202e\u2066\u2028\ufeff\ufe0f\u0301"),
        st.sampled_from("漢字한국어ไทย[]/\\{}<>é👩🇩🇪"),
    ),
    max_size=60,
)


def is_clean(text: str) -> bool:
    return not any(
        ord(character) < 0x20
        or 0x7F <= ord(character) <= 0x9F
        or ord(character) in BIDI
        or unicodedata.category(character) in ("Cs", "Zl", "Zp")
        for character in text
    )


@given(HARD)
@settings(max_examples=300, deadline=None)
def test_no_control_or_direction_character_survives(text: str) -> None:
    clean = sanitize(text)
    assert is_clean(clean)
    assert sanitize(clean) == clean
    clean.encode("utf-8")


@given(HARD, st.integers(min_value=1, max_value=50), st.integers(min_value=0, max_value=9))
@settings(max_examples=200, deadline=None)
def test_a_strip_is_clean_and_exactly_as_wide_as_its_pane(text: str, width: int, start: int) -> None:
    made = strip(line((text, "string"), text), width, palette(True), start=start)
    assert made.cell_length == width
    shown = "".join(segment.text for segment in made)
    assert is_clean(shown)
    assert cell_len(shown) == width


@given(HARD, st.integers(min_value=4, max_value=40))
@settings(max_examples=200, deadline=None)
def test_wrapping_keeps_every_visible_character_and_fits(text: str, width: int) -> None:
    wrapped = list(wrap(line((" a: ", "label"), HANG, (text, "string")), width))
    assert all(width_of(part) <= width for part in wrapped)
    kept = "".join(plain(part) for part in wrapped)
    wanted = "".join(sanitize(part) for part in text.split("\n"))
    assert "".join(kept.split()).removeprefix("a:").replace("\u25cc", "") == "".join(wanted.split()).replace(
        "\u25cc", ""
    )


@given(HARD, st.integers(min_value=1, max_value=30))
@settings(max_examples=200, deadline=None)
def test_a_cell_of_a_column_has_its_width(text: str, width: int) -> None:
    assert cell_len(cell(text, width)) == width


@pytest.mark.parametrize("text", ["中文字", "한국어", "e\u0301tude", "ไทยำ", "مرحبا", "🇩🇪 flag", "👨\u200d👩\u200d👧"])
def test_wide_text_is_cut_between_characters(text: str) -> None:
    for width in range(1, 12):
        cut = crop(line(text), width)
        assert width_of(cut) <= width
        assert "\ufffd" not in plain(cut)


def test_stand_ins_are_visible_and_telling() -> None:
    assert sanitize("\x1b[2J\x07") == "␛[2J␇"
    assert sanitize("\x9b31m") == "<9b>31m"
    assert sanitize("a\u202eb") == "a<U+202E>b"
    assert sanitize("a\u200bb") == "a<U+200B>b"
    assert sanitize("\u0301a") == "\u25cc\u0301a"
    assert sanitize("\udc80") == "<U+DC80>"
    assert sanitize("[/] [b]x[/b] {n} \\[x]") == "[/] [b]x[/b] {n} \\[x]"


def test_titles_and_toasts_are_no_markup() -> None:
    assert content("[/] [link=http://x] \x1b]0;t\x07").plain == "[/] [link=http://x] ␛]0;t␇"


def test_a_hanging_mark_indents_what_follows() -> None:
    wrapped = list(wrap(line("  name  ", HANG, "one two three four"), 16))
    assert [plain(part).rstrip() for part in wrapped] == ["  name  one two", "        three", "        four"]


@pytest.mark.parametrize("width", [80, 16])
def test_what_follows_a_line_break_is_indented_as_well(width: int) -> None:
    wrapped = list(wrap(line(" Q  ", HANG, "one\n  two\n\nthree"), width))
    assert [plain(part) for part in wrapped] == [" Q  one", "      two", "", "    three"]
    assert [plain(part) for part in wrap(line("  one\ntwo"), width)] == ["  one", "  two"]
    assert [plain(part) for part in wrap(line("one\n two"), width)] == ["one", " two"]


def test_lines_are_laid_out_again_for_another_width() -> None:
    source = Lines([line("one two three")])
    assert source.layout(80) == 1
    assert source.layout(5) == 3
    assert [plain(source.line(index)).strip() for index in range(3)] == ["one", "two", "three"]


def test_one_line_folds_white_space_and_says_that_it_was_cut() -> None:
    assert one_line("a\n\t b   c") == "a b c"
    assert one_line("x" * 50, 10) == "x" * 10 + "…"
    assert size_words(312) == "312 B"
    assert size_words(5_000_000) == "5.0 MB"


def test_sanitising_needs_no_screen_library() -> None:
    code = "import sys, vakra_tui.text; sys.exit('textual' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_spans_compare_as_values() -> None:
    assert line("a", ("b", "ok")) == (Span("a"), Span("b", "ok"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u3164b", "a<U+3164>b"),
        ("\u2764\ufe0f", "\u2764<U+FE0F>"),
        ("\U0001f44d\U0001f3fd", "\U0001f44d<U+1F3FD>"),
        ("a\U000e0100", "a<U+E0100>"),
        ("\uffff\u0378\U00050000", "<U+FFFF><U+0378><U+50000>"),
        ("\u0600 \ue000 \u3000", "\u0600 \ue000 \u3000"),
        ("Z" + "\u0301" * 12 + "!", "Z" + ("\u0301" * 5 + "\u25cc") * 2 + "\u0301\u0301!"),
        ("\u0e01" + "\u0e47" * 6, "\u0e01" + "\u0e47" * 5 + "\u25cc\u0e47"),
        ("b\u05bc\u05b8\u0591", "b\u05bc\u05b8\u0591"),
    ],
)
def test_what_terminals_would_not_show_or_measure_alike_is_named(text: str, shown: str) -> None:
    assert sanitize(text) == shown
    assert sanitize(shown) == shown


@given(HARD)
@settings(max_examples=300, deadline=None)
def test_every_character_shown_alone_takes_room(text: str) -> None:
    for character in text:
        assert cell_len(sanitize(character)) >= 1


def test_a_folded_line_keeps_separators_that_are_no_blanks() -> None:
    assert one_line(" a\u2028b\x1fc \t\n d\u00a0\u3000e ") == "a\u2028b\x1fc d e"
