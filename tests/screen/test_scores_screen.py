"""The scores by their keys: figures of what was evaluated on screen, from each bar to the instances, reports opened."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import screen_toy as toy
from screen_opening import SMALL, WIDE, opened
from screen_reading import rows, shown, squeezed, until, until_settled, until_shown
from textual.pilot import Pilot

from eval.report import EnvironmentInfo, JudgeInfo, ReportInfo, head, write
from eval.scored import Scored
from eval.scores import tally
from sessions.store import Store
from toolenv.model import ToolCall
from vakra_tui.app import VakraApp
from vakra_tui.screens.instances import InstancesScreen
from vakra_tui.screens.scores import ScoresScreen
from vakra_tui.state.lines import plain


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(f"sqlite:///{tmp_path / 'sessions.sqlite'}")


RIGHT = (
    ToolCall(name="query_beer_factory", arguments={"question": "Who brews Dixie?"}),
    ToolCall(name="get_locations", arguments={"name": "Dixie Brewing"}),
)


def wiring(store: Store, *, runs: int = 2, instance: str | None = None) -> toy.ToyWiring:
    """Three instances without a policy; the first run answers one wrongly and lacks one, the second has two right."""
    instances = [toy.instance(f"u-{number}", policy="") for number in (1, 2, 3)]
    right = {"calls": (ToolCall(name="get_top_brand", arguments={}), *RIGHT), "answer": "Denver"}
    first = toy.ToyRun("first", [toy.prediction("u-1"), toy.prediction("u-2", **right)])
    second = toy.ToyRun("second", [toy.prediction(f"u-{number}", **right) for number in (1, 2, 3)])
    return toy.wiring(store=store, instances=instances, runs=[first, second][:runs], instance=instance)


async def until_scored(pilot: Pilot[int], runs: int = 2) -> None:
    app: VakraApp = pilot.app  # type: ignore[assignment]
    listing = app.instances.listing
    await until(pilot, lambda: all(len(entry.verdicts) == runs for entry in listing.entries), "verdicts")


def scores(app: VakraApp) -> ScoresScreen:
    assert isinstance(app.screen, ScoresScreen)
    return app.screen


async def to_row(pilot: Pilot[int], words: str) -> None:
    """Put the cursor on the first row that says so, by keys."""
    screen = scores(pilot.app)  # type: ignore[arg-type]
    await until(pilot, lambda: words in [row.words for row in screen.rows.rows], words)
    place = next(n for n, row in enumerate(screen.rows.rows) if row.words == words)
    await pilot.press("home", *["down"] * place)


async def test_a_bar_leads_to_its_instances_by_mouse(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot)
        await pilot.press("S")
        await until_shown(pilot, "Failure sieve")
        screen = scores(app)
        view = screen.query_one("#scores")
        place = next(
            n for n, row in enumerate(screen.rows.rows) if row.words == "second, capability 4, still right after answer"
        )
        view.scroll_to(y=max(place - 5, 0), animate=False, force=True)
        await pilot.pause()
        spot = (30, place - int(view.scroll_offset.y))
        await pilot.click("#scores", offset=spot)
        await until_shown(pilot, "second, capability 4, still right after answer Enter lists 3 instances")
        await pilot.click("#scores", offset=spot)
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert {entry.uuid for entry in app.instances.listing.shown} == {"u-1", "u-2", "u-3"}


async def test_what_is_not_scored_yet_leads_to_its_instances(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("v")
        await until(pilot, lambda: bool(app.instances.listing.entries[0].verdicts), "a verdict")
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await to_row(pilot, "first: not scored yet")
        await until_shown(pilot, "Enter lists 2 instances")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert {entry.uuid for entry in app.instances.listing.shown} == {"u-2", "u-3"}


async def test_scores_lead_from_a_bar_to_the_instances_behind_it(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot)
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        text = squeezed(app)
        assert "first 3 counted" in text
        assert "33.3%" in text and "100.0%" in text
        assert "2/6 w" in text and "6/6 w" in text
        assert "w: an instance with API and RAG counts twice; each once: first 1/3, second 3/3" in text
        await to_row(pilot, "first, capability 4")
        await until_shown(pilot, "Enter lists 3 instances, f the 2 of them that are not right")
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert {entry.uuid for entry in app.instances.listing.shown} == {"u-1", "u-3"}
        assert "first, capability 4, not right" in squeezed(app)
        await pilot.press("S")
        await until_shown(pilot, "Enter lists 3 instances, f the 2 of them")
        await to_row(pilot, "first, capability 4, right")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert [entry.uuid for entry in app.instances.listing.shown] == ["u-2"]
        await pilot.press("escape")
        await until(pilot, lambda: len(app.instances.listing.shown) == 3, "all rows again")


async def test_every_bar_lists_as_many_instances_as_it_counts(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot)
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        for row in [row for row in scores(app).rows.rows if row.figure is not None and row.figure.kind == "slice"]:
            counted = int(plain(row.content).rstrip().rpartition("/")[2])
            await to_row(pilot, row.words)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
            assert len(app.instances.listing.shown) == counted, row.words
            await pilot.press("S")
            await until(pilot, lambda: isinstance(app.screen, ScoresScreen), "the scores")


async def test_two_runs_meet_and_their_differences_are_listed(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot)
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await to_row(pilot, "only second right")
        await until_shown(pilot, "second against first")
        assert "McNemar: p = 0.5" in squeezed(app)
        assert "difference +66.7 points" in squeezed(app)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert {entry.uuid for entry in app.instances.listing.shown} == {"u-1", "u-3"}


async def test_what_is_not_scored_is_said_and_scored_from_here(store: Store) -> None:
    async with opened(wiring(store, runs=1), SMALL) as (app, pilot):
        await pilot.press("S")
        await until_shown(pilot, "Nothing is scored yet: v evaluates, o opens a report.")
        await until_shown(pilot, "first 0 counted, 3 not scored yet")
        await pilot.press("v")
        await until_shown(pilot, "first 3 counted")
        assert "33.3%" in squeezed(app)
        assert all(len(row) <= 80 for row in rows(app))
        await pilot.press("v")
        await until_shown(pilot, "All that can be scored is scored.")


async def test_figures_of_the_rows_that_the_list_shows(store: Store) -> None:
    async with opened(wiring(store)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot)
        await pilot.press("slash", *"u-2", "enter")
        await until(pilot, lambda: len(app.instances.listing.shown) == 1, "one row")
        await pilot.press("S")
        await until_shown(pilot, "first 3 counted")
        await pilot.press("l")
        await until_shown(pilot, "first 1 counted second 1 counted of the 1 row shown in the list")
        assert "1/1" in squeezed(app)
        await pilot.press("l")
        await until_shown(pilot, "first 3 counted")


async def test_groups_are_gone_through_and_bars_drawn_with_plain_signs(store: Store) -> None:
    async with opened(wiring(store, runs=1)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot, 1)
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await pilot.press("full_stop", "full_stop")
        assert scores(app).row is not None
        assert plain(scores(app).row.content).startswith("Failure sieve")  # type: ignore[union-attr]
        await pilot.press("comma")
        assert plain(scores(app).row.content).startswith("Published results")  # type: ignore[union-attr]
        before = app.screen.query_one("#scores").scroll_offset
        assert "##" not in shown(app)
        await pilot.press("number_sign")
        assert app.screen.query_one("#scores").scroll_offset == before
        await pilot.press("home")
        await until_shown(pilot, "##==")
        await pilot.press("escape")
        assert isinstance(app.screen, InstancesScreen)


async def test_the_debugger_leads_to_the_scores_and_they_to_the_list(store: Store) -> None:
    async with opened(wiring(store, runs=1), WIDE) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot, 1)
        await pilot.press("enter")
        await until_settled(pilot)
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await to_row(pilot, "capability 4")
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert len(app.screen_stack) == 2
        assert {entry.uuid for entry in app.instances.listing.shown} == {"u-1", "u-3"}


def report(path: Path, lines: list[Scored], name: str = "other [/] run") -> Path:
    info = ReportInfo(
        profile="paper",
        judge=JudgeInfo(kind="openai", model="m"),
        dataset_path="/d",
        dataset_fingerprint="sha256:other",
        environments=(EnvironmentInfo(kind="native"),),
        run_name=name,
        run_fingerprint=None,
    )
    stream = io.BytesIO()
    write(stream, head(info, tally(lines)), lines)
    path.write_bytes(stream.getvalue())
    return path


async def open_report(pilot: Pilot[int], path: Path | str) -> None:
    await pilot.press("o")
    await until_shown(pilot, "Report to open")
    pilot.app.screen.query_one("#answer").value = str(path)  # type: ignore[attr-defined]
    await pilot.press("enter")


async def test_a_report_is_opened_beside_the_runs_and_closed_again(store: Store, tmp_path: Path) -> None:
    async with opened(wiring(store, runs=1)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot, 1)
        verdicts = [entry.verdicts["first"] for entry in app.instances.listing.entries]
        lines = [
            Scored(verdict=verdict, weight=2, slices={"domain": "beer_factory", "hop_pattern": "API [red]x"})
            for verdict in verdicts
        ]
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await open_report(pilot, report(tmp_path / "r.json", lines))
        await until_shown(pilot, "report other [/] run 3 counted")
        await to_row(pilot, "other [/] run, capability 4")
        await until_shown(pilot, "Enter lists 3 instances")
        await to_row(pilot, "only first right")
        await until_shown(pilot, "the reports are about different datasets")
        assert "the judges differ: offline and openai m" in squeezed(app)
        await to_row(pilot, "other [/] run, hop pattern API [red]x")
        await until_shown(pilot, "the report counts 3 more, whose group is not known here")
        await pilot.press("enter")
        await until_shown(pilot, "No instance is counted here.")
        await pilot.press("d")
        await until(pilot, lambda: len(scores(app).sources) == 1, "the report to be closed")
        await pilot.press("d")
        await until_shown(pilot, "The cursor is not on a figure of a report.")


async def test_instances_that_are_not_here_are_said_to_be_absent(store: Store, tmp_path: Path) -> None:
    async with opened(wiring(store, runs=1)) as (app, pilot):
        await pilot.press("V")
        await until_scored(pilot, 1)
        here = app.instances.listing.entries[0].verdicts["first"]
        import msgspec

        away = msgspec.structs.replace(here, uuid="u-99")
        await pilot.press("S")
        await until_shown(pilot, "leaderboard (mean)")
        await open_report(pilot, report(tmp_path / "r.json", [Scored(verdict=here), Scored(verdict=away)], "theirs"))
        await until_shown(pilot, "report theirs 2 counted")
        await to_row(pilot, "theirs, capability 4")
        await until_shown(pilot, "1 of them are not in the dataset that is open")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, InstancesScreen), "the list")
        assert [entry.uuid for entry in app.instances.listing.shown] == ["u-1"]
        assert "1 more are in no row here" in squeezed(app)


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("damaged.json", b'{"format": "vakra-tui/report@1", "scores"', "is not a report of this program"),
        ("foreign.json", b'{"score": 1}', "has no format"),
        ("[/red] absent.json", None, "No such file or directory"),
    ],
)
async def test_a_damaged_or_foreign_report_is_one_clear_sentence(
    store: Store, tmp_path: Path, name: str, payload: bytes | None, said: str
) -> None:
    path = tmp_path / name.replace("/", "_")
    if payload is not None:
        path.write_bytes(payload)
    async with opened(wiring(store, runs=1)) as (app, pilot):
        await pilot.press("S")
        await until_shown(pilot, "Nothing is scored yet")
        await open_report(pilot, path)
        await until_shown(pilot, "That report cannot be opened")
        assert said in squeezed(app)
        await pilot.press("escape")
        await until_shown(pilot, "Nothing is scored yet")
