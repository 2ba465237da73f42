"""A small database with awkward cells, and endpoints over it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.dashboards.zoo_endpoints import ToolsFactory
from toolenv.dashboards.database import ReadOnlyDatabase
from toolenv.dashboards.definition import FORMAT, Endpoint, EndpointFile
from toolenv.dashboards.tools import DashboardTools


@pytest.fixture
def database_file(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        """
        CREATE TABLE animal (id INTEGER PRIMARY KEY, name TEXT, legs INTEGER, weight REAL, photo BLOB);
        INSERT INTO animal VALUES (1, 'Löwe', 4, 190.5, x'00ff');
        INSERT INTO animal VALUES (2, 'snake', 0, 9e999, x'');
        INSERT INTO animal VALUES (3, NULL, NULL, -9e999, NULL);
        INSERT INTO animal VALUES (4, CAST(x'c56c616e64' AS TEXT), 9223372036854775807, 0.1, 'text');
        CREATE TABLE keeper (id INTEGER PRIMARY KEY, name TEXT, animal_id INTEGER);
        INSERT INTO keeper VALUES (7, 'Ada', 1);
        """
    )
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def tools_of(database_file: Path) -> ToolsFactory:
    def make(*endpoints: Endpoint, offload: bool = False, **limits: float) -> DashboardTools:
        database = ReadOnlyDatabase(database_file, **limits)  # type: ignore[arg-type]
        return DashboardTools(EndpointFile(format=FORMAT, domain="zoo", endpoints=endpoints), database, offload=offload)

    return make
