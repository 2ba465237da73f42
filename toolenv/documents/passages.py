"""Reading passages: from a domain's documents file, or from the metadata of a ChromaDB folder."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from toolenv.dataset.record_file import RecordFile, records_of
from toolenv.errors import EnvironmentFailure
from toolenv.model import Value

_CHROMA_FILE = "chroma.sqlite3"


class Passage(Value, frozen=True):
    """One document of a collection."""

    id: str
    text: str


class DocumentFile:
    """``<collection>_docs.json``, a list of ``{"doc_id", "text"}``; the identity changes with the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.label = path.name

    def identity(self) -> tuple[str, int, int]:
        return _identity(self.path)

    def digest(self) -> str:
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def passages(self) -> Iterator[Passage]:
        """Every usable passage once; of several with one id the first. Raises EnvironmentFailure for a damaged file."""
        file = RecordFile(self.path, self.label)
        if file.problems:
            raise EnvironmentFailure(file.problems[0])
        seen: set[str] = set()
        for span, record in records_of(file):
            text = record.get("text") if isinstance(record, dict) else None
            if not isinstance(text, str):
                raise EnvironmentFailure(f"{self.label}, record {span.number} has no text.")
            written = record.get("doc_id", record.get("id"))
            identity = str(written) if isinstance(written, str | int) else f"{span.number:06d}"
            if identity not in seen:
                seen.add(identity)
                yield Passage(id=identity, text=text)


class ChromaCollection:
    """The documents of one collection of a ChromaDB folder, read from its SQLite file and never written to.

    Only ids and texts are read; the folder's own vectors belong to the model that made them.
    """

    def __init__(self, folder: Path, collection: str) -> None:
        self.path = folder / _CHROMA_FILE
        self.collection = collection
        self.label = f"{folder.name}/{_CHROMA_FILE} ({collection})"

    def identity(self) -> tuple[str, int, int]:
        name, size, changed = _identity(self.path)
        return f"{name}\0{self.collection}", size, changed

    def digest(self) -> str:
        digest = hashlib.sha256()
        for passage in self.passages():
            digest.update(
                f"{len(passage.id)}:{passage.id}{len(passage.text)}:{passage.text}".encode("utf-8", "replace")
            )
        return digest.hexdigest()

    def passages(self) -> Iterator[Passage]:
        """Every passage, by id. Raises EnvironmentFailure when the file cannot be read as ChromaDB's."""
        try:
            connection = open_read_only(self.path)
            try:
                rows = connection.execute(
                    "SELECT e.embedding_id, m.string_value FROM embeddings AS e"
                    " JOIN segments AS s ON s.id = e.segment_id"
                    " JOIN collections AS c ON c.id = s.collection"
                    " JOIN embedding_metadata AS m ON m.id = e.id AND m.key = 'chroma:document'"
                    " WHERE c.name = ? ORDER BY e.embedding_id",
                    (self.collection,),
                )
                for identity, text in rows:
                    if isinstance(text, str):
                        yield Passage(id=str(identity), text=text)
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise EnvironmentFailure(f"{self.label} cannot be read as a ChromaDB folder: {error}.") from error


def chroma_collections(folder: Path) -> frozenset[str]:
    """The names of the collections in a ChromaDB folder; empty where it is none."""
    path = folder / _CHROMA_FILE
    if not path.is_file():
        return frozenset()
    try:
        connection = open_read_only(path)
        try:
            return frozenset(str(name) for (name,) in connection.execute("SELECT name FROM collections"))
        finally:
            connection.close()
    except sqlite3.Error:
        return frozenset()


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, and that needs no write access beside the file where no journal lies there."""
    lying = any(path.with_name(path.name + ending).exists() for ending in ("-wal", "-journal"))
    mode = "mode=ro" if lying else "mode=ro&immutable=1"
    return sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True, check_same_thread=False)


def _identity(path: Path) -> tuple[str, int, int]:
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns
