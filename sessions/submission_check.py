"""Checking a run against the public submission schema: every problem, with file, record and field.

Reading a run is lenient (older spellings load); this check is not: it says where the public evaluator would stumble.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from sessions.submissions import without_predictions
from toolenv.dataset.layout import capability_folders, domain_files
from toolenv.dataset.record_file import RecordFile, records_of
from toolenv.dataset.records import kind_of
from toolenv.errors import DataError
from toolenv.model import Json, Value

STATUSES: Final = ("success", "error")
_MARKS: Final = (
    (codecs.BOM_UTF8, "a UTF-8 byte order mark"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class Problem(Value, frozen=True):
    """One thing that is wrong.

    ``record`` counts from 1; ``field`` is a path such as ``output[0].sequence.tool_call[2].name``.
    """

    file: str
    message: str
    record: int | None = None
    uuid: str | None = None
    field: str = ""

    @property
    def sentence(self) -> str:
        """The problem as one line."""
        where = self.file
        if self.record is not None:
            where += f", record {self.record}"
        if self.uuid is not None:
            where += f" ({self.uuid})"
        if self.field:
            where += f", {self.field}"
        return f"{where}: {self.message}."


class CheckResult(Value, frozen=True):
    """What was checked and what is wrong; ``problems`` are in the order of files and records."""

    files: int
    records: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()


def check_run(path: Path | str) -> CheckResult:
    """Check all prediction files of a folder. Raises DataError when it is not there or holds none."""
    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; validate takes a run, the folder of its prediction files.")
    problems: list[Problem] = []
    notes: list[str] = []
    files = records = 0
    places = [(f"{place.name}/", place) for place in capability_folders(folder, folder.name).values()]
    for prefix, place in (*places, ("", folder)):
        found = domain_files(place, prefix.rstrip("/") or ".")
        notes.extend(found.ignored)
        problems.extend(Problem(file=prefix + place.name, message=text.rstrip(".")) for text in found.problems)
        for domain, file_path in found.files.items():
            files += 1
            counted, wrong = _check_file(file_path, prefix + file_path.name, domain)
            records += counted
            problems.extend(wrong)
    if not files:
        raise DataError(without_predictions(folder))
    return CheckResult(files=files, records=records, problems=tuple(problems), notes=tuple(notes))


def check_record(record: Json, domain: str) -> Iterator[tuple[str, str]]:
    """(field, what is wrong) for every problem of one record."""
    if not isinstance(record, dict):
        yield "", f"is {kind_of(record)}, where an object is due"
        return
    yield from _text(record, "uuid", filled=True)
    yield from _text(record, "domain", filled=True)
    if isinstance(record.get("domain"), str) and record["domain"] and record["domain"] != domain:
        yield "domain", f"is {record['domain']!r}, but the file is that of {domain!r}"
    if record.get("status") not in STATUSES:
        yield "status", f"is {_shown(record, 'status')}, where 'success' or 'error' is due"
    yield from _text(record, "error")
    duration = record.get("duration_s")
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        yield "duration_s", f"is {_shown(record, 'duration_s')}, where a number of seconds is due"
    elif not 0 <= duration <= sys.float_info.max:
        yield "duration_s", "is no finite number of seconds from 0 on"
    yield from _output(record)


def _check_file(path: Path, label: str, domain: str) -> tuple[int, list[Problem]]:
    problems: list[Problem] = []
    if path.suffix != ".json":
        problems.append(Problem(file=label, message=f"has the ending {path.suffix!r}, where '.json' is due"))
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
    except OSError as error:
        return 0, [Problem(file=label, message=f"cannot be read: {error.strerror or error}")]
    for mark, name in _MARKS:
        if head.startswith(mark):
            problems.append(Problem(file=label, message=f"begins with {name}; a submission is plain UTF-8"))
            break
    file = RecordFile(path, label)
    problems.extend(
        Problem(file=label, message=text.removeprefix(label).lstrip(" ,").rstrip(".")) for text in file.problems
    )
    first: dict[str, int] = {}
    for span, record in records_of(file):
        uuid = record.get("uuid") if isinstance(record, dict) else None
        known = uuid if isinstance(uuid, str) and uuid else None
        problems.extend(
            Problem(file=label, record=span.number, uuid=known, field=field, message=message)
            for field, message in check_record(record, domain)
        )
        if known is None:
            continue
        if known in first:
            message = f"is also that of record {first[known]}; only the last one counts"
            problems.append(Problem(file=label, record=span.number, uuid=known, field="uuid", message=message))
        first[known] = span.number
    return len(file.spans), problems


def _output(record: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    if "output" not in record and "ground_truth" in record:
        yield "output", "is missing; 'ground_truth' is its name in older exports only"
        return
    output = record.get("output")
    if not isinstance(output, list):
        yield "output", f"is {_shown(record, 'output')}, where a list of one turn is due"
        return
    if len(output) != 1:
        yield "output", f"has {len(output)} turns, where exactly one is due"
    for number, turn in enumerate(output):
        for field, message in _turn(turn):
            yield f"output[{number}]{'.' if field else ''}{field}", message


def _turn(turn: Json) -> Iterator[tuple[str, str]]:
    if not isinstance(turn, dict):
        yield "", f"is {kind_of(turn)}, where an object is due"
        return
    if not isinstance(turn.get("turn_id"), int) or isinstance(turn.get("turn_id"), bool):
        yield "turn_id", f"is {_shown(turn, 'turn_id')}, where a whole number is due"
    yield from _text(turn, "query")
    yield from _text(turn, "answer")
    sequence = turn.get("sequence")
    if not isinstance(sequence, dict):
        yield "sequence", f"is {_shown(turn, 'sequence')}, where an object with tool_call is due"
        return
    calls = sequence.get("tool_call")
    if not isinstance(calls, list):
        yield "sequence.tool_call", f"is {_shown(sequence, 'tool_call')}, where a list of calls is due"
        return
    for number, call in enumerate(calls):
        place = f"sequence.tool_call[{number}]"
        if not isinstance(call, dict):
            yield place, f"is {kind_of(call)}, where an object is due"
            continue
        for field, message in _text(call, "name", filled=True):
            yield f"{place}.{field}", message
        if not isinstance(call.get("arguments"), dict):
            yield f"{place}.arguments", f"is {_shown(call, 'arguments')}, where an object is due"


def _text(record: Mapping[str, Json], field: str, *, filled: bool = False) -> Iterator[tuple[str, str]]:
    value = record.get(field)
    if not isinstance(value, str):
        yield field, f"is {_shown(record, field)}, where text is due"
    elif filled and not value:
        yield field, "is empty"


def _shown(record: Mapping[str, Json], field: str) -> str:
    """How a sentence names what stands in a field."""
    if field not in record:
        return "missing"
    value = record[field]
    if isinstance(value, str):
        return repr(value) if len(value) <= 40 else "text"
    return kind_of(value)
