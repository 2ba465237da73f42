"""Calls of a native session: those that must succeed, those that must fail, and its tools."""

from __future__ import annotations

import json
from typing import Any

from toolenv.native import NativeSession


async def ask(session: NativeSession, name: str, **arguments: Any) -> Any:
    """The decoded answer of a call that must succeed."""
    result = await session.call(name, arguments)
    assert not result.failed, result.text
    return json.loads(result.text.replace("nan", "NaN"))


async def failure(session: NativeSession, name: str, **arguments: Any) -> tuple[str | None, bool, str]:
    result = await session.call(name, arguments)
    assert result.failed
    return result.error_kind, result.is_error, result.text


async def names(session: NativeSession) -> list[str]:
    return [tool.name for tool in await session.list_tools()]
