"""Spoken names of columns from ``database_description/*.csv`` beside a database, the form that BIRD ships.

Each file describes a table; ``original_column_name`` is the column and ``column_name`` what it is called in words,
empty where there is nothing to add. Only plain words are taken, for they end up in questions.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

FOLDER = "database_description"
_MOST_BYTES = 1 << 20
_WORDS = re.compile(r"[^\W\d_]{2,}(?: [^\W_]+){0,4}")


def read_descriptions(database: Path) -> dict[str, str]:
    """Column name -> its words, for columns that all files describe alike; empty where nothing is described.

    A file that cannot be read as a table of descriptions says nothing.
    """
    found: dict[str, set[str]] = {}
    for path in sorted((database.parent / FOLDER).glob("*.csv")):
        for column, words in _described(path):
            found.setdefault(column, set()).add(words)
    return {column: ways.pop() for column, ways in sorted(found.items()) if len(ways) == 1}


def _described(path: Path) -> list[tuple[str, str]]:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return []
        content = path.read_bytes()
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", "replace")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except (OSError, csv.Error):
        return []
    made = []
    for row in rows:
        column, words = row.get("original_column_name"), row.get("column_name")
        if isinstance(column, str) and isinstance(words, str) and len(words) <= 60:
            plain = " ".join(words.lower().split())
            if _WORDS.fullmatch(plain):
                made.append((column.strip(), plain))
    return made
