"""The endpoint routers of a user's own checkout of VAKRA, run in child processes and never in this one."""

from __future__ import annotations

from toolenv.vakra_checkout.environment import VakraEnvironment

__all__ = ["VakraEnvironment"]
