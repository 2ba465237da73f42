"""Document retrieval for capability 4, in process: SQLite FTS5, vectors from any endpoint, ChromaDB folders."""

from __future__ import annotations

from toolenv.documents.endpoint import EndpointEmbedder, embedder_from_environment
from toolenv.documents.tools import DocumentTools, has_documents

__all__ = ["DocumentTools", "EndpointEmbedder", "embedder_from_environment", "has_documents"]
