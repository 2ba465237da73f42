"""Lets the tests of this folder import its helper modules, and gives empty stores."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.store import Store

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty store of each kind of database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'sessions.sqlite'}"
        return
    server = os.environ.get("VAKRA_TUI_TEST_POSTGRES")
    if not server:
        pytest.skip("VAKRA_TUI_TEST_POSTGRES is not set; run under scripts/with_postgres.sh")
    import psycopg

    schema = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        yield f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{schema}"
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    store = Store.open(store_url)
    yield store
    store.close()
