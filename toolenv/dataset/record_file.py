"""A file of records (a JSON array, or JSON lines), indexed by offset and decoded one record at a time.

What a person's editor or an interrupted program leaves behind is taken as it comes: byte order marks, UTF-16, CRLF, a
torn end. Each thing that is wrong becomes one sentence in ``problems``, naming file and record; the other records
load.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from toolenv.decoding import TooDeep, is_too_deep, may_hold_lone_surrogates, what_is_wrong, without_lone_surrogates
from toolenv.errors import DataError
from toolenv.model import Json, Value

_CHUNK: Final = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]]|"', re.DOTALL)
_SCALAR_END = re.compile(r"[\s,\]}]")
_ESCAPED_BYTES = re.compile(r"[\udc80-\udcff]")

Visitor = Callable[[int, Json], None]
"""Called with a record's place in ``spans`` and its value; the value is not kept."""


class Span(Value, frozen=True):
    """Where one record lies: ``start`` and ``length`` in bytes of the file's UTF-8 text, ``number`` counted from 1."""

    start: int
    length: int
    number: int


class RecordFile:
    """The index of one file: the spans of its records, and what is wrong with it.

    ``repeated`` holds the uuids that several records have, once it is indexed by uuid. ``problems`` are sentences
    about what could not be used, ``notes`` about what was odd and used all the same. ``torn`` says that the file ends
    before its content does, as one does that is being written. ``label`` is how sentences name the file. For a UTF-16
    file the text is kept in memory as UTF-8.
    """

    def __init__(self, path: Path, label: str, visit: Visitor | None = None) -> None:
        self.path = path
        self.label = label
        self.spans: list[Span] = []
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.torn = False
        self.repeated: frozenset[str] = frozenset()
        self._visit = visit
        self._text: bytes | None = None
        self._identity: tuple[int, int] | None = None
        try:
            with path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                self._identity = (status.st_size, status.st_mtime_ns)
                self._scan(stream)
        except OSError as error:
            self.problems.append(f"{label} cannot be read: {error.strerror or error}.")
        self._visit = None

    def read(self, span: Span) -> Json:
        """The value of one record. Raises DataError when the file is gone or changed since it was indexed."""
        return _decoded(self._bytes(span))

    def _bytes(self, span: Span) -> bytes:
        if self._text is not None:
            return self._text[span.start : span.start + span.length]
        try:
            with self.path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                if (status.st_size, status.st_mtime_ns) != self._identity:
                    raise DataError(f"{self.label} has changed since it was opened; open it again.")
                stream.seek(span.start)
                return stream.read(span.length)
        except OSError as error:
            raise DataError(f"{self.label} cannot be read: {error.strerror or error}.") from error

    # --- scanning -----------------------------------------------------------------------------------------------------

    def _scan(self, stream: BinaryIO) -> None:
        head = stream.read(4)
        stream.seek(0)
        if not head:
            self.torn = True
            self.problems.append(f"{self.label} is empty.")
            return
        encoding = json.detect_encoding(head)
        start = 0
        if encoding == "utf-8-sig":
            start = len(codecs.BOM_UTF8)
            stream.seek(start)
        elif encoding != "utf-8":
            try:
                self._text = stream.read().decode(encoding).lstrip("\ufeff").encode("utf-8", "replace")
            except UnicodeDecodeError as error:
                name = encoding.upper()
                self.problems.append(f"{self.label} begins as {name}, but is not {name} at byte {error.start}.")
                return
            stream = io.BytesIO(self._text)
        if self.path.suffix.lower() == ".jsonl":
            self._scan_lines(stream, start)
        else:
            self._scan_array(_Window(stream, start))

    def _keep(self, start: int, length: int, number: int, value: Json) -> None:
        self.spans.append(Span(start=start, length=length, number=number))
        if self._visit is not None:
            self._visit(len(self.spans) - 1, value)

    def _scan_lines(self, stream: BinaryIO, start: int) -> None:
        for number, line in enumerate(stream, start=1):
            body = line.strip()
            if body:
                offset = start + line.index(body)
                try:
                    value = _decoded(body)
                    if is_too_deep(value):
                        raise TooDeep
                except (ValueError, RecursionError) as error:
                    self.torn = not line.endswith(b"\n")
                    self.problems.append(f"{self.label}, line {number} {_wrong_line(error)}.")
                else:
                    self._keep(offset, len(body), number, value)
            start += len(line)
        if not self.spans and not self.problems:
            self.problems.append(f"{self.label} holds no records.")

    def _scan_array(self, window: _Window) -> None:
        first = window.skip_blanks()
        if first != "[":
            self.problems.append(f"{self.label} {self._wrong_top(first, window)}")
            return
        window.advance(1)
        number = 0
        while True:
            character = window.skip_blanks()
            if character == "]":
                window.advance(1)
                if window.skip_blanks():
                    self.problems.append(f"{self.label} has text after its list at byte {window.offset()}.")
                return
            if character == ",":
                self.problems.append(f"{self.label} has a comma too many at byte {window.offset()}.")
                window.advance(1)
                continue
            if not character:
                self.torn = True
                self.problems.append(
                    f"{self.label} ends at byte {window.offset()} without the end of its list; "
                    f"the {len(self.spans)} records before were read."
                )
                return
            number += 1
            if not self._scan_element(window, number):
                self.torn = True
                self.problems.append(
                    f"{self.label} is cut off in the record that begins at byte {window.offset()}; "
                    f"the {len(self.spans)} before it were read."
                )
                return
            if not self._scan_separator(window, number):
                return

    def _scan_element(self, window: _Window, number: int) -> bool:
        """Take in one element; false when the file ends inside it."""
        while True:
            try:
                value, length = window.decode()
            except (ValueError, RecursionError) as error:
                length = window.element_length()
                if length == 0:
                    if window.fill():
                        continue
                    return False
                self.problems.append(f"{self.label}, record {number} (byte {window.offset()}) {what_is_wrong(error)}.")
                window.advance(length)
                return True
            if length == window.available() and window.fill():
                continue
            start, size, clean = window.measure(length)
            if not clean:
                self.problems.append(f"{self.label}, record {number} (byte {start}) is not valid UTF-8.")
            elif is_too_deep(value):
                self.problems.append(f"{self.label}, record {number} (byte {start}) {what_is_wrong(TooDeep())}.")
            else:
                self._keep(start, size, number, value)
            window.advance(length)
            return True

    def _scan_separator(self, window: _Window, number: int) -> bool:
        """Step over what separates two elements; false when the rest of the file cannot be understood."""
        character = window.skip_blanks()
        if character == ",":
            window.advance(1)
        elif character == "{":
            self.problems.append(f"{self.label} lacks a comma after record {number}, at byte {window.offset()}.")
        elif character not in ("]", ""):
            self.problems.append(
                f"{self.label} has text that is no record at byte {window.offset()}, after record {number}; "
                "nothing after it was read."
            )
            return False
        return True

    def _wrong_top(self, first: str, window: _Window) -> str:
        if not first:
            self.torn = True
            return "holds nothing but white space."
        if first != "{":
            shown = repr(first) if _ESCAPED_BYTES.match(first) is None else f"the byte {ord(first) - 0xDC00:#04x}"
            return f"is not a JSON list of records (it begins with {shown})."
        while True:
            try:
                value, _ = window.decode()
                break
            except (ValueError, RecursionError):
                if not window.fill():
                    self.torn = True
                    return "is neither a complete JSON object nor a list of records."
        for name, member in value.items():
            if isinstance(member, list) and member and all(isinstance(item, dict) for item in member):
                if name in ("output", "ground_truth") and "uuid" in value:
                    break
                return f"is an object that holds the list under {name!r}; the list itself must be at the top."
        return "is one JSON object, not a list of records."


class _Window:
    """A sliding window over the text of a stream, with a place in it known in characters and in bytes of the file."""

    def __init__(self, stream: BinaryIO, start: int) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._raw = json.JSONDecoder()
        self._text = ""
        self._position = 0
        self._offset = start
        self._size = _CHUNK
        self._ended = False

    def fill(self) -> bool:
        """Read on; false at the end of the file. The window doubles while one element does not fit."""
        if self._ended:
            return False
        self._drop()
        if self._text:
            self._size = min(self._size * 2, 1 << 28)
        chunk = self._stream.read(self._size)
        self._text += self._decoder.decode(chunk, final=not chunk)
        self._ended = not chunk
        return bool(chunk)

    def _drop(self) -> None:
        self._text = self._text[self._position :]
        self._position = 0

    def skip_blanks(self) -> str:
        """Move to the next character that is not white space and return it; empty at the end."""
        while True:
            found = _BLANK.match(self._text, self._position)
            if found is not None:
                self._offset += found.end() - self._position
                self._position = found.end()
            if self._position < len(self._text):
                return self._text[self._position]
            if not self.fill():
                return ""

    def advance(self, length: int) -> None:
        self._offset += _byte_length(self._text[self._position : self._position + length])
        self._position += length
        if self._position >= _CHUNK:
            self._drop()
            self._size = _CHUNK

    def available(self) -> int:
        return len(self._text) - self._position

    def offset(self) -> int:
        return self._offset

    def decode(self) -> tuple[Json, int]:
        value, end = self._raw.raw_decode(self._text, self._position)
        return value, end - self._position

    def measure(self, length: int) -> tuple[int, int, bool]:
        """(first byte, bytes, whether the text is valid UTF-8) of the next ``length`` characters."""
        element = self._text[self._position : self._position + length]
        clean = element.isascii() or _ESCAPED_BYTES.search(element) is None
        return self._offset, _byte_length(element), clean

    def element_length(self) -> int:
        """Length of the element that begins here, told by its brackets alone; 0 when its end is not in the window."""
        if self._text[self._position] not in "{[":
            found = _SCALAR_END.search(self._text, self._position + 1)
            return found.start() - self._position if found else 0
        depth = 0
        for token in _TOKENS.finditer(self._text, self._position):
            mark = token.group()
            if mark == '"':
                return 0
            if mark in "{[":
                depth += 1
            elif mark in "}]":
                depth -= 1
                if depth == 0:
                    return token.end() - self._position
        return 0


def _wrong_line(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "is not valid UTF-8 (cut off or damaged)"
    return "is not a complete JSON value" if isinstance(error, json.JSONDecodeError) else what_is_wrong(error)


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _decoded(raw: bytes) -> Json:
    value = json.loads(raw.decode("utf-8"))
    return without_lone_surrogates(value) if may_hold_lone_surrogates(raw) else value


def records_of(file: RecordFile) -> Iterator[tuple[Span, Json]]:
    """Every record of a file, decoded one at a time."""
    for span in file.spans:
        yield span, file.read(span)
