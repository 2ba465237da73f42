"""Selectors on the command line: each must match something, and predictions of no instance can be named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small_world import World, prediction, uuid_of

from toolenv.errors import DataError
from vakra_tui.options import Options
from vakra_tui.state.world import World as ScreenWorld
from vakra_tui.wiring import Wiring


def wiring(world: World, **changes: Any) -> Wiring:
    options = Options(data=str(world.data), runs=(str(world.run),), db="sqlite://")
    return Wiring(msgspec.structs.replace(options, **changes))


@pytest.fixture
def extra(world: World) -> str:
    """The uuid of a prediction for no instance."""
    path = world.predictions("shop")
    records = json.loads(path.read_text(encoding="utf-8"))
    records.append({**prediction("shop", 1, "1"), "uuid": "extra-0001"})
    path.write_text(json.dumps(records), encoding="utf-8")
    return "extra-0001"


def test_each_selector_must_match_something(world: World) -> None:
    assert len(wiring(world, domains=("shop",)).refs()) == 10
    for changes, words in (
        ({"domains": ("shop", "nowhere")}, "--domain nowhere$"),
        ({"domains": ("nowhere", "shop", "elsewhere")}, "--domain nowhere or --domain elsewhere$"),
        ({"instances": (uuid_of("shop", 1), "zzz")}, "--instance zzz$"),
        ({"capabilities": (1, 4)}, "--capability 4$"),
        ({"domains": ("farm",), "instances": (uuid_of("shop", 1),)}, f"--domain farm --instance {uuid_of('shop', 1)}$"),
    ):
        with pytest.raises(DataError, match=words):
            wiring(world, **changes).refs()


def test_an_extra_that_the_list_opens_is_opened_by_its_name(world: World, extra: str) -> None:
    screen = ScreenWorld(wiring(world, instances=("extra",)))
    listing = screen.open()
    assert [(entry.uuid, entry.extra) for entry in listing.entries] == [(extra, True)]
    first = screen.first()
    assert first is not None
    assert first.uuid == extra


def test_a_batch_lists_an_extra_that_is_named(world: World, extra: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = world.batch("--instance", extra, "--out", report)
    assert done.returncode == 0, done.stderr
    lines = json.loads(report.read_text(encoding="utf-8"))["instances"]
    assert [(line["uuid"], line["status"]) for line in lines] == [(extra, "extra")]
    refused = world.batch("--domain", "shop", "--domain", "typo")
    assert refused.returncode == 2
    assert "matches --domain typo" in refused.stderr
