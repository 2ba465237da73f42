"""Ranking passages by the closeness of vectors, from any endpoint that makes embeddings, fused with the full-text
ranking.

Vectors are kept as float32 in the user's cache directory under the digest of model and text, so that no text is paid
for twice. Fusion is reciprocal rank: a passage's score is the sum of ``1 / (60 + rank)`` over the rankings it is in.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from toolenv.documents.index import Hit, PassageIndex
from toolenv.documents.passages import Passage
from toolenv.errors import EnvironmentFailure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

RANK_CONSTANT: Final = 60
_BATCH: Final = 64


class Embedder(Protocol):
    """Makes vectors of texts; ``model`` is part of the cache's key. Raises a ``VakraError`` when it cannot."""

    @property
    def model(self) -> str: ...

    async def embeddings(self, texts: Sequence[str]) -> list[list[float]]: ...


class VectorIndex:
    """The vectors of one collection, compared with those of questions by cosine."""

    def __init__(self, embedder: Embedder, cache: Path | None = None) -> None:
        self._embedder = embedder
        self._cache = cache
        self._passages: list[Passage] = []
        self._vectors: Vectors | None = None

    async def load(self, index: PassageIndex) -> None:
        """Have the vectors of all passages at hand; asks only for those that the cache does not hold."""
        if self._vectors is not None:
            return
        passages = index.passages()
        self._vectors = await self._of([passage.text for passage in passages])
        self._passages = passages

    async def search(self, question: str, limit: int) -> list[Hit]:
        """The ``limit`` closest passages, ties by id; the score is the cosine."""
        import numpy as np

        if self._vectors is None:
            raise EnvironmentFailure("the collection has no vectors yet.")
        wanted = await self._of([question])
        if wanted.shape[1] != self._vectors.shape[1]:
            raise EnvironmentFailure(
                f"the model {self._embedder.model} gave a vector of {wanted.shape[1]} numbers for the question and of "
                f"{self._vectors.shape[1]} for the documents."
            )
        scores = np.round(self._vectors @ wanted[0], 6)
        order = sorted(range(len(self._passages)), key=lambda place: (-scores[place], self._passages[place].id))
        return [
            Hit(id=self._passages[place].id, text=self._passages[place].text, score=float(scores[place]))
            for place in order[:limit]
        ]

    async def _of(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, one row a text."""
        import numpy as np

        keys = [
            hashlib.sha256(f"{self._embedder.model}\0{text}".encode("utf-8", "replace")).hexdigest() for text in texts
        ]
        store = _VectorStore(self._cache)
        known = store.read(keys)
        missing = [place for place, key in enumerate(keys) if key not in known]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            made = await self._embedder.embeddings([texts[place] for place in batch])
            if len(made) != len(batch):
                raise EnvironmentFailure(
                    f"the embeddings endpoint gave {len(made)} vectors for {len(batch)} texts ({self._embedder.model})."
                )
            fresh = {
                keys[place]: np.asarray(vector, dtype=np.float32).tobytes()
                for place, vector in zip(batch, made, strict=True)
            }
            store.write(fresh)
            known.update(fresh)
        rows = [np.frombuffer(known[key], dtype=np.float32) for key in keys]
        if len({row.shape[0] for row in rows}) != 1 or not rows[0].shape[0]:
            raise EnvironmentFailure(f"the model {self._embedder.model} gives vectors of different lengths.")
        matrix = np.stack(rows)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        unit: Vectors = (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)
        return unit


def fused(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Reciprocal-rank fusion; ties by id."""
    scores: dict[str, float] = {}
    texts: dict[str, str] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (RANK_CONSTANT + rank)
            texts[hit.id] = hit.text
    order = sorted(scores, key=lambda identity: (-round(scores[identity], 9), identity))
    return [Hit(id=identity, text=texts[identity], score=round(scores[identity], 6)) for identity in order[:limit]]


class _VectorStore:
    """Vectors by key in one SQLite file; a store that cannot be written only costs asking again."""

    def __init__(self, cache: Path | None) -> None:
        if cache is None:
            from platformdirs import user_cache_path

            cache = user_cache_path("vakra-tui") / "documents"
        self._path = cache / "vectors.sqlite"

    def _open(self) -> sqlite3.Connection | None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=10)
            connection.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        except (OSError, sqlite3.Error):
            return None
        return connection

    def read(self, keys: Sequence[str]) -> dict[str, bytes]:
        connection = self._open()
        if connection is None:
            return {}
        try:
            found: dict[str, bytes] = {}
            for key in keys:
                row = connection.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
                if row is not None and isinstance(row[0], bytes) and row[0] and len(row[0]) % 4 == 0:
                    found[key] = row[0]
        except sqlite3.Error:
            return {}
        finally:
            connection.close()
        return found

    def write(self, vectors: Mapping[str, bytes]) -> None:
        connection = self._open()
        if connection is None:
            return
        try:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
        except sqlite3.Error:
            return
        finally:
            connection.close()
