"""The figures of the scores screen: those of the batch, drawn with their intervals, and the instances behind each."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from eval.figures import Agreed, Behind, RepairGroup, Repairs, read_report
from toolenv.errors import DataError
from vakra_tui.options import Options
from vakra_tui.state.lines import plain
from vakra_tui.state.plots import BLOCKS, PLAIN, bar, signs_for
from vakra_tui.state.score_behind import behind_line
from vakra_tui.state.score_rows import ScoreRows
from vakra_tui.state.score_texts import Row, decider_rows
from vakra_tui.state.scores import (
    Source,
    counted_by,
    groups_of,
    keys_behind,
    meetings,
    read_groups,
    report_source,
    run_source,
)
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring


@dataclass(frozen=True)
class Sample:
    """The sample's flawed and oracle runs scored as the screen scores them, and the batch's reports of both."""

    world: World
    flawed: Source
    oracle: Source
    reports: dict[str, Path]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    folder = tmp_path_factory.mktemp("scores")
    runs = ("flawed", "oracle")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        named = [part for run in runs for part in ("--run", run)]
        command = [sys.executable, "-m", "vakra_tui", "--batch", *named, "--db", "sqlite://", "--quiet"]
        done = subprocess.run(
            [*command, "--out", str(folder / "r.json")],
            env=dict(os.environ),
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        world = World(Wiring(Options(runs=runs, db="sqlite://")))
        listing = world.open()

        async def evaluated() -> None:
            for entry in listing.entries:
                await world.evaluate(entry)

        asyncio.run(evaluated())
        read_groups(world, listing.entries)
        reports = {run: folder / f"r-{run}.json" for run in runs}
        yield Sample(world, run_source(world, "flawed"), run_source(world, "oracle"), reports)


def test_the_figures_on_screen_are_those_of_the_batch_report(sample: Sample) -> None:
    for source in (sample.flawed, sample.oracle):
        written = read_report(sample.reports[source.name])
        shown = msgspec.to_builtins(source.figures)
        assert {**shown, "notes": written.notes} == msgspec.to_builtins(written.figures)
        assert source.waiting == 0
        assert source.origin.profile == written.origin.profile
        assert source.origin.judge == written.origin.judge
        assert source.origin.dataset == written.origin.dataset


def test_behind_every_bar_stand_the_instances_that_it_counts(sample: Sample) -> None:
    rows = ScoreRows([sample.flawed])
    rows.layout(120)
    counted = [row for row in rows.rows if row.figure is not None and "/" in plain(row.content)]
    assert len(counted) > 60
    for row in counted:
        told = plain(row.content).rstrip().rpartition(" ")[2]
        if "/" not in told:
            continue
        correct, n = (int(part) for part in told.split("/"))
        keys = keys_behind(sample.flawed, row.figure) if row.figure else frozenset()
        assert row.figure is not None and counted_by(sample.flawed, row.figure) == len(keys)
        if row.figure.kind in ("capability", "slice"):
            failed = keys_behind(sample.flawed, row.figure, failed=True)
            assert (len(keys), len(failed)) == (n, n - correct), plain(row.content)
        else:
            assert len(keys) == correct, plain(row.content)


@pytest.mark.parametrize("width", [79, 119, 159])
def test_every_bar_has_its_interval_and_its_count(sample: Sample, width: int) -> None:
    rows = ScoreRows([sample.flawed, sample.oracle])
    rows.layout(width)
    bars = [plain(row.content) for row in rows.rows if row.figure is not None and row.figure.kind != "status"]
    assert len(bars) > 120
    for told in bars:
        assert re.search(r"\d\.\d% +\d+-\d+%", told), told
        assert "%" in told.rstrip()[-4:] or re.search(r" \d+/\d+( w)?$", told.rstrip()), told


def test_at_eighty_columns_no_figure_is_cut(sample: Sample) -> None:
    for sources in ([sample.flawed], [sample.flawed, sample.oracle]):
        rows = ScoreRows(sources, meetings(sources))
        rows.layout(77)
        for row in rows.rows:
            assert cell_len(plain(row.content).rstrip()) <= 77, plain(row.content)
        assert any(plain(row.content).rstrip().endswith("mean") for row in rows.rows)


def test_an_opened_report_has_the_figures_and_the_instances_of_the_run(sample: Sample) -> None:
    groups = groups_of(sample.world)
    opened = report_source(str(sample.reports["flawed"]), groups, taken=("flawed",))
    assert opened.name == "flawed (2)"
    assert opened.elsewhere == 0
    assert opened.figures.scores == sample.flawed.figures.scores
    for figure in (
        Behind(kind="slice", name="hop_pattern", group="API-RAG"),
        Behind(kind="sieve", name="1", group="argument_values"),
        Behind(kind="still", name="4", group="tool"),
        Behind(kind="status", name="unscored"),
    ):
        assert keys_behind(opened, figure) == keys_behind(sample.flawed, figure) != frozenset()
    foreign = report_source(str(sample.reports["flawed"]), {})
    assert foreign.elsewhere == foreign.counted == 91


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_report_with_holes_is_refused_or_shown(sample: Sample, tmp_path_factory: Any, data: st.DataObject) -> None:
    """Keys taken away and counts set to nothing: never an error of this program."""
    form = msgspec.json.decode(sample.reports["flawed"].read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        inner: Any = form
        for _ in range(data.draw(st.integers(0, 3))):
            below = [key for key, value in inner.items() if isinstance(value, dict) and value]
            if below:
                inner = inner[data.draw(st.sampled_from(sorted(below)))]
        key = data.draw(st.sampled_from(sorted(inner)))
        change: Any = data.draw(st.sampled_from(["drop", 0, None, {}]))
        if change == "drop":
            del inner[key]
        else:
            inner[key] = change
        if not inner:
            break
    path = tmp_path_factory.mktemp("holes") / "r.json"
    path.write_bytes(msgspec.json.encode(form))
    try:
        source = report_source(str(path), groups_of(sample.world))
    except DataError as error:
        assert "\n" not in str(error)
        return
    rows = ScoreRows([source, sample.oracle], meetings([source, sample.oracle]))
    rows.layout(100)
    for row in rows.rows:
        behind_line(row, [source, sample.oracle], set(groups_of(sample.world)))


def test_a_lone_hyphen_is_a_file_name_and_never_the_terminal(sample: Sample) -> None:
    with pytest.raises(DataError, match=r"cannot read the report .*/-: No such file"):
        report_source("-", {})


def test_two_runs_meet_in_mcnemars_test(sample: Sample) -> None:
    (met,) = meetings([sample.flawed, sample.oracle])
    assert not met.doubts
    assert met.result.pairs.first == 0
    assert met.result.pairs.second == len(met.result.gained) == 48
    rows = ScoreRows([sample.flawed, sample.oracle], [met])
    rows.layout(120)
    text = told(rows.rows)
    assert "oracle against flawed" in text
    assert "McNemar: p = 7.105e-15" in text
    gained = next(row for row in rows.rows if row.words == "only oracle right")
    assert gained.keys == frozenset(met.result.gained)


def told(rows: list[Row]) -> str:
    return "\n".join(plain(row.content) for row in rows)


def test_published_results_stand_beside_with_the_difference(sample: Sample) -> None:
    rows = ScoreRows([sample.flawed])
    rows.layout(120)
    text = told(rows.rows)
    assert "Published results" in text
    assert "GPT-OSS-120B" in text and "40.2  -7.9" in text and "16.7 +50.0" in text
    assert "counted here: flawed 91; the test split has 5,187" in text


def test_what_is_not_scored_is_said(sample: Sample) -> None:
    rows = ScoreRows([sample.flawed])
    rows.layout(120)
    text = told(rows.rows)
    assert "2 no prediction: counted as wrong" in text
    assert "2 could not be scored: not counted" in text
    half = World(sample.world.wiring)
    half.open()
    unscored = run_source(half, "flawed")
    assert (unscored.waiting, unscored.counted) == (93, 0)
    empty = ScoreRows([unscored])
    empty.layout(120)
    assert "Nothing is scored yet: v evaluates" in told(empty.rows)


@pytest.mark.parametrize("width", [38, 76, 100, 118, 158])
def test_rows_fit_their_width(sample: Sample, width: int) -> None:
    sources = [sample.flawed, sample.oracle]
    for shown in (sources[:1], sources):
        rows = ScoreRows(shown, meetings(shown), PLAIN)
        rows.layout(width)
        long = [plain(row.content) for row in rows.rows if row.figure and cell_len(plain(row.content)) > width]
        assert width < 76 or not long


def test_headings_are_gone_through(sample: Sample) -> None:
    rows = ScoreRows([sample.flawed])
    rows.layout(100)
    place, found = 0, []
    while (following := rows.heading_after(place, 1)) != place:
        place = following
        found.append(plain(rows.line(place)).partition("   ")[0])
    assert found[:5] == ["Published results", "Failure sieve", "Cumulative sieve", "Hop depth", "Hop pattern"]
    assert rows.heading_after(place, -1) < place
    assert rows.heading_after(0, -1) == 0


@pytest.mark.parametrize(
    ("share", "ends", "drawn"),
    [
        (0.5, (0.3, 0.7), "###==--   "),
        (0.0, (0.0, 0.4), "----      "),
        (1.0, (0.8, 1.0), "########=="),
        (1.0, None, "##########"),
        (0.01, None, "|         "),
        (None, None, "          "),
    ],
)
def test_a_bar_shows_share_and_interval(share: float | None, ends: tuple[float, float] | None, drawn: str) -> None:
    assert plain(bar(share, ends, 10, PLAIN)) == drawn
    assert cell_len(plain(bar(share, ends, 10, BLOCKS))) == 10


def test_plain_signs_where_the_terminal_knows_no_others() -> None:
    assert signs_for({"TERM": "xterm"}, "UTF-8") is BLOCKS
    assert signs_for({"TERM": "xterm"}, "ISO-8859-1") is PLAIN
    assert signs_for({"TERM": "dumb"}, "utf8") is PLAIN


def test_a_persons_agreement_with_the_judge_is_told(sample: Sample) -> None:
    agreed = {"consistent": Agreed(n=4, agreement=0.75, kappa=0.5), "grounded": Agreed(n=0)}
    figures = msgspec.structs.replace(sample.flawed.figures, agreement=agreed)
    rows = list(decider_rows(100, [replace(sample.flawed, figures=figures)]))
    text = told(rows)
    assert "tool sequence: program 62, offline 21" in text
    assert "consistent: a person and the judge agree on 75.0% of 4 rulings, kappa 0.50" in text
    assert "grounded: a person" not in text


def test_a_figure_that_only_a_later_source_has_is_named_all_the_same(sample: Sample) -> None:
    found = Repairs(searched=4, outcomes={"replacement": 3, "prefix": 1}, steps={"2": RepairGroup(n=3)})
    repaired = replace(sample.oracle, figures=msgspec.structs.replace(sample.oracle.figures, repair=found))
    rows = ScoreRows([sample.flawed, repaired])
    rows.layout(100)
    lines = [plain(row.content) for row in rows.rows]
    assert any(line.startswith("one step saves it") and line.rstrip().endswith("3/4") for line in lines)
    assert any(line.startswith("step 2 ") and "75.0%" in line for line in lines)
    assert sum(line.startswith("capability 1") for line in lines) == 1
