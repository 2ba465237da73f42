"""A decoded JSON value as a foldable list of visible nodes; only the nodes in view are turned into text."""

from __future__ import annotations

import json
from collections import deque

from toolenv.model import Json
from vakra_tui.state.lines import Line, Span
from vakra_tui.text import count_words, one_line

OPEN_AT_FIRST = 400
"""Nodes that are unfolded when a value is first shown, breadth first."""

LONGEST_SCALAR = 2000


def scalar_line(value: Json, limit: int = LONGEST_SCALAR) -> Span:
    """A scalar as JSON writes it, at most ``limit`` characters of a string."""
    if isinstance(value, str):
        if len(value) > limit:
            return Span(json.dumps(value[:limit], ensure_ascii=False)[:-1] + "\u2026", "string")
        return Span(json.dumps(value, ensure_ascii=False), "string")
    if value is None or isinstance(value, bool):
        return Span(json.dumps(value), "literal")
    if isinstance(value, int | float):
        return Span(json.dumps(value), "number")
    return Span(one_line(json.dumps(value, ensure_ascii=False, default=str), limit), "code")


class Node:
    """One visible row: a member of its container, itself a container or a scalar."""

    __slots__ = ("depth", "key", "open", "value")

    def __init__(self, depth: int, key: str | int | None, value: Json) -> None:
        self.depth = depth
        self.key = key
        self.value = value
        self.open = False

    @property
    def size(self) -> int | None:
        """Number of members, None for a scalar."""
        return len(self.value) if isinstance(self.value, dict | list) else None

    def children(self) -> list[Node]:
        if isinstance(self.value, dict):
            return [Node(self.depth + 1, str(key), inner) for key, inner in self.value.items()]
        return [Node(self.depth + 1, index, inner) for index, inner in enumerate(self.value)]


class JsonTree:
    """The visible nodes of a value in order; folding a node removes its descendants from the list."""

    def __init__(self, value: Json) -> None:
        root = Node(0, None, value)
        self._nodes: list[Node] = [root]
        self._unfold_first(root)

    def _unfold_first(self, root: Node) -> None:
        """Unfold breadth first while the whole stays small; a large root is always unfolded once."""
        queue: deque[Node] = deque([root])
        opened: dict[int, list[Node]] = {}
        shown = 1
        while queue:
            node = queue.popleft()
            if not node.size or (node is not root and shown + node.size > OPEN_AT_FIRST):
                continue
            children = node.children()
            opened[id(node)] = children
            node.open = True
            shown += len(children)
            if shown <= OPEN_AT_FIRST:
                queue.extend(children)
        flat: list[Node] = []
        stack = [root]
        while stack:
            node = stack.pop()
            flat.append(node)
            stack.extend(reversed(opened.get(id(node), [])))
        self._nodes = flat

    def layout(self, width: int) -> int:
        return len(self._nodes)

    @property
    def cells(self) -> int:
        return 0

    def toggle(self, index: int) -> None:
        """Fold or unfold the node of a row; a scalar stays as it is."""
        node = self._nodes[index]
        if not node.size:
            return
        if node.open:
            end = index + 1
            while end < len(self._nodes) and self._nodes[end].depth > node.depth:
                end += 1
            del self._nodes[index + 1 : end]
        else:
            self._nodes[index + 1 : index + 1] = node.children()
        node.open = not node.open

    def line(self, index: int) -> Line:
        node = self._nodes[index]
        parts: list[Span] = [Span("  " * min(node.depth, 40))]
        size = node.size
        if size:
            parts.append(Span("\u25be " if node.open else "\u25b8 ", "dim"))
        else:
            parts.append(Span("  "))
        if isinstance(node.key, str):
            parts += [Span(one_line(node.key, 200), "key"), Span(": ", "punct")]
        elif node.key is not None:
            parts.append(Span(f"{node.key}: ", "dim"))
        if size is None:
            parts.append(scalar_line(node.value))
        else:
            brackets = "{}" if isinstance(node.value, dict) else "[]"
            if not size:
                parts.append(Span(brackets, "punct"))
            else:
                noun = "key" if isinstance(node.value, dict) else "item"
                parts.append(Span(f"{brackets[0]}\u2026{brackets[1]} " if not node.open else "", "punct"))
                parts.append(Span(count_words(size, noun), "dim"))
        return tuple(parts)
