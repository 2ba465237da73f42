"""The retriever tools of a domain: ``query_<collection>`` for its own documents and those of its neighbours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolenv.documents.index import Hit, PassageIndex, PassageSource, index_of
from toolenv.documents.passages import ChromaCollection, DocumentFile, chroma_collections
from toolenv.documents.vectors import Embedder, VectorIndex, fused
from toolenv.errors import EnvironmentFailure
from toolenv.failures import result_of
from toolenv.model import Json, ToolResult, ToolSpec
from toolenv.schema import refusal

if TYPE_CHECKING:
    from toolenv.dataset import Dataset

DEFAULT_RESULTS: Final = 10
_FUSED_FROM: Final = 50
_PREFIX: Final = "query_"


class DocumentTools:
    """The retriever tools of one domain. Collections are indexed when they are first asked.

    ``embedder`` adds a ranking by vectors, fused with the full-text one. ``cache`` is a folder for what is kept between
    runs; by default the user's cache directory. Nothing is ever written below the dataset.
    """

    def __init__(
        self, dataset: Dataset, domain: str, *, embedder: Embedder | None = None, cache: Path | None = None
    ) -> None:
        self._dataset = dataset
        self._domain = domain
        self._embedder = embedder
        self._cache = cache
        self._vectors: dict[str, VectorIndex] = {}
        self._specs = {f"{_PREFIX}{name}": _spec(name) for name in dataset.collections(domain)}

    def specs(self) -> Sequence[ToolSpec]:
        return tuple(self._specs.values())

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Look a question up. The text is ``{"results": [{"id", "text", "score"}]}``, best first.

        Raises ``EnvironmentFailure`` when the collection has no documents, or none that can be read: that is never an
        empty result.
        """
        spec = self._specs.get(name)
        if spec is None:
            return result_of(f"Tool '{name}' not found; it is no document collection of {self._domain}", True)
        problem = refusal(spec, arguments)
        if problem is not None:
            return result_of(problem, True)
        limit = int(arguments.get("n_results", DEFAULT_RESULTS))
        if limit <= 0:
            return result_of(
                f"Error calling API: n_results is {limit}, but at least one result must be asked for", False
            )
        hits = await self._search(name.removeprefix(_PREFIX), str(arguments["question"]), limit)
        results = [{"id": hit.id, "text": hit.text, "score": hit.score} for hit in hits]
        return ToolResult(text=json.dumps({"results": results}, indent=2))

    async def _search(self, collection: str, question: str, limit: int) -> list[Hit]:
        index = await asyncio.to_thread(self._index, collection)
        limit = min(limit, index.size)
        if self._embedder is None:
            return await asyncio.to_thread(index.search, question, limit)
        vectors = self._vectors.setdefault(collection, VectorIndex(self._embedder, self._cache))
        await vectors.load(index)
        depth = max(limit, _FUSED_FROM)
        by_words = await asyncio.to_thread(index.search, question, depth)
        by_meaning = await vectors.search(question, depth)
        return fused([[hit for hit in by_words if hit.score > 0], by_meaning], limit)

    def _index(self, collection: str) -> PassageIndex:
        return index_of(self._source(collection), self._cache)

    def _source(self, collection: str) -> PassageSource:
        path = self._dataset.documents(collection)
        if path is not None:
            return DocumentFile(path)
        folder = self._dataset.indexed_documents()
        if folder is not None and collection in chroma_collections(folder):
            return ChromaCollection(folder, collection)
        raise EnvironmentFailure(
            f"the dataset has no documents for the collection {collection}: documents/{collection}_docs.json is not "
            "there, and no ChromaDB folder has it."
        )


def has_documents(dataset: Dataset, collection: str) -> bool:
    """Whether a dataset holds the documents of a collection, as a file or in its ChromaDB folder."""
    if dataset.documents(collection) is not None:
        return True
    folder = dataset.indexed_documents()
    return folder is not None and collection in chroma_collections(folder)


def _spec(collection: str) -> ToolSpec:
    subject = collection.replace("_", " ")
    return ToolSpec(
        name=f"{_PREFIX}{collection}",
        description=f"Search the documents about {subject} for passages that answer a question.",
        input_schema={
            "type": "object",
            "properties": {
                "question": {"type": "string", "description": "What is to be looked up, in plain words."},
                "n_results": {
                    "type": "integer",
                    "description": "How many passages to return at most.",
                    "default": DEFAULT_RESULTS,
                },
            },
            "required": ["question"],
        },
        source="RAG",
    )
