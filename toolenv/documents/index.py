"""A full-text index over one collection: SQLite FTS5, ranked by BM25 with words that say nothing left out.

Small collections are indexed in memory. Larger ones are kept in the user's cache directory under the digest of their
content, written whole or not at all; the dataset's own folder is never written to.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

from toolenv.documents.passages import Passage, open_read_only
from toolenv.errors import EnvironmentFailure
from toolenv.files import temporary_beside
from toolenv.model import Value

_IN_MEMORY: Final = 4 << 20
_MOST_WORDS: Final = 256
_HELD: Final = 32
_FORMAT: Final = 1
_WORD = re.compile(r"\w+")
_STOPWORD_LIST: Final = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could did do does doing down during each few find for from further had has have having he her here hers him his
how i if in into is it its itself just like many me more most much my name no nor not of off on once only or other
our out over own per please same she should so some such tell than that the their them then there these they this
those through to too under until up upon us very was we were what when where which while who whom whose why will
with would you your
"""
STOPWORDS: Final = frozenset(_STOPWORD_LIST.split())


class PassageSource(Protocol):
    """Where the passages of a collection come from."""

    @property
    def label(self) -> str: ...

    def identity(self) -> tuple[str, int, int]: ...

    def digest(self) -> str: ...

    def passages(self) -> Iterator[Passage]: ...


class Hit(Value, frozen=True):
    """A passage and its score; higher is better, 0 where no word of the question is in it."""

    id: str
    text: str
    score: float


def words_of(question: str) -> list[str]:
    """The words of a question that are looked for: each once, without stop words unless there are no others."""
    folded = unicodedata.normalize("NFKC", question).casefold()
    words = list(dict.fromkeys(_WORD.findall(folded)))
    telling = [word for word in words if word not in STOPWORDS and len(word) > 1]
    return (telling or words)[:_MOST_WORDS]


class PassageIndex:
    """The index of one collection; safe to search from several threads."""

    def __init__(self, connection: sqlite3.Connection, label: str) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.label = label
        self.size = int(connection.execute("SELECT count(*) FROM passages").fetchone()[0])
        if self.size == 0:
            raise EnvironmentFailure(f"{label} holds no documents, so nothing can be looked up in it.")

    def search(self, question: str, limit: int) -> list[Hit]:
        """The ``limit`` best passages, ties by id; passages without any of the words come last, with the score 0.

        Raises EnvironmentFailure for an index that is damaged.
        """
        words = words_of(question)
        # Every word is quoted: nothing in a question is FTS5's query language.
        query = " OR ".join(f'"{word}"' for word in words)
        with self._lock:
            rows: list[tuple[str, str, float]] = []
            if query:
                rows = self._rows(
                    "SELECT id, text, round(-bm25(passages), 6) AS score FROM passages WHERE passages MATCH ?"
                    " ORDER BY score DESC, id LIMIT ?",
                    (query, limit),
                )
            if len(rows) < min(limit, self.size):
                rows += self._unmatched(query, limit - len(rows))
        return [Hit(id=identity, text=text, score=score) for identity, text, score in rows]

    def _unmatched(self, query: str, limit: int) -> list[tuple[str, str, float]]:
        if not query:
            return self._rows("SELECT id, text, 0.0 FROM passages ORDER BY id LIMIT ?", (limit,))
        return self._rows(
            "SELECT id, text, 0.0 FROM passages"
            " WHERE rowid NOT IN (SELECT rowid FROM passages WHERE passages MATCH ?) ORDER BY id LIMIT ?",
            (query, limit),
        )

    def _rows(self, sql: str, bound: tuple[str | int, ...] = ()) -> list[Any]:
        try:
            return self._connection.execute(sql, bound).fetchall()
        except sqlite3.Error as error:
            where = self._connection.execute("PRAGMA database_list").fetchone()[2]
            hint = f"; remove {where}, and it is made anew" if where else ""
            raise EnvironmentFailure(f"the index of {self.label} cannot be read ({error}){hint}.") from error

    def passages(self) -> list[Passage]:
        """All passages, by id."""
        with self._lock:
            rows = self._rows("SELECT id, text FROM passages ORDER BY id")
        return [Passage(id=identity, text=text) for identity, text in rows]

    def close(self) -> None:
        with self._lock:
            self._connection.close()


_indexes: OrderedDict[tuple[str, int, int], PassageIndex] = OrderedDict()
_indexes_lock = threading.Lock()


def index_of(source: PassageSource, cache: Path | None = None) -> PassageIndex:
    """The index of a collection, made when it is asked for the first time and shared in this process.

    ``cache`` is the folder for large ones; by default the user's cache directory. Raises EnvironmentFailure when the
    collection is empty or cannot be read.
    """
    try:
        identity = source.identity()
    except OSError as error:
        raise EnvironmentFailure(f"{source.label} cannot be read: {error.strerror or error}.") from error
    with _indexes_lock:
        found = _indexes.get(identity)
        if found is None:
            found = _made(source, identity[1], cache)
            _indexes[identity] = found
            while len(_indexes) > _HELD:
                # A search that is still running holds its own reference; SQLite closes when the last one goes.
                _indexes.popitem(last=False)
        else:
            _indexes.move_to_end(identity)
        return found


def _made(source: PassageSource, size: int, cache: Path | None) -> PassageIndex:
    try:
        if size <= _IN_MEMORY:
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            _fill(connection, source)
            return PassageIndex(connection, source.label)
        path = (cache or _cache_folder()) / f"fts-{_FORMAT}-{source.digest()}.sqlite"
        if not _usable(path):
            _write(path, source)
        return PassageIndex(open_read_only(path), source.label)
    except sqlite3.Error as error:
        raise EnvironmentFailure(f"no index could be made of {source.label}: {error}.") from error
    except OSError as error:
        raise EnvironmentFailure(f"{source.label} cannot be indexed: {error.strerror or error}.") from error


def _fill(connection: sqlite3.Connection, source: PassageSource) -> None:
    connection.execute(
        "CREATE VIRTUAL TABLE passages USING fts5(id UNINDEXED, text, tokenize = 'unicode61 remove_diacritics 2')"
    )
    with connection:
        connection.executemany(
            "INSERT INTO passages (id, text) VALUES (?, ?)", ((p.id, p.text) for p in source.passages())
        )


def _write(path: Path, source: PassageSource) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(path) as temporary:
        # Nobody else knows the file, and locks of its own would meet the one that marks it as being written.
        connection = sqlite3.connect(f"{temporary.absolute().as_uri()}?nolock=1", uri=True)
        try:
            connection.execute("PRAGMA journal_mode = OFF")
            _fill(connection, source)
        finally:
            connection.close()
        temporary.replace(path)


def _usable(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        connection = open_read_only(path)
        try:
            connection.execute("SELECT id, text FROM passages LIMIT 1").fetchone()
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return True


def _cache_folder() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("vakra-tui") / "documents"
