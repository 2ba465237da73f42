"""The tables of format 1, and what only one kind of database knows: full-text search."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

FORMAT = 1
"""The format that this program writes."""

APPLICATION_ID = 0x56414B52
"""Written into the head of a SQLite file, so that a file of another program is known before it is touched."""

METADATA = MetaData()

BIG = BigInteger().with_variant(Integer, "sqlite")
"""Row numbers; SQLite counts up only in an INTEGER."""

INFO = Table("store_info", METADATA, Column("name", String, primary_key=True), Column("value", String, nullable=False))

PAYLOAD = Table(
    "payload",
    METADATA,
    Column("hash", String(64), primary_key=True),
    Column("size", BIG, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

SESSION = Table(
    "session",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("key", String(16), nullable=False, unique=True),
    Column("kind", String(8), nullable=False),
    Column("identity", String(64), unique=True),
    Column("title", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("dataset_path", Text, nullable=False),
    Column("capability", Integer, nullable=False),
    Column("domain", Text, nullable=False),
    Column("uuid", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("run", Text, nullable=False),
    Column("run_fingerprint", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("instance_hash", String(64), ForeignKey("payload.hash"), nullable=False, index=True),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Column("steps", Integer, nullable=False, default=0),
    Column("branches", Integer, nullable=False, default=0),
    Column("promoted", Integer),
    Column("cursor_branch", Integer),
    Column("cursor_at", Integer),
    Column("passed", Boolean),
    Index("session_list", "kind", "updated_at", "id"),
    Index("session_of_instance", "uuid", "dataset"),
)

BRANCH = Table(
    "branch",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("session_id", BIG, ForeignKey("session.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("parent", Integer),
    Column("fork_at", Integer, nullable=False),
    Column("replayed", LargeBinary),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("session_id", "number"),
)

STEP = Table(
    "step",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("branch_id", BIG, ForeignKey("branch.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("actor", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("tool", Text, nullable=False),
    Column("failed", Boolean, nullable=False),
    Column("body", LargeBinary),
    Column("body_hash", String(64), ForeignKey("payload.hash")),
    Column("text_hash", String(64), ForeignKey("payload.hash")),
    Column("created_at", Float, nullable=False),
    UniqueConstraint("branch_id", "position"),
    Index("step_body", "body_hash"),
    Index("step_text", "text_hash"),
    # A number is never given twice: the full-text index knows steps by it.
    sqlite_autoincrement=True,
)

REQUEST = Table(
    "request",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("session_id", BIG, ForeignKey("session.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("branch", Integer),
    Column("position", Integer),
    Column("kind", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("request_hash", String(64), ForeignKey("payload.hash"), nullable=False, index=True),
    Column("response_hash", String(64), ForeignKey("payload.hash"), nullable=False, index=True),
    Column("usage", LargeBinary, nullable=False),
    Column("error", Text, nullable=False),
    Column("duration_s", Float, nullable=False),
    Column("created_at", Float, nullable=False),
)

VERDICT = Table(
    "verdict",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("session_id", BIG, ForeignKey("session.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("branch", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("profile", Text, nullable=False),
    Column("judge", Text, nullable=False),
    Column("passed", Boolean),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
)

RESULT = Table(
    "result",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("item", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
)

RULING = Table(
    "ruling",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
)

HUMAN_RULING = Table(
    "human_ruling",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("run", Text, primary_key=True),
    Column("uuid", Text, primary_key=True),
    Column("gate", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
)

NOTE = Table(
    "note",
    METADATA,
    Column("id", BIG, primary_key=True, autoincrement=True),
    Column("session_id", BIG, ForeignKey("session.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("branch", Integer),
    Column("position", Integer),
    Column("text", Text, nullable=False),
    Column("created_at", Float, nullable=False),
)

MARK = Table(
    "mark",
    METADATA,
    Column("session_id", BIG, ForeignKey("session.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, primary_key=True),
    Column("branch", Integer, nullable=False),
    Column("at", Integer, nullable=False),
)

FLAG = Table(
    "flag",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("uuid", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("created_at", Float, nullable=False),
)

TOUCHED = Table(
    "touched",
    METADATA,
    Column("dataset", Text, primary_key=True),
    Column("uuid", Text, primary_key=True),
    Column("last_at", Float, nullable=False),
    Column("session_id", BIG, ForeignKey("session.id", ondelete="SET NULL"), index=True),
)

RUN = Table(
    "run",
    METADATA,
    Column("fingerprint", Text, primary_key=True),
    Column("dataset", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("detail", LargeBinary, nullable=False),
    Column("created_at", Float, nullable=False),
)

BREAKPOINT = Table(
    "breakpoint",
    METADATA,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

SEARCH_CHUNK = 60_000
"""Characters of text in one row of PostgreSQL's index: a tsvector holds 1 MB and counts positions up to 16,383."""

SQLITE_SEARCH = (
    # Contentless: the index holds words only, the text itself stands in the steps. The kind of the session is a word of
    # a column of its own, so that a person's search never walks through the steps of batches.
    # The last word of a query may be begun only; the index of short beginnings keeps that from merging thousands of
    # lists.
    "CREATE VIRTUAL TABLE step_words USING fts5"
    "(kind, words, content='', tokenize='unicode61 remove_diacritics 2', prefix='2 3 4')",
)

POSTGRES_SEARCH = (
    "CREATE TABLE step_words (step_id BIGINT NOT NULL REFERENCES step (id) ON DELETE CASCADE, part INTEGER NOT NULL,"
    " kind VARCHAR(8) NOT NULL, words TSVECTOR NOT NULL, PRIMARY KEY (step_id, part))",
    "CREATE INDEX step_words_person ON step_words USING gin (words) WHERE kind = 'person'",
    "CREATE INDEX step_words_batch ON step_words USING gin (words) WHERE kind = 'batch'",
)


def create(connection: Connection) -> None:
    """All tables of the current format, in an empty database."""
    METADATA.create_all(connection)
    for statement in SQLITE_SEARCH if connection.dialect.name == "sqlite" else POSTGRES_SEARCH:
        connection.execute(text(statement))
