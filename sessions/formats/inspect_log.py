"""Logs of Inspect: ``.eval`` (a zip with a JSON file a sample) and ``.json`` (one object with ``samples``).

A sample's ``messages`` carry the calls, with a call's ``function`` a name and its ``arguments`` an object; texts that
several places share stand once in ``attachments`` and are referred to by ``attachment://<hash>``.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sessions.formats.messages import imported as imported_messages
from sessions.formats.model import Imported
from toolenv.decoding import decoded
from toolenv.errors import DataError
from toolenv.model import Json

LARGEST_SAMPLE = 512 * 1024 * 1024
"""Bytes that one sample may unpack to; more is refused, whatever the archive promises."""

ZSTANDARD = 93
"""The zip method of newer logs, which the standard library reads from Python 3.14 on."""

_ATTACHMENT = "attachment://"


def samples_in_archive(path: Path) -> Iterator[tuple[str, Json]]:
    """(name, sample) of every sample of an ``.eval`` file. Raises ``DataError`` for one that cannot be read."""
    try:
        with _archive(path) as archive:
            for info in archive.infolist():
                if not (info.filename.startswith("samples/") and info.filename.endswith(".json")):
                    continue
                if info.file_size > LARGEST_SAMPLE:
                    raise DataError(f"{path}: {info.filename} unpacks to {info.file_size} bytes, which is too much")
                with archive.open(info) as stream:
                    data = stream.read(LARGEST_SAMPLE + 1)
                if len(data) > LARGEST_SAMPLE:
                    raise DataError(f"{path}: {info.filename} unpacks to more than it says")
                yield info.filename, decoded(data)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise DataError(f"{path} cannot be read as a log of Inspect: {error}") from error


def _archive(path: Path) -> Any:
    archive = zipfile.ZipFile(path)
    if not any(info.compress_type == ZSTANDARD for info in archive.infolist()):
        return archive
    archive.close()
    try:
        from backports.zstd import zipfile as zstd_zipfile
    except ImportError as error:
        raise DataError(f"{path} is packed with Zstandard; install the package backports.zstd to read it") from error
    return zstd_zipfile.ZipFile(path)


def imported(sample: Json, name: str, default_uuid: str) -> Imported:
    """One sample."""
    if not isinstance(sample, Mapping):
        return imported_messages([], name, "inspect", default_uuid)
    attachments = sample.get("attachments")
    texts: Mapping[str, Json] = attachments if isinstance(attachments, Mapping) else {}
    messages = _with_attachments(sample.get("messages"), texts)
    metadata = sample.get("metadata")
    about: Mapping[str, Json] = metadata if isinstance(metadata, Mapping) else {}
    record: dict[str, Json] = {"messages": messages}
    uuid = about.get("uuid") or sample.get("id")
    record["uuid"] = str(uuid) if uuid is not None else default_uuid
    for key in ("domain", "capability"):
        if key in about:
            record[key] = about[key]
    found = imported_messages(record, name, "inspect", default_uuid)
    kept = {key: sample[key] for key in ("epoch", "target", "scores", "metadata", "error") if sample.get(key)}
    return msgspec.structs.replace(found, extra=kept)


def _with_attachments(value: Json, texts: Mapping[str, Json]) -> Json:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return texts.get(value[len(_ATTACHMENT) :], value)
    if isinstance(value, list):
        return [_with_attachments(item, texts) for item in value]
    if isinstance(value, dict):
        return {key: _with_attachments(item, texts) for key, item in value.items()}
    return value
