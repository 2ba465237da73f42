"""Known quirks of VAKRA's tools, each in one sentence, for the response in which it occurs.

A native environment marks most of them itself (the notes of a result); the others are told from the call and its
answer alone, so that they are explained for every environment. A quirk is kept with its number in the observed
behaviour of the release (``S9``, ``R2``), by which the same one is never said twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from toolenv.model import Json, ToolCall, ToolResult

_NUMBER = re.compile(r"\((?:[SREB]\d{1,2})\)")
_NOT_JSON = re.compile(r"(?<![\w\"])(?:NaN|-?Infinity)(?![\w\"])")
_EMPTY = re.compile(r'\s*\{\s*"[^"\\]{0,200}"\s*:\s*\[\s*\]\s*\}\s*')
_HEAD = 100_000
"""Characters of a response in which a quirk is looked for."""


def quirks(call: ToolCall | None, result: ToolResult) -> tuple[str, ...]:
    """What is peculiar about a result, the environment's own notes first."""
    notes = list(result.notes)
    said = {number for note in notes for number in _NUMBER.findall(note)}
    if call is not None and call.raw_arguments is None:
        notes += [text for text in _told(call, result) if not said.intersection(_NUMBER.findall(text))]
    return tuple(notes)


def _told(call: ToolCall, result: ToolResult) -> Iterator[str]:
    text = result.text[:_HEAD]
    # The words of a failure may stand in what an answer is about.
    yield from _of_failures(call, text, result) if result.failed else _of_answers(call, text)


def _of_failures(call: ToolCall, text: str, result: ToolResult) -> Iterator[str]:
    if text.startswith("Error calling API: "):
        yield "the endpoint refused the call, yet the answer is not flagged as an error and the reason is lost (R2)"
    elif "Invalid key_name ['']" in text:
        yield 'key_name "" is refused although it is the schema\'s own default: leave it out (S5)'
    elif text.strip() == "Input validation error: list index out of range":
        yield "a table without rows cannot be filtered; an empty result was due (S15)"
    elif "should be a valid dictionary" in text or "there is no table" in text:
        yield "no table has this handle any more: another get_data or another universe clears all handles"
    elif "Error switching to universe" in text:
        yield "a switch that fails may leave the old table under the new universe's id (S1)"
    elif "is not JSON serializable" in text:
        yield "a column of bytes makes get_data fail, and the number of a handle is used up all the same (S14)"
    elif not result.is_error:
        yield "this is a failure that the tool does not flag as an error"
    if call.name in ("truncate", "select_unique_values"):
        yield f"{call.name} takes a literal list alone, never the handle of a table (S13)"


def _of_answers(call: ToolCall, text: str) -> Iterator[str]:
    if _NOT_JSON.search(text) and text[:1] in "{[":
        yield "NaN and Infinity stand in the answer as they are, which strict JSON readers refuse (S14)"
    operation = call.arguments.get("operation")
    if call.name == "Calculator" and operation == "divide" and _holds_nan(text) and _not_positive(call.arguments):
        yield "division by a negative number or by zero gives nan here (S9)"
    if call.name == "concatenate_data" and text.strip() == "":
        yield "an empty answer: the two tables do not have the same columns"
    if not call.name.startswith(("query_", "get_data")) and _EMPTY.fullmatch(text):
        yield "an empty list is how these tools say that no row was found, also where one value was asked for"


def _holds_nan(text: str) -> bool:
    return re.search(r"(?i)\bnan\b", text) is not None


def _not_positive(arguments: Mapping[str, Json]) -> bool:
    divisor = arguments.get("input_2")
    listed: Sequence[Json] = divisor if isinstance(divisor, list) else [divisor]
    return any(isinstance(one, int | float) and one <= 0 for one in listed)
