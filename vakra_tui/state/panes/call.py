"""The call tab: each argument beside what the schema says of it, and where its value comes from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolenv.schema import arguments_of
from vakra_tui.state.form import Field, fields_of, fits
from vakra_tui.state.json_tree import scalar_line
from vakra_tui.state.lines import HANG, Line, Lines, Role, Span, line
from vakra_tui.state.panes.truth import short_json
from vakra_tui.state.scene import ArgumentRow, Origin, StepRow
from vakra_tui.text import one_line

WIDEST_NAME = 24

MOST_CHOICES = 12
"""Values of an enumeration that are named."""

MOST_ALSO = 3
"""Further places of a value that are named beside it; the provenance tab names all that are known."""

_TYPES = frozenset({"boolean", "integer", "number", "string", "array", "object", "null"})


class CallLines(Lines):
    """Lines of which some are arguments that can be chosen: ``stops`` are (line, argument)."""

    def __init__(self, lines: Sequence[Line], stops: Sequence[tuple[int, ArgumentRow]]) -> None:
        super().__init__(lines)
        self.stops = tuple(stops)

    def stop_row(self, number: int) -> int:
        """The row on which an argument begins, for the width last laid out."""
        return self.first_row(self.stops[number][0])


def argument_rows(row: StepRow) -> tuple[ArgumentRow, ...]:
    """The arguments of a call, with what is known of each."""
    call = row.call
    if call is None or call.raw_arguments is not None:
        return ()
    return row.arguments or tuple(ArgumentRow(name=name, value=value) for name, value in call.arguments.items())


def argument_blocks(row: StepRow) -> list[tuple[ArgumentRow | None, list[Line]]]:
    """The lines of each argument in the order of the call, then those that the call leaves out (None)."""
    call = row.call
    if call is None:
        return []
    if call.raw_arguments is not None:
        return [(None, [line(("  not a JSON object: ", "fail"), (call.raw_arguments, "code"))])]
    given = argument_rows(row)
    fields = {field.name: field for field in fields_of(row.spec)} if row.spec is not None else {}
    left_out = [field for field in fields.values() if field.name not in call.arguments]
    names = [*(argument.name for argument in given), *(field.name for field in left_out if field.required)]
    width = min(max((len(one_line(name, 80)) for name in names), default=0), WIDEST_NAME)
    blocks: list[tuple[ArgumentRow | None, list[Line]]] = []
    for argument in given:
        field = fields.get(argument.name)
        lines = [_given(argument, field, width)]
        if row.spec is not None:
            if field is None and argument.note:
                lines = [_given(msgspec.structs.replace(argument, note=""), field, width)]
            lines += _schema_lines(argument, field, arguments_of(row.spec).open, width)
        blocks.append((argument, lines))
    if not given:
        blocks.append((None, [line(("  none", "dim"))]))
    blocks += [(None, [_missing(field, width)]) for field in left_out if field.required]
    optional = [f"{one_line(field.name, 80)} ({short_schema(field)})" for field in left_out if not field.required]
    if optional:
        blocks.append((None, [line(("  not given  ", "dim"), HANG, (", ".join(optional), "dim"))]))
    return blocks


def _given(argument: ArgumentRow, field: Field | None, width: int) -> Line:
    """Name, value as written, what it was converted to, its schema, where it comes from, what the reference has."""
    parts = [Span(f"  {one_line(argument.name, 80):<{width}}  ", "key"), HANG, scalar_line(argument.value)]
    if argument.coerced:
        parts += [
            Span(" ~> ", "dim"),
            Span(short_json(argument.executed), "number"),
            Span(" as the schema says", "dim"),
        ]
    if field is not None:
        parts.append(Span(f"  {short_schema(field)}", "dim"))
    if argument.origin:
        role: Role = "warn" if argument.grounded is False else "dim"
        also = also_words(argument.origins, MOST_ALSO)
        parts += [
            Span("   \u2190\u00a0", "dim"),
            Span(argument.origin, role),
            Span(f" ({also})" if also else "", "dim"),
        ]
    if argument.note:
        parts.append(Span(f"  {argument.note}", "warn"))
    return tuple(parts)


def _schema_lines(argument: ArgumentRow, field: Field | None, opened: bool, width: int) -> list[Line]:
    """How the value breaks the schema, and what the schema says of the argument in words."""
    lead = Span(" " * (width + 4), "")
    if field is None:
        ignored: tuple[str, Role] = ("not in the schema: the tool ignores it", "warn")
        unknown: tuple[str, Role] = ("\u2717 the tool has no such argument", "fail")
        return [line(lead, HANG, ignored if opened else unknown)]
    lines = []
    broken = violation(argument, field)
    if broken:
        lines.append(line(lead, HANG, (f"\u2717 {broken}", "fail")))
    if field.description:
        lines.append(line(lead, HANG, (one_line(field.description, 400), "dim")))
    return lines


def short_schema(field: Field) -> str:
    """Type, whether it is required, what may be chosen, the default: as far as the schema has them."""
    words = [field.kind]
    if field.required:
        words.append("required")
    if field.closed and field.types != ("boolean",):
        words.append("one of " + " | ".join(one_line(choice, 40) for choice in field.choices[:MOST_CHOICES]))
        if len(field.choices) > MOST_CHOICES:
            words[-1] += f" and {len(field.choices) - MOST_CHOICES} more"
    if field.has_default and not field.constant:
        words.append(f"default {short_json(field.default)}")
    return ", ".join(words)


def violation(argument: ArgumentRow, field: Field) -> str:
    """How a value breaks what the schema says of its argument, empty where it does not."""
    value = argument.executed if argument.coerced else argument.value
    whole = isinstance(value, float) and value.is_integer() and "integer" in field.types
    if set(field.types) <= _TYPES and not fits(value, field.types) and not whole:
        return f"{_kind(value)} where the schema wants {field.kind}"
    if field.closed and field.types != ("boolean",):
        text = value if isinstance(value, str) else short_json(value, 400)
        if text not in field.choices:
            return "none of the values that the schema allows"
    return ""


def _kind(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null")


def _missing(field: Field, width: int) -> Line:
    """A required argument that the call leaves out."""
    about = f"  {short_schema(field)}" + (f": {one_line(field.description, 400)}" if field.description else "")
    return line((f"  {one_line(field.name, 80):<{width}}  ", "fail"), HANG, ("\u2717 missing", "fail"), (about, "dim"))


def also_words(origins: Sequence[Origin], most: int) -> str:
    """Where else the only scalar of an argument was seen, as ``also in the query, step 2, 5``; else empty."""
    others = origins[0].others if len(origins) == 1 else ()
    steps = sorted({other.step for other in others if other.step})
    said = [place_words(other) for other in others if not other.step]
    said += [f"step {number}" if index == 0 else str(number) for index, number in enumerate(steps)]
    if not said:
        return ""
    more = f" and {len(said) - most} more" if len(said) > most else ""
    return f"also in {', '.join(said[:most])}{more}"


def place_words(origin: Origin) -> str:
    """A place that can be gone to, in two words: ``step 3``, ``turn 1``, ``the query``."""
    if origin.step is not None:
        return f"step {origin.step}" if origin.step else "the opening"
    return f"turn {origin.turn}" if origin.turn is not None else f"the {origin.seen}"


def jumpable(argument: ArgumentRow) -> tuple[Origin, ...]:
    """The origins of an argument that can be gone to, each place once."""
    found: dict[tuple[str, int | None, int | None], Origin] = {}
    for origin in argument.origins:
        if origin.seen in ("query", "context", "policy", "response", "handle"):
            found.setdefault((origin.seen, origin.step, origin.turn), origin)
    return tuple(found.values())
