"""What a search found, in one sentence for a person."""

from __future__ import annotations

from eval.repair.model import Replacement
from sessions.calling import shown
from toolenv.values import shortened

NAMED = 6
"""How many argument names a sentence lists."""


def sentence(one: Replacement, passes: str = "it passes") -> str:
    """Which step broke the trajectory, and what stands there once it is repaired."""
    again = ", answered as the reference does" if one.re_answered else ""
    after = f"{one.after.name}({shown(one.after.arguments)})" if one.after is not None else ""
    match one.kind:
        case "answer":
            return f"the answer broke it; with {shortened(one.answer or '', 200)!r} in its place {passes}"
        case "arguments":
            names = ", ".join(one.arguments[:NAMED]) or "arguments"
            return f"step {one.step} ({one.tool}) broke it by {names}; with {after} {passes}{again}"
        case "call":
            return f"step {one.step} ({one.tool}) broke it; with {after} in its place {passes}{again}"
        case "insert":
            return f"before step {one.step} a call is missing; with {after} there {passes}{again}"
        case "remove":
            return f"step {one.step} ({one.tool}) broke it, which the policy forbids; left out, {passes}{again}"
