"""A shop database that most tests of native sessions use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.native_world import World, make_database, universe

SCRIPT = """
    CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
    INSERT INTO shop VALUES (1, 'Ada', 'Bern'), (2, 'Bo', NULL), (3, 'Cy', 'Bern'), (4, 'Di', 'Rome');
    CREATE TABLE sale (sid INTEGER PRIMARY KEY, shop_id INTEGER, price REAL, day TEXT);
    INSERT INTO sale VALUES (10, 1, 2.5, '2020-01-31'), (11, 1, NULL, '2021-02-03'), (12, 3, 4.0, 'soon'),
        (13, 4, -1.5, '2020-12-24'), (14, 1, NULL, NULL);
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Universes: ``slot`` and ``sel`` join shops and sales, ``shops`` (slot) and ``sales`` (sel) are single tables."""
    join = ({"S": "shop", "V": "sale"}, [("S.id", "V.shop_id")])
    return World(
        make_database(tmp_path / "shop.sqlite", SCRIPT),
        universe("slot", *join),
        universe("sel", *join, style="sel"),
        universe("shops", {"": "shop"}),
        universe("sales", {"T": "sale"}, style="sel"),
        universe("broken", {"": "nowhere"}, style="sel"),
    )
