"""Indexing a file of records by uuid: which record counts, and what the others are."""

from __future__ import annotations

import json
from pathlib import Path

from toolenv.dataset.record_file import RecordFile, Span
from toolenv.model import Json, Value


class RecordCounts(Value, frozen=True):
    """What a domain's ground-truth file holds: all records, those without a usable uuid, replaced duplicates."""

    records: int
    without_uuid: int
    duplicates: int


def index_by_uuid(path: Path, label: str) -> tuple[RecordFile, dict[str, Span], RecordCounts]:
    """Index a file of records by uuid: the file, the span of the last record of each uuid, and what was counted.

    The order is that of the records that count. Problems and notes are added to the file's own.
    """
    uuids: list[str | None] = []
    odd: list[str] = []

    def visit(index: int, record: Json) -> None:
        uuid = record.get("uuid") if isinstance(record, dict) else None
        if isinstance(uuid, str) and uuid:
            uuids.append(uuid)
            return
        uuids.append(None)
        odd.append(_no_uuid(record))

    file = RecordFile(path, label, visit)
    found: dict[str, Span] = {}
    numbers: dict[str, list[int]] = {}
    complaints = iter(odd)
    for span, known in zip(file.spans, uuids, strict=True):
        if known is None:
            file.problems.append(f"{label}, record {span.number} {next(complaints)}; it was left out.")
            continue
        found.pop(known, None)
        found[known] = span
        numbers.setdefault(known, []).append(span.number)
    file.repeated = frozenset(uuid for uuid, places in numbers.items() if len(places) > 1)
    for uuid, places in numbers.items():
        if len(places) > 1:
            where = ", ".join(str(number) for number in places)
            file.notes.append(f"{label} has the uuid {uuid} in records {where}; the last one counts.")
    counts = RecordCounts(
        records=len(file.spans), without_uuid=len(odd), duplicates=len(file.spans) - len(odd) - len(found)
    )
    return file, found, counts


def _no_uuid(record: Json) -> str:
    if not isinstance(record, dict):
        return "is no object"
    if "uuid" not in record:
        return "has no uuid"
    value = record["uuid"]
    if value in (None, ""):
        return "has an empty uuid"
    written = json.dumps(value)
    return f"has the uuid {written if len(written) <= 80 else written[:80] + '...'}, which is not text"
