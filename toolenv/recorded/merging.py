"""Merging a spool of answers into the sorted file of a domain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from toolenv.decoding import decoded
from toolenv.files import written_whole
from toolenv.model import Json

Place = tuple[Path, int, int]
"""A line of a file: where it begins and how many bytes it has."""


def merge(target: Path, spool: Path) -> None:
    """Write ``target`` anew from what it holds and what the spool holds, and remove the spool.

    Lines are sorted by universe, tool and arguments. Of several answers to one call the spool's are newer than the
    file's; among those of the spool the one with the smallest digest is kept, whichever came first.
    """
    if not spool.exists():
        return
    answers: dict[tuple[str, str, str], tuple[int, bytes, Place]] = {}
    tools: dict[str, tuple[int, str, list[Json]]] = {}
    for age, path in enumerate((target, spool)):
        for start, body, line in _lines(path):
            if "tools" in line:
                for universe in line.get("universes") or [line.get("universe")]:
                    _newer(tools, universe or "", age, line["tools"])
                continue
            place = (str(line.get("universe") or ""), line["name"], json.dumps(line["arguments"], sort_keys=True))
            held = answers.get(place)
            rank = sha256(json.dumps([line["response_text"], line["is_error"]]).encode()).digest()
            if held is None or age > held[0] or (age == held[0] and rank < held[1]):
                answers[place] = (age, rank, (path, start, len(body)))
    _write(target, tools, [answers[place][2] for place in sorted(answers)])
    spool.unlink(missing_ok=True)


def _newer(tools: dict[str, tuple[int, str, list[Json]]], universe: str, age: int, listed: list[Json]) -> None:
    text = json.dumps(listed, sort_keys=True)
    held = tools.get(universe)
    if held is None or age > held[0] or (age == held[0] and text < held[1]):
        tools[universe] = (age, text, listed)


def _lines(path: Path) -> Iterator[tuple[int, bytes, dict[str, Json]]]:
    """(offset, bytes, value) of each complete line of a file that may not be there; others are passed over."""
    if not path.exists():
        return
    offset = 0
    with path.open("rb") as stream:
        for line in stream:
            body = line.strip()
            try:
                value = decoded(body)
            except ValueError:
                value = None
            if isinstance(value, dict) and _is_of_a_recording(value):
                value.setdefault("is_error", False)
                yield offset + line.index(body), body, value
            offset += len(line)


def _is_of_a_recording(value: dict[str, Json]) -> bool:
    """Whether a line is a list of tools or an answer, its parts of the right types."""
    universes = (value.get("universes") if "tools" in value else None) or [value.get("universe")]
    if not isinstance(universes, list) or not all(name is None or isinstance(name, str) for name in universes):
        return False
    if "tools" in value:
        return isinstance(value["tools"], list)
    texts = value.get("name"), value.get("response_text")
    return all(isinstance(text, str) for text in texts) and isinstance(value.get("arguments"), dict)


def _write(target: Path, tools: dict[str, tuple[int, str, list[Json]]], places: list[Place]) -> None:
    by_list: dict[str, list[str]] = {}
    for universe in sorted(tools):
        if universe:
            by_list.setdefault(tools[universe][1], []).append(universe)
    # The first line of a file with universes is made anew each time: the tools that all of them share.
    first = _shared(tools) if by_list or "" not in tools else tools[""][2]
    with written_whole(target) as out:
        out.write(json.dumps({"tools": first}).encode() + b"\n")
        for _, universes in sorted(by_list.items(), key=lambda item: item[1]):
            out.write(json.dumps({"universes": universes, "tools": tools[universes[0]][2]}).encode() + b"\n")
        copy_lines(places, out)


def _shared(tools: dict[str, tuple[int, str, list[Json]]]) -> list[Json]:
    """The tools that every universe has, in the order of the first one's list."""
    lists = [tools[universe][2] for universe in sorted(tools) if universe]
    if not lists:
        return []
    common = set.intersection(*({json.dumps(tool, sort_keys=True) for tool in listed} for listed in lists))
    return [tool for tool in lists[0] if json.dumps(tool, sort_keys=True) in common]


def copy_lines(places: Iterable[Place], out: BinaryIO) -> None:
    """Write lines of several files one after the other, each ended by a line break. Raises OSError."""
    streams: dict[Path, BinaryIO] = {}
    try:
        for path, start, length in places:
            if path not in streams:
                streams[path] = path.open("rb")
            streams[path].seek(start)
            out.write(streams[path].read(length) + b"\n")
    finally:
        for stream in streams.values():
            stream.close()
