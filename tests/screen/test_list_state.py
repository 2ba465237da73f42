"""The list of instances without a screen: columns, order, words, filters by name, marks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import screen_toy as toy
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from eval.model import Verdict
from toolenv.errors import DataError
from vakra_tui.state import columns
from vakra_tui.state.entry import Entry
from vakra_tui.state.entry_filter import ENTRY_FILTERS
from vakra_tui.state.finding import rank, words_of
from vakra_tui.state.lines import plain
from vakra_tui.state.listing import Listing, Only, entries_of
from vakra_tui.state.marks import Marks
from vakra_tui.state.saved_filters import GIVEN, SavedFilters


def entry(uuid: str, query: str = "Who flies?", **changes: object) -> Entry:
    ref = toy.Ref(capability=4, domain="airline", uuid=uuid)
    fields = {"instance": ref, "query": query, "slices": {}, "weight": 1, **changes}
    return Entry(uuid=uuid, capability=4, domain="airline", **fields)  # type: ignore[arg-type]


def verdict(passed: bool | None, stage: str | None = None, sieve: str | None = None, status: str = "scored") -> Verdict:
    return Verdict(
        uuid="u",
        capability=4,
        domain="airline",
        status=status,  # type: ignore[arg-type]
        passed=passed,
        failed_stage=stage,  # type: ignore[arg-type]
        sieve=sieve,  # type: ignore[arg-type]
    )


FAILED = verdict(False, "policy", "tool_selection")
ANSWER = verdict(False, "final_response", "answer")
PASSED = verdict(True, None, "none")
MISSING = verdict(False, None, "tool_selection", "missing")


@pytest.mark.parametrize("width", [40, 80, 100, 120, 160, 240])
@pytest.mark.parametrize("runs", [0, 1, 2, 3, 9])
def test_rows_and_head_fill_the_width_and_fold(width: int, runs: int) -> None:
    names = tuple(f"run{number}" for number in range(runs))
    row = entry("u", "\u6f22" * 200, turns=3, policy=True, policy_kind="only_documents", applies="applies")
    row.verdicts = dict.fromkeys(names, ANSWER)
    listing = Listing([row], names)
    head = plain(listing.head(width))
    listing.layout(width)
    line = plain(listing.line(0))
    assert cell_len(line) == cell_len(head) == width or width < 60
    shown = listing.runs_shown()
    assert shown == names[: len(shown)]
    if len(shown) < runs:
        assert f"{runs - len(shown)} more run" in listing.title_words()
        listing.turn_runs(100)
        assert listing.runs_shown() == names[-len(shown) :]


ANY = (columns.VerdictWords(),)
"""One run, of whose verdicts nothing is known."""


def test_columns_that_say_nothing_of_the_capabilities_are_left_out() -> None:
    def names(width: int, *capabilities: int) -> list[str]:
        return [column.name for column in columns.layout(width, ANY, frozenset(capabilities)).columns]

    assert names(160, 1) == ["capability", "domain", "style", "hops"]
    assert names(160, 4) == ["capability", "domain", "turns", "hops", "policy"]
    assert names(80, 1, 4) == ["capability", "domain"]
    narrow, wide = (columns.layout(width, ANY, frozenset({4})) for width in (120, 200))
    assert columns.POLICY_SHORT in narrow.columns
    assert columns.POLICY in wide.columns


def test_any_column_sorts_and_again_the_other_way_round() -> None:
    rows = [
        entry("a", turns=2, slices={"hops": "3", "hop_pattern": "API-RAG-API"}, verdicts={"r": PASSED}),
        entry("b", turns=1, slices={"hops": "1"}, verdicts={"r": FAILED}),
        entry("c", turns=2, slices={}, verdicts={"r": ANSWER}),
        entry("d", turns=1, slices={"hops": "1"}, verdicts={"r": MISSING}),
        entry("e", turns=1, slices={"hops": "2"}),
    ]
    listing = Listing(rows, ("r",))

    def order(by: str | None) -> str:
        listing.sort(by)
        listing.find(listing.search)
        return "".join(each.uuid for each in listing.shown)

    assert order("turns") == "bdeac"
    assert order("turns") == "acbde", "equal rows keep the order of the files"
    assert order("hops") == "bdeac"
    assert order("hops") == "aebdc", "what is not known comes last in either direction"
    assert order("run r") == "bcdae"
    assert order("run r") == "adcbe"
    assert "sorted by run r, reversed" in listing.title_words()
    listing.find("~turns 1")
    assert [each.uuid for each in listing.shown] == ["d", "b", "e"]
    assert order(None) == "bde"
    assert {name for name, _ in listing.orders()} >= {"capability", "policy", "query", "uuid", "run r"}
    for name, _ in listing.orders():
        order(name)
        assert len(listing.shown) == 3


def test_a_click_on_the_head_names_the_column() -> None:
    listing = Listing([entry("a")], ("r",))
    head = plain(listing.head(160))
    for column in ("domain", "turns", "hops", "policy", "query"):
        assert listing.column_at(head.index(column)) == column
    assert listing.column_at(head.index(" r ") + 1) == "run r"
    assert listing.column_at(159) == "run r"


def test_words_are_found_as_they_are_first_and_with_letters_left_out() -> None:
    rows = [
        entry("a", "Which of the most reviewed root beers is sweet?"),
        entry("b", "How many reviews are there of beer?"),
        entry("c", "Who brews?", verdicts={"r": ANSWER}),
        entry("d", "Preview: who was first?"),
    ]
    listing = Listing(rows, ("r",))

    def found(text: str) -> str:
        listing.find(text)
        return "".join(each.uuid for each in listing.shown)

    assert found("review") == "abd", "at the beginning of a word before inside one"
    assert found("mstrev") == "a"
    assert found("beer rvws") == "b"
    assert found("final answer") == "c"
    assert found("airline cap4") == "abcd"
    assert found("zz") == ""
    assert found("   ") == "abcd"


@given(st.text(max_size=40), st.text(max_size=80))
def test_finding_never_fails_and_what_is_there_is_found(asked: str, text: str) -> None:
    folded = text.casefold()
    words = words_of(asked)
    fits = rank(words, folded, len(folded))
    assert not words or bool(fits) or any(word not in folded for word in words)


def test_what_is_kept_of_rows_can_be_filtered() -> None:
    rows = [
        entry("a", slices={"style": "sel", "hops": "2", "hop_pattern": "API-RAG"}, marked=True, kept={"r"}),
        entry("b", policy_kind="no_documents", applies="applies", verdicts={"fast": FAILED, "slow": PASSED}),
        Entry(uuid="c", capability=1, domain="d", instance=1),
    ]
    for text, expected in {
        "~style sel": "a",
        "~hops 2": "a",
        "~hops >2": "",
        "~pattern ^api-": "a",
        "~marked": "a",
        "~kept": "a",
        "~kind no_documents": "b",
        "~fails fast ~passes slow": "b",
        "~fails slow": "",
        "~unread": "c",
        "!~marked !~unread": "b",
    }.items():
        wanted = ENTRY_FILTERS.parse(text)
        assert "".join(each.uuid for each in rows if wanted.matches(each)) == expected, text
    begun = [each.text for each in ENTRY_FILTERS.complete("~fails ", rows)]
    assert begun == ["fast", "slow"]
    for given_ in GIVEN:
        ENTRY_FILTERS.parse(given_.text)


def test_a_run_has_the_room_that_its_verdicts_need() -> None:
    """The query gets what short words leave; one run that failed does not widen those that passed."""
    rows = [entry("a", verdicts={"one": FAILED, "two": PASSED}, predictions={"one": 1, "two": 1})]
    listing = Listing(rows, ["one", "two"])
    listing.counts()
    head = plain(listing.head(160))
    listing.layout(160)
    failed, passed = head.index("one"), head.index("two")
    said = plain(listing.line(0))
    assert said[failed:passed].strip().startswith("\u2717") and "\u2026" not in said[failed:]
    assert len(head) - passed <= columns.LEAST_VERDICT + 1
    assert passed - failed > columns.LEAST_VERDICT + 1


def test_what_is_not_evaluated_is_said() -> None:
    rows = [entry("a", predictions={"r": 1}), entry("b", predictions={"r": 1}, verdicts={"r": PASSED}), entry("c")]
    listing = Listing(rows, ["r"])
    assert "1 prediction not evaluated (V evaluates all shown)" in listing.counts()
    listing.head(160)
    listing.layout(160)
    assert "\u00b7 not evaluated" in plain(listing.line(0))
    assert plain(listing.line(2)).rstrip().endswith("no prediction")
    rows[1].verdicts.clear()
    assert "2 predictions not evaluated" in listing.counts()
    rows[0].predictions.clear()
    rows[1].predictions.clear()
    assert "not evaluated" not in listing.counts()


def test_rows_that_were_not_read_match_nothing_that_is_read_from_them() -> None:
    rows = [
        Entry(uuid="a", capability=4, domain="d", instance=1),
        entry("b", query=None, problem="it is odd"),
        entry("c", turns=1),
    ]
    for text in ("~turns 1", "~kind none", "~policy none"):
        wanted = ENTRY_FILTERS.parse(text)
        assert [each.uuid for each in rows if wanted.matches(each)] == ["c"], text


def test_what_has_no_prediction_is_found_before_anything_is_scored() -> None:
    refs = [toy.Ref(capability=4, domain="d", uuid=f"u{n}") for n in range(3)]
    predicted = [toy.Ref(capability=4, domain="d", uuid=name) for name in ("u0", "u1", "stranger")]
    rows = entries_of(refs, {"one": predicted, "two": refs[:1]})
    asked = {"~run one": ["u0", "u1", "stranger"], "~run two": ["u0"], "!~run two ~run one": ["u1", "stranger"]}
    for text, expected in asked.items():
        wanted = ENTRY_FILTERS.parse(text)
        assert [each.uuid for each in rows if wanted.matches(each)] == expected, text
    assert [each.text for each in ENTRY_FILTERS.complete("~run ", rows)] == ["one", "two"]
    wanted = ENTRY_FILTERS.parse("~missing")
    assert [each.uuid for each in rows if wanted.matches(each)] == ["u1", "u2"], "a stranger lacks nothing"


@pytest.mark.parametrize(
    "text",
    [
        '~domain "^a [/]" ~cap 4 | (~fail policy !~err) & ~text \'x',
        "(~cap 1 | ~cap 2) !(~pass | ~undecided) ~turns 1..2",
        r'~text "root \"beer\"" ~passes ^a',
    ],
)
def test_typing_a_filter_never_empties_the_list_in_silence(text: str) -> None:
    """After every key: either the filter can be read, or the rows of before stay and a sentence says why."""
    rows = [entry("a"), entry("b")]
    listing = Listing(rows, ("r",))
    for end in range(1, len(text) + 1):
        before = list(listing.shown)
        listing.find(text[:end])
        if listing.problem:
            assert listing.shown == before, text[:end]
            assert listing.problem.endswith("."), text[:end]


def test_counts_are_honest() -> None:
    rows = [entry("a", marked=True), entry("b"), entry("c", query=None, problem="it is odd")]
    rows += [Entry(uuid="d", capability=1, domain="d", instance=1), Entry(uuid="e", capability=1, domain="d")]
    rows[0].verdicts["r"] = PASSED
    rows[0].kept |= {"r"}
    listing = Listing(rows, ("r",))
    listing.source = "profile paper, judge offline"
    assert listing.counts() == (
        "4 instances and 1 extra \u00b7 1 marked \u00b7 2 not read \u00b7 1 cannot be read \u00b7 "
        "r: 1 of 1 scored passed \u00b7 verdicts by the profile paper, judge offline "
        "\u00b7 1 verdict read from the store"
    )
    listing.only = Only(frozenset({rows[1].key}), "hop pattern API")
    listing.find("")
    assert listing.counts().startswith("showing 1 of 4 instances and 1 extra")
    assert "only hop pattern API (Esc shows all)" in listing.title_words()


def test_marks_outlive_the_program_and_those_of_other_rows_stay(tmp_path: Path) -> None:
    rows = entries_of([toy.Ref(capability=2, domain="d", uuid=f"u{n}") for n in range(3)], {})
    marks = Marks(tmp_path, "/data/mini")
    assert marks.read() == frozenset()
    rows[1].marked = True
    marks.write(rows, frozenset({(4, "other", "x")}))
    assert Marks(tmp_path, "/data/mini").read() == {(2, "d", "u1"), (4, "other", "x")}
    assert Marks(tmp_path, "/data/other").read() == frozenset()
    (file,) = (tmp_path / "marks").iterdir()
    for damaged in ("", "[]", '{"marked": 3}', '{"marked": [[1], ["x", 2, 3]]}'):
        file.write_text(damaged, encoding="utf-8")
        assert marks.read() == frozenset()
    with pytest.raises(DataError, match="cannot be written"):
        Marks(Path("/dev/null"), "d").write(rows)


def test_filters_are_kept_by_name_and_deleted(tmp_path: Path) -> None:
    filters = SavedFilters(tmp_path / "config")
    assert filters.all() == list(GIVEN)
    filters.keep("  my \n filter ", "~cap 4 [/]")
    filters.keep("marked", "~marked ~cap 1")
    assert [(each.name, each.text) for each in filters.own()] == [
        ("marked", "~marked ~cap 1"),
        ("my filter", "~cap 4 [/]"),
    ]
    assert sum(each.name == "marked" for each in filters.all()) == 1
    assert json.loads(filters.path.read_text(encoding="utf-8"))["my filter"] == "~cap 4 [/]"
    filters.delete("marked")
    assert [each.name for each in filters.own()] == ["my filter"]
    filters.path.write_text("{", encoding="utf-8")
    assert filters.own() == []
