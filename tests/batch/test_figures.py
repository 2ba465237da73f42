"""The figures of a run: one form for lines and for report files, and the lines behind every figure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from batch_lines import extra, line, missing, unscored
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.figures import Behind, behind, figures, line_of, passed_of, read_report
from eval.published import PUBLISHED
from eval.report import EnvironmentInfo, JudgeInfo, ReportInfo, head, write
from eval.scored import Scored
from eval.scores import tally
from toolenv.errors import DataError

INFO = ReportInfo(
    profile="paper",
    judge=JudgeInfo(kind="offline"),
    dataset_path="/data",
    dataset_fingerprint="sha256:d",
    environments=(EnvironmentInfo(kind="native"),),
    run_name="run",
    run_fingerprint="sha256:r",
)

SIEVES = ["tool_selection", "argument_names", "argument_values", "answer"]

LINES = st.builds(
    lambda passed, capability, sieve, pattern, weight: (
        capability,
        passed,
        {"sieve": "none" if passed else "undecided" if passed is None else sieve, "weight": weight},
        {"hop_pattern": pattern, "domain": "d"} if pattern else {"domain": "d"},
    ),
    st.sampled_from([True, False, None]),
    st.integers(1, 4),
    st.sampled_from(SIEVES),
    st.sampled_from(["API", "API-RAG", ""]),
    st.integers(1, 2),
)


def lines(made: list[Any]) -> list[Scored]:
    scored = [
        line(f"u{number}", passed, capability=capability, slices=slices, **keys)
        for number, (capability, passed, keys, slices) in enumerate(made)
    ]
    return [*scored, missing(), unscored(), extra()]


@settings(deadline=None)
@given(st.lists(LINES, max_size=12))
def test_behind_every_figure_stand_as_many_lines_as_it_counts(made: list[Any]) -> None:
    scored = lines(made)
    found = figures(tally(scored))
    known = [line_of(each) for each in scored]
    for capability, score in found.scores.capabilities.items():
        those = behind(known, Behind(kind="capability", name=capability))
        assert (len(those), sum(each.passed is True for each in those)) == (score.n, score.correct)
        assert sum(each.passed is None for each in those) == score.undecided
        for name, count in found.sieve[capability].items():
            assert len(behind(known, Behind(kind="sieve", name=capability, group=name))) == count
        for level, share in found.sieve_cumulative[capability].items():
            still = behind(known, Behind(kind="still", name=capability, group=level))
            assert len(still) / score.n == pytest.approx(share)
    for name, groups in found.slices.items():
        for group, figure in groups.items():
            those = behind(known, Behind(kind="slice", name=name, group=group))
            assert (len(those), sum(each.passed is True for each in those)) == (figure.n, figure.correct)
    for status in ("scored", "missing", "unscored", "extra"):
        assert len(behind(known, Behind(kind="status", name=status))) == found.counts[status]
    assert len(behind(known, Behind(kind="everything"))) == found.counts["scored"] + found.counts["missing"]
    assert len(passed_of(known)) == found.counts["scored"] + found.counts["missing"]


def report(path: Path, scored: list[Scored]) -> Path:
    stream = io.BytesIO()
    write(stream, head(INFO, tally(scored)), scored)
    path.write_bytes(stream.getvalue())
    return path


def test_a_report_gives_back_the_figures_that_were_written(tmp_path: Path) -> None:
    scored = [line("a", slices={"domain": "d", "hops": "2"}), line("b", False, capability=4, weight=2), missing()]
    read = read_report(report(tmp_path / "r.json", scored))
    assert msgspec.to_builtins(read.figures) == {
        **msgspec.to_builtins(figures(tally(scored))),
        "notes": ["the leaderboard score leaves out capability 2, 3: no instance of it was counted"],
    }
    assert read.name == "run"
    slices = {(1, "d", "a"): {"hops": "2"}}
    assert [(each.key[2], each.status, each.slices) for each in read.lines(slices)] == [
        ("a", "scored", {"hops": "2"}),
        ("b", "scored", None),
        ("m", "missing", None),
    ]


def test_what_repair_search_found_is_counted_and_led_back(tmp_path: Path) -> None:
    found = {"outcome": "replacement", "step": 2, "tool": "get_x", "earliest": {"kind": "call"}, "executions": 3}
    scored = [
        line("a", False, repair=found),
        line("b", False, repair={**found, "step": 4, "tool": None}),
        line("c", False, repair={"outcome": "prefix"}),
        line("d"),
    ]
    for figures_, known in (
        (figures(tally(scored)), [line_of(each) for each in scored]),
        ((read := read_report(report(tmp_path / "r.json", scored))).figures, read.lines({})),
    ):
        assert figures_.repair is not None
        assert figures_.repair.searched == 3
        assert figures_.repair.groups("steps") == {"2": 1, "answer": 1}
        for name in ("outcomes", "steps", "tools"):
            for group, n in figures_.repair.groups(name).items():
                assert len(behind(known, Behind(kind="repair", name=name, group=group))) == n
    assert figures(tally([line("d")])).repair is None


BROKEN = {
    "nothing": (b"", "not a report"),
    "other json": (b"[1, 2]", "not a report"),
    "foreign": (b'{"scores": {}}', "has no format"),
    "another version": (b'{"format": "vakra-tui/report@9"}', "'vakra-tui/report@9'"),
    "no scores": (b'{"format": "vakra-tui/report@1"}', "missing required field"),
    "binary": (b"\x00\xff\xfe", "not a report"),
    "deep": (b"[" * 100_000, "not a report"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_or_foreign_report_is_one_sentence(tmp_path: Path, name: str) -> None:
    path = tmp_path / "r.json"
    payload, said = BROKEN[name]
    path.write_bytes(payload)
    with pytest.raises(DataError) as failure:
        read_report(path)
    assert said in str(failure.value)
    assert str(path) in str(failure.value)
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("scores", "leaderboard", "score"), 7),
        (("scores", "capabilities", "1", "n"), -1),
        (("slices", "domain", "d", "correct"), 99),
        (("sieve", "1", "answer"), "x"),
        (("instances", 0, "passed"), "yes"),
    ],
)
def test_a_number_that_cannot_be_is_named(tmp_path: Path, place: tuple[Any, ...], value: Any) -> None:
    path = report(tmp_path / "r.json", [line("a")])
    form = msgspec.json.decode(path.read_bytes())
    inner = form
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    path.write_bytes(msgspec.json.encode(form))
    with pytest.raises(DataError, match=f"at `\\$.{place[0]}"):
        read_report(path)


def test_a_cut_report_is_one_sentence(tmp_path: Path) -> None:
    whole = report(tmp_path / "r.json", [line("a"), line("b")]).read_bytes()
    for size in range(0, len(whole) - 3, 97):
        (tmp_path / "cut.json").write_bytes(whole[:size])
        with pytest.raises(DataError, match="not a report"):
            read_report(tmp_path / "cut.json")


def test_the_published_leaderboard_score_is_the_mean_of_the_four() -> None:
    shares = {entry.model: round(entry.leaderboard, 4) for entry in PUBLISHED}
    assert shares["GPT-OSS-120B"] == 0.342
    assert shares["Gemini 3 Flash"] == 0.3805
