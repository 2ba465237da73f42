"""Files that are rewritten in place while the list shows them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from screen_reading import PATIENCE_S, squeezed, until, until_shown

from eval.model import Verdict
from sessions.store import Store
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS
from vakra_tui.app import VakraApp
from vakra_tui.options import Options
from vakra_tui.state.entry import Entry
from vakra_tui.state.world import World
from vakra_tui.wiring import Wiring

FOLDER = CAPABILITY_DIRS[2]


def record(uuid: str, domain: str, answer: str = "a") -> dict[str, Any]:
    turn = {"turn_id": 0, "query": f"question of {uuid}", "answer": answer, "sequence": {"tool_call": []}}
    return {"uuid": uuid, "domain": domain, "status": "success", "error": "", "duration_s": 1.0, "output": [turn]}


def text_of(uuids: Sequence[str], domain: str, answer: str = "a") -> str:
    return json.dumps([record(uuid, domain, answer) for uuid in uuids], indent=2)


class Files:
    """A dataset of two domains and a run on it."""

    def __init__(self, root: Path) -> None:
        self.data, self.run = root / "data", root / "runs" / "live"
        for domain in ("hockey", "cars"):
            for side in ("input", "output"):
                self.write(self.data / "test" / FOLDER / side / f"{domain}.json", text_of(self.uuids(domain), domain))
            self.write(self.predictions(domain), text_of(self.uuids(domain), domain))

    def predictions(self, domain: str) -> Path:
        return self.run / FOLDER / f"{domain}.json"

    def uuids(self, domain: str) -> list[str]:
        return [f"{domain}-{number}" for number in range(30)]

    def write(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def world(files: Files) -> World:
    world = World(Wiring(Options(data=str(files.data), runs=(str(files.run),), db="sqlite://")))
    world.open()
    world.read_entries(world.listing.entries)
    for entry in world.listing.entries:
        entry.verdicts["live"] = passed(entry)
    return world


def passed(entry: Entry) -> Verdict:
    return Verdict(
        uuid=entry.uuid,
        capability=2,
        domain=entry.domain,
        status="scored",
        passed=True,
        failed_stage=None,
        sieve="none",
    )


def scored(world: World, domain: str) -> int:
    return sum("live" in entry.verdicts for entry in world.listing.entries if entry.domain == domain)


async def followed(world: World) -> bool:
    """Look until something is taken up; files that go on changing are not read at every look."""
    deadline = asyncio.get_running_loop().time() + PATIENCE_S
    while not await world.follow():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True


async def test_a_file_is_taken_up_when_it_is_whole(files: Files, world: World) -> None:
    path = files.predictions("hockey")
    whole = text_of([*files.uuids("hockey"), "extra"], "hockey", "another answer")
    before = list(world.listing.entries)
    assert not await world.follow()
    files.write(path, whole[: len(whole) // 2])
    assert not await world.follow(), "there is nothing to take up"
    assert world.listing.busy == ("hockey.json",)
    assert world.listing.entries == before
    assert world.problems == (), "what is being written is not wrong"
    assert (scored(world, "hockey"), scored(world, "cars")) == (30, 30), "what was known stays"
    with pytest.raises(DataError, match="is being written"):
        world.session(before[30])._load()
    assert not await world.follow(), "nothing has changed since"
    files.write(path, whole)
    assert await followed(world)
    assert world.listing.busy == ()
    assert [entry.uuid for entry in world.listing.entries] == [*(entry.uuid for entry in before), "extra"]
    assert all(old is new for old, new in zip(before, world.listing.entries, strict=False))
    assert (scored(world, "hockey"), scored(world, "cars")) == (0, 30), "verdicts of the former content are gone"
    subject = world.session(before[30])._load()
    assert subject.prediction is not None
    assert subject.prediction.answer == "another answer"
    assert path.read_text(encoding="utf-8") == whole
    assert sorted(p.name for p in path.parent.iterdir()) == ["cars.json", "hockey.json"]
    await world.close()


async def test_rows_that_were_not_read_wait_for_their_file(files: Files, world: World) -> None:
    path = files.data / "test" / FOLDER / "output" / "cars.json"
    entry = next(entry for entry in world.listing.entries if entry.domain == "cars")
    entry.forget()
    whole = text_of(files.uuids("cars"), "cars").replace("question of", "Which is")
    files.write(path, whole[:-40])
    world.read_entries([entry])
    assert not entry.read, "neither read nor said to be unreadable"
    for _ in range(4):
        await world.follow()
    assert world.listing.busy == ("cars.json",)
    del entry.verdicts["live"]
    await world.evaluate(entry)
    assert not entry.verdicts, "nothing is scored from half a file"
    files.write(path, whole)
    assert await followed(world)
    world.read_entries(world.listing.entries)
    assert entry.query == "Which is cars-0"
    assert scored(world, "cars") == 0
    assert scored(world, "hockey") == 30
    await world.close()


async def test_a_person_can_have_a_file_read_as_it_is(files: Files, world: World) -> None:
    whole = files.predictions("hockey").read_text(encoding="utf-8")
    files.write(files.predictions("hockey"), whole[: len(whole) // 2])
    assert await world.follow(as_it_is=True)
    assert world.listing.busy == ()
    known = [entry for entry in world.listing.entries if entry.domain == "hockey" and "live" in entry.predictions]
    assert 0 < len(known) < 30
    assert any("hockey.json is cut off" in problem for problem in world.problems)
    assert not await world.follow(as_it_is=True)
    await world.close()


async def test_new_files_and_vanished_ones(files: Files, world: World) -> None:
    files.write(files.predictions("boats"), text_of(["b-1"], "boats"))
    files.predictions("cars").unlink()
    assert await followed(world)
    uuids = {entry.uuid for entry in world.listing.entries}
    assert "b-1" in uuids
    assert scored(world, "cars") == 30, "a file that is gone may come back"
    assert (world.listing.busy, world.listing.gone) == ((), ("cars.json",))
    await world.close()


async def test_a_file_that_was_taken_away_is_told_as_that(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vakra_tui.screens.instances.FOLLOW_EVERY_S", 0.05)
    wiring = Wiring(Options(data=str(files.data), runs=(str(files.run),), db="sqlite://"))
    app = VakraApp(wiring)
    async with app.run_test(size=(100, 24), notifications=True) as pilot:
        await until(pilot, lambda: app.opened and all(e.known for e in app.instances.listing.entries), "all rows")
        path = files.predictions("cars")
        text = path.read_text(encoding="utf-8")
        path.unlink()
        await until_shown(pilot, "taken away: cars.json; its rows stay as they were read (u lets them go)")
        assert "being written" not in squeezed(app)
        await pilot.press("slash", *"cars-1", "enter", "enter")
        await until_shown(pilot, "A file of this row was taken away")
        await pilot.press("escape", "escape")
        await until_shown(pilot, "taken away: cars.json")
        files.write(path, text)
        await until(pilot, lambda: "taken away" not in squeezed(app), "the note to go")
        path.unlink()
        await until_shown(pilot, "taken away: cars.json")
        await pilot.press("u")
        await until(pilot, lambda: "taken away" not in squeezed(app), "the rows to be let go")
        assert not any("live" in entry.predictions for entry in app.instances.listing.entries if entry.domain == "cars")


async def test_a_dataset_that_was_taken_away_is_told_as_that(files: Files, world: World) -> None:
    import shutil

    shutil.rmtree(files.data)
    assert not await world.follow()
    assert world.listing.busy == () and "cars.json" in world.listing.gone
    with pytest.raises(DataError, match="was taken away"):
        world.session(world.listing.entries[0])._load()
    await world.close()


async def test_a_damaged_reading_finds_only_verdicts_of_the_same_content(files: Files, tmp_path: Path) -> None:
    """What a batch stored is not shown for content that it was not about."""
    address = f"sqlite:///{tmp_path / 's.sqlite'}"

    def world_on() -> World:
        return World(Wiring(Options(data=str(files.data), runs=(str(files.run),), db=address)))

    from eval.resume import keys_of, scope_of
    from eval.scored import Scored, encode

    world = world_on()
    world.open()
    wiring: Any = world.wiring
    (unit, *_) = wiring.profile.units(wiring.items(wiring.runs[0]))
    (key,) = keys_of(unit)
    scope = scope_of(wiring.report_info(0), wiring.decisive())
    store = Store.open(address)
    store.put_results(scope, [(key, encode(Scored(verdict=passed(world.listing.entries[0]))))])
    store.close()
    await world.read_verdicts()
    first = world.listing.entries[0]
    assert first.kept == {"live"}
    files.write(files.predictions(first.domain), text_of(files.uuids(first.domain), first.domain, "changed"))
    assert await followed(world)
    assert not first.verdicts
    assert not first.kept
    await world.close()


async def test_cursor_and_position_stay_while_files_are_taken_up(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vakra_tui.screens.instances.FOLLOW_EVERY_S", 0.05)
    app = VakraApp(Wiring(Options(data=str(files.data), runs=(str(files.run),), db="sqlite://")))
    async with app.run_test(size=(100, 20), notifications=True) as pilot:
        await until(pilot, lambda: app.opened and all(e.known for e in app.instances.listing.entries), "all rows")
        await pilot.press("end", "up", "up")
        row, top = app.instances.entry, app.instances.rows.scroll_offset
        assert top.y > 0
        whole = text_of([*files.uuids("cars"), "more"], "cars", "new")
        files.write(files.predictions("cars"), whole[: len(whole) // 2])
        await until_shown(pilot, "being written: cars.json; its rows stay as they were")
        files.write(files.predictions("cars"), whole)
        await until_shown(pilot, "60 instances and 1 extra")
        await until(pilot, lambda: "being written" not in squeezed(app), "the note to go")
        assert app.instances.entry is row
        assert app.instances.rows.scroll_offset == top
        await pilot.press("u")
        await until_shown(pilot, "No file has changed since it was read")
