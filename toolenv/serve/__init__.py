"""A dataset's tools as an MCP server, over stdio or streamable HTTP, for any agent that speaks the protocol."""

from __future__ import annotations
