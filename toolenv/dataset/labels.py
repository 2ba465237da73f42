"""The older style of ground truth, in which a call names an earlier call's table by a label.

There a call carries ``"label": "FILTERED_DF_0"`` and a later one says ``"data_source": "$FILTERED_DF_0.data_path$"``.
Today's tools take the handle of that table as ``data_label``. The rule:

* ``data_source`` is ``data_label`` (also with a suffix: ``data_source_1`` is ``data_label_1``);
* ``$LABEL.<anything>$`` stands for the handle that the call labelled ``LABEL`` makes when it runs, or for the value
  that it gives where it makes no table;
* the label of the opening (``initialize_active_data``, usually ``starting_table_var``) stands for the handle of the
  session's opening;
* a label that no earlier call made stays as it is written, and the tool refuses it as it would an unknown handle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import msgspec

from toolenv.model import Json, ToolCall, ToolResult, ToolSpec
from toolenv.values import decode

OPENING_LABEL: Final = "starting_table_var"
"""The label that the opening has in the published data; it always stands for the opening's handle."""

_PLACEHOLDER = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z_][A-Za-z0-9_]*)?\$")
_RENAMED = re.compile(r"data_source(_\d+)?")


def label_in(value: Json) -> str | None:
    """The label that an argument's value refers to, or None where it is no placeholder."""
    if not isinstance(value, str):
        return None
    found = _PLACEHOLDER.fullmatch(value)
    return found[1] if found else None


def uses_labels(call: ToolCall) -> bool:
    """Whether a call is written in the label style: it has a label, or it refers to one."""
    return call.label is not None or any(label_in(value) for value in call.arguments.values())


def resolve(call: ToolCall, results: Mapping[str, ToolResult | str], spec: ToolSpec | None = None) -> ToolCall:
    """The call as today's tools take it: labels replaced by what is behind them, ``data_source`` by ``data_label``.

    ``results`` grows while a path runs: each executed call with a label adds its result or the handle that it made. A
    result without a handle stands for the value that its text says. With a ``spec`` that knows ``data_source``
    itself, that name is kept. The call itself is returned where nothing is to be done.
    """
    if not uses_labels(call):
        return call
    known = spec.input_schema.get("properties") if spec is not None else None
    arguments: dict[str, Json] = {}
    for name, value in call.arguments.items():
        label = label_in(value)
        renamed = _RENAMED.fullmatch(name)
        if renamed and not (isinstance(known, Mapping) and name in known):
            today = f"data_label{renamed[1] or ''}"
            name = name if today in call.arguments else today
        result = results.get(label) if label is not None else None
        arguments[name] = value if result is None else _behind(result)
    if arguments == call.arguments:
        return call
    return msgspec.structs.replace(call, arguments=arguments)


def _behind(result: ToolResult | str) -> Json:
    if isinstance(result, str):
        return result
    return result.handle if result.handle is not None else decode(result.text)


def opening_labels(first_call: ToolCall | None) -> tuple[str, ...]:
    """The labels that stand for the handle of the session's opening, given the call that a side begins with."""
    opens = first_call is not None and first_call.name in ("initialize_active_data", "get_data")
    if opens and first_call is not None and first_call.label is not None:
        return tuple(dict.fromkeys((first_call.label, OPENING_LABEL)))
    return (OPENING_LABEL,)
