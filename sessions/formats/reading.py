"""Reading a file of trajectories in whichever form it has.

A file is never changed. What can be read is read; the rest is said in sentences that name file, record and what was
expected, so that nothing is lost or mended in silence.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from sessions.formats import inspect_log, lines, messages, otel, runner
from sessions.formats.model import Imported, from_prediction
from toolenv.decoding import TOO_DEEP, is_too_deep
from toolenv.errors import DataError
from toolenv.files import endless, followed, read_input
from toolenv.model import Json

FORMATS = ("submission", "vakra", "openai", "inspect", "otel", "jsonl")
"""The forms that can be read: submission files, records of VAKRA's runner, chat messages, logs of Inspect, OTLP JSON,
and this program's own JSON lines."""

LARGEST_FILE = 2 * 1024 * 1024 * 1024

_SUBMISSION = frozenset({"uuid", "domain", "status", "error", "duration_s", "output", "ground_truth", "query"})


_EXPORTED_ONLY: Mapping[str, frozenset[str]] = {
    "atif": frozenset({"schema_version", "agent", "steps"}),
    "preferences": frozenset({"prompt", "chosen", "rejected"}),
}
"""Forms that are written and not read, and the keys that tell a record of them."""

_TURN = frozenset({"turn_id", "query", "answer", "sequence", "gold_sequence", "tool_call", "tool_response"})


def read(path: Path, form: str | None = None) -> Iterator[Imported | str]:
    """The trajectories of a file, and sentences about records that hold none.

    ``form`` says which form it has where that cannot be told. Raises ``DataError`` for a file that cannot be read at
    all.
    """
    name = path.name
    try:
        is_file = endless(path) is None
        if is_file and path.stat().st_size > LARGEST_FILE:
            raise DataError(f"{path} is larger than {LARGEST_FILE} bytes; split it")
        if is_file and form in (None, "inspect") and zipfile.is_zipfile(path):
            for sample, value in inspect_log.samples_in_archive(path):
                yield inspect_log.imported(value, f"{name}: {sample}", Path(sample).stem)
            return
        text = _text(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if form == "jsonl" or (form is None and f'"{lines.FORMAT}"' in text[:200]):
        yield from lines.read_lines(iter(enumerate(text.split("\n"), start=1)), name)
        return
    values, several = _values(path, text)
    problems = [value for value in values if isinstance(value, _Unreadable)]
    yield from (f"{name}, line {problem.line} cannot be read ({problem.why})" for problem in problems)
    yield from _records([value for value in values if not isinstance(value, _Unreadable)], several, name, path, form)


class _Unreadable:
    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why


def _text(path: Path) -> str:
    data = read_input(path, "trajectories from")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{path} is UTF-16; save it as UTF-8")
    return data.decode("utf-8-sig", "replace")


def _values(path: Path, text: str) -> tuple[list[Json], bool]:
    """The JSON values of a file and whether they stand a line each."""
    if not text.strip():
        raise DataError(f"{path} is empty")
    try:
        return [json.loads(text)], False
    except RecursionError as error:
        raise DataError(f"{path} is nested too deeply") from error
    except ValueError as whole:
        first = text.lstrip().split("\n", 1)[0]
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            raise DataError(f"{path} is no JSON: {whole}; nothing was read") from whole
        found: list[Json] = []
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    found.append(json.loads(line))
                except (ValueError, RecursionError) as error:
                    found.append(_Unreadable(number, str(error)))
        return found, True


def _records(values: list[Json], several: bool, name: str, path: Path, form: str | None) -> Iterator[Imported | str]:
    """The trajectories of a file's values; a record that is nested too deeply costs itself only."""
    if form in (None, "otel") and values and all(map(otel.is_otlp, values)):
        yield from (f"{name} {TOO_DEEP}" for value in values if is_too_deep(value))
        found = list(otel.imported([value for value in values if not is_too_deep(value)], name))
        yield from found
        if not found:
            yield f"{name}: no span carries a tool call"
        return
    whole = values[0] if len(values) == 1 and not several else None
    if form in (None, "inspect") and isinstance(whole, Mapping) and isinstance(whole.get("samples"), list):
        for number, sample in enumerate(whole["samples"], start=1):
            if is_too_deep(sample):
                yield f"{name}: sample {number} {TOO_DEEP}"
            else:
                yield inspect_log.imported(sample, f"{name}: sample {number}", f"{path.stem}-{number}")
        return
    if form in (None, "openai") and isinstance(whole, list) and whole and all(map(_is_message, whole)):
        if is_too_deep(whole):
            yield f"{name} {TOO_DEEP}"
            return
        yield messages.imported(whole, name, "openai", path.stem)
        return
    records = whole if isinstance(whole, list) else values
    for number, record in enumerate(records, start=1):
        if is_too_deep(record):
            yield f"{name}: record {number} {TOO_DEEP}"
            continue
        yield _record(record, f"{name}: record {number}", f"{path.stem}-{number}", path, form)


def _is_message(value: Json) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str)


def _record(record: Json, name: str, uuid: str, path: Path, form: str | None) -> Imported | str:
    if isinstance(record, list) and form in (None, "openai") and record and all(map(_is_message, record)):
        return messages.imported(record, name, "openai", uuid)
    if not isinstance(record, Mapping):
        return f"{name}: an object was expected, not {type(record).__name__}"
    if form == "openai" or (form is None and "messages" in record):
        return messages.imported(record, name, "openai", uuid)
    is_submission = "output" in record or "ground_truth" in record
    if form == "vakra" or (form is None and not is_submission and runner.is_runner_record(record)):
        return runner.imported(record, name, uuid)
    if form is None and not is_submission and (unread := _unread(record)) is not None:
        return f"{name}: {unread}; the forms that are read are {', '.join(FORMATS)}"
    if form in (None, "submission"):
        return _submission(record, name, uuid, path)
    return f"{name}: this is no record of the form {form!r}"


def _unread(record: Mapping[str, Json]) -> str | None:
    """What a record is that is in no form that can be read; None for one that may be a submission's."""
    for written, keys in _EXPORTED_ONLY.items():
        if record.keys() >= keys:
            return f"this is a record of the form {written!r}, which is written only"
    return None if record.keys() & _SUBMISSION else "this is a record of no known form"


def _submission(record: Mapping[str, Json], name: str, uuid: str, path: Path) -> Imported:
    from toolenv.dataset.records import prediction_from

    own = record.get("uuid")
    problems = [] if isinstance(own, str) else [f"{name}: uuid: text was expected"]
    domain = record.get("domain")
    if not isinstance(domain, str):
        problems.append(f"{name}: domain: text was expected; the file's name is taken")
    capability = _capability_of(path)
    prediction = prediction_from(
        capability, domain if isinstance(domain, str) else path.stem, own if isinstance(own, str) else uuid, record
    )
    problems.extend(f"{name}: {problem}" for problem in prediction.problems)
    extra = {key: value for key, value in record.items() if key not in _SUBMISSION}
    beside = _beside_turns(record)
    if beside:
        extra["output"] = beside
    return Imported(
        name=name,
        form="submission",
        trajectory=from_prediction(prediction),
        extra=extra,
        problems=tuple(problems),
    )


def _beside_turns(record: Mapping[str, Json]) -> list[Json]:
    """The keys of each output turn that the format does not have; empty where no turn has any."""
    turns = record.get("output", record.get("ground_truth"))
    found = [
        {key: value for key, value in turn.items() if key not in _TURN} if isinstance(turn, Mapping) else {}
        for turn in (turns if isinstance(turns, list) else [])
    ]
    return found if any(found) else []


def _capability_of(path: Path) -> int | None:
    from toolenv.model import CAPABILITY_DIRS

    return next((number for number, folder in CAPABILITY_DIRS.items() if followed(path).parent.name == folder), None)
