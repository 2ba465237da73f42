"""Tools behind MCP: servers started here, in a container, or reached over HTTP, as one environment."""

from __future__ import annotations

from toolenv.remote.environment import RemoteEnvironment

__all__ = ["RemoteEnvironment"]
