"""Full-text search over the contents of all steps of all sessions: SQLite's FTS5, PostgreSQL's tsvector."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import Connection, text

from sessions.store import codec, schema
from sessions.store.reading import SUMMARY, AnySelect, step_of, steps_statement, summary
from sessions.store.records import Hit, SessionKind

EXCERPT = 60
"""Characters shown before and after what matched."""


NEWEST = 2**62
"""A step number above all others."""

FTS5_ROWS = (
    "SELECT rowid FROM step_words WHERE step_words MATCH :query AND rowid < :before ORDER BY rowid DESC LIMIT :limit"
)

POSTGRES_ROWS = (
    "SELECT DISTINCT step_id FROM step_words WHERE kind = :kind AND words @@ to_tsquery('simple', :query)"
    " AND step_id < :before ORDER BY step_id DESC LIMIT :limit"
)


def phrases(query: str) -> list[list[str]]:
    """The phrases of what a person wrote: quoted parts, and words; ``get_team`` is the phrase "get team"."""
    found = [quoted or bare for quoted, bare in re.findall(r'"([^"]*)"|(\S+)', query)]
    return [said.split() for said in (codec.words(part) for part in found) if said]


def fts5_query(asked: Sequence[Sequence[str]], kind: SessionKind) -> str:
    """An FTS5 expression that holds nothing but quoted words; the last word may be begun only."""
    parts = ['"' + " ".join(words) + '"' for words in asked]
    parts[-1] += " *"
    return f"kind : {kind} AND words : ({' AND '.join(parts)})"


def tsquery(asked: Sequence[Sequence[str]]) -> str:
    """The same for PostgreSQL."""
    parts = [["'" + word + "'" for word in words] for words in asked]
    parts[-1][-1] += ":*"
    return " & ".join("(" + " <-> ".join(words) + ")" for words in parts)


def statement(connection: Connection, query: str, kind: SessionKind, limit: int, before: int) -> AnySelect | None:
    """The statement of a search; None for a query without words."""
    asked = phrases(query)
    if not asked:
        return None
    step = schema.STEP.c.id
    found = (
        steps_statement().add_columns(*SUMMARY).join(schema.SESSION, schema.SESSION.c.id == schema.BRANCH.c.session_id)
    )
    if connection.dialect.name == "sqlite":
        matching = text(FTS5_ROWS).bindparams(query=fts5_query(asked, kind), before=before, limit=limit)
    else:
        matching = text(POSTGRES_ROWS).bindparams(kind=kind, query=tsquery(asked), before=before, limit=limit)
    return found.where(step.in_(matching.columns(step))).order_by(step.desc())


def search(connection: Connection, query: str, kind: SessionKind, limit: int, before: int | None) -> tuple[Hit, ...]:
    """The steps that hold all that was asked for, newest first."""
    found = statement(connection, query, kind, limit, NEWEST if before is None else before)
    if found is None:
        return ()
    asked = phrases(query)
    hits: list[Hit] = []
    for row in connection.execute(found):
        values = row._mapping
        hits.append(
            Hit(
                id=values["step_id"],
                session=summary(row),
                branch=values["branch_number"],
                position=values["position"],
                actor=values["actor"],
                kind=values["step_kind"],
                tool=values["tool"],
                excerpt=excerpt(codec.step_text(step_of(row)), asked),
            )
        )
    return tuple(hits)


def excerpt(said: str, asked: Sequence[Sequence[str]]) -> str:
    """The text around the first word that was asked for, on one line."""
    pattern = r"[\W_]+".join(re.escape(word) for word in asked[0])
    found = re.search(pattern, said, re.IGNORECASE)
    at, end = found.span() if found else (0, 0)
    start, stop = max(0, at - EXCERPT), min(len(said), end + EXCERPT)
    shown = " ".join(said[start:stop].split())
    return ("..." if start > 0 else "") + shown + ("..." if stop < len(said) else "")
