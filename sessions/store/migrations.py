"""From every released format to the current one, and the format that a database has.

A migration is a function over a connection inside one writing transaction; the version is written in the same
transaction, so that a store is in one format or the other and never between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sqlalchemy import Connection, insert, inspect, select, text

from sessions.branches import Branch
from sessions.store import schema
from sessions.store.errors import StoreUnusable
from sessions.store.files import back_up, later_format
from sessions.store.records import NewSession
from sessions.store.writing import append_steps, create_session, put_branch
from sessions.trajectory import Message, Step
from toolenv.model import Instance, Turn

ADVISORY_LOCK = 0x56414B5201
"""PostgreSQL: held while tables are made, so that two first openings do not race."""


def stored_format(connection: Connection) -> int | None:
    """The format of an open database; None where it is empty. Raises ``StoreUnusable`` for one that is not ours."""
    tables = set(inspect(connection).get_table_names())
    if connection.dialect.name == "sqlite":
        version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        return version if tables or version else None
    if schema.INFO.name in tables:
        value = connection.execute(select(schema.INFO.c.value).where(schema.INFO.c.name == "format")).scalar()
        return int(value) if value is not None else None
    ours = tables & set(schema.METADATA.tables)
    if ours:
        raise StoreUnusable(
            f"The database has tables of another program ({', '.join(sorted(ours))}); name another with --db."
        )
    return None


def write_format(connection: Connection, version: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {int(version)}")
    connection.execute(schema.INFO.delete().where(schema.INFO.c.name == "format"))
    connection.execute(insert(schema.INFO).values(name="format", value=str(version)))


def bring_up(connection: Connection, name: str, path: Path | None) -> None:
    """Make or migrate the tables; runs in a writing transaction and does nothing to a store of the current format."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
    version = stored_format(connection)
    if version is None:
        schema.create(connection)
        write_format(connection, schema.FORMAT)
        return
    if version > schema.FORMAT:
        raise later_format(name, version, path)
    if version < schema.FORMAT and path is not None:
        back_up(path, version)
    while version < schema.FORMAT:
        version = MIGRATIONS[version](connection)
        write_format(connection, version)


def from_format_0(connection: Connection) -> int:
    """Format 0 had titles and messages only, and no version; each session becomes one branch of messages.

    Its content is written by today's functions, hence in today's format.
    """
    sessions = connection.execute(text("SELECT id, title FROM sessions ORDER BY id")).all()
    messages = connection.execute(text("SELECT session_id, body FROM messages ORDER BY id")).all()
    connection.execute(text("DROP TABLE messages"))
    connection.execute(text("DROP TABLE sessions"))
    schema.create(connection)
    for number, title in sessions:
        title = str(title or "")
        instance = Instance(uuid=f"format-0-{number}", capability=0, domain="", turns=(Turn(turn_id=0, query=title),))
        session = create_session(connection, NewSession(instance=instance, title=title))
        branch = Branch(number=0, name="main")
        put_branch(connection, session.id, branch)
        steps = [
            Step(actor="human", decision=Message(role="user", text=str(body or "")))
            for owner, body in messages
            if owner == number
        ]
        append_steps(connection, session.id, 0, 0, steps)
    return schema.FORMAT


MIGRATIONS: Mapping[int, Callable[[Connection], int]] = {0: from_format_0}
"""Format -> what leads from it to a later one, which it gives back."""
