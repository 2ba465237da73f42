"""The lossless form: JSON lines ``vakra-tui/trajectory@1`` (documented in docs/formats.md).

A trajectory is a head line, then a line a step. The head says how many steps follow, so that a file that was cut off is
read as far as it goes and says so. Every line is strict JSON in ASCII: halves of surrogate pairs are escaped, numbers
that JSON does not have are ``{"$float": "NaN"}``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from sessions.formats.model import Imported
from sessions.trajectory import Step, Trajectory
from toolenv.decoding import decoded
from toolenv.model import Instance, Json

FORMAT = "vakra-tui/trajectory@1"

_FLOAT = "$float"
_OBJECT = "$object"


def lines_of(trajectory: Trajectory, *, name: str = "", extra: dict[str, Json] | None = None) -> Iterator[str]:
    """The lines of one trajectory, without line ends."""
    head = {
        "format": FORMAT,
        "name": name,
        "steps": len(trajectory.steps),
        "instance": trajectory.instance,
        "extra": extra or {},
    }
    yield _written(head)
    for number, step in enumerate(trajectory.steps, start=1):
        yield _written({"step": number, **msgspec.to_builtins(step)})


def read_lines(lines: Iterator[tuple[int, str]], where: str) -> Iterator[Imported | str]:
    """Trajectories, and sentences about lines that could not be read. ``lines`` are numbered from 1."""
    head: dict[str, Any] | None = None
    instance: Instance | None = None
    steps: list[Step] = []
    odd: list[str] = []

    def finished() -> Iterator[Imported | str]:
        if head is None or instance is None:
            return
        due = head.get("steps")
        if due != len(steps):
            odd.append(f"{where}: {instance.uuid} should have {due} steps and has {len(steps)}; the file is cut off")
        extra = head.get("extra") or {}
        if not isinstance(extra, dict):
            odd.append(f"{where}: {instance.uuid}: extra: an object was expected, not {type(extra).__name__}")
        yield Imported(
            name=str(head.get("name") or "") or f"{where}: {instance.uuid}",
            form="jsonl",
            trajectory=Trajectory(instance=instance, steps=tuple(steps)),
            extra=extra if isinstance(extra, dict) else {},
            problems=tuple(odd),
        )

    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = restored(decoded(line))
            if isinstance(value, dict) and "format" in value:
                yield from finished()
                head, instance, steps, odd = None, None, [], []
                if value["format"] != FORMAT:
                    yield f"{where}, line {number}: the format is {value['format']!r}; this version reads {FORMAT}"
                    continue
                instance = msgspec.convert(value.get("instance"), Instance)
                head = value
            elif head is not None:
                steps.append(msgspec.convert(value, Step))
            else:
                yield f"{where}, line {number}: a step without the head of a trajectory before it"
        except (ValueError, msgspec.ValidationError) as error:
            sentence = f"{where}, line {number} cannot be read ({error})"
            if head is not None:
                odd.append(sentence)
            else:
                yield sentence
    yield from finished()


def _written(value: Any) -> str:
    return json.dumps(strict(msgspec.to_builtins(value)), separators=(",", ":"), allow_nan=False)


def strict(value: Json) -> Json:
    """A value as strict JSON can hold it; ``restored`` gives it back."""
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, dict):
        inner = {key: strict(item) for key, item in value.items()}
        return {_OBJECT: inner} if value.keys() & {_FLOAT, _OBJECT} else inner
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return value


def restored(value: Json) -> Json:
    """What ``strict`` wrote. Raises ValueError for what it never writes."""
    if isinstance(value, dict):
        if value.keys() == {_FLOAT}:
            if not isinstance(value[_FLOAT], str):
                raise ValueError(f"{_FLOAT} stands for a text")
            return float(value[_FLOAT])
        if value.keys() == {_OBJECT}:
            if not isinstance(value[_OBJECT], dict):
                raise ValueError(f"{_OBJECT} stands for an object")
            return {key: restored(item) for key, item in value[_OBJECT].items()}
        return {key: restored(item) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item) for item in value]
    return value
