"""``vakra-tui compare``: two reports on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from eval.compare import Comparison, Pairs, compare, differences
from eval.report import Summary, read
from vakra_tui.cli.parser import Parser
from vakra_tui.cli.streams import narrate, stdout
from vakra_tui.text import sanitize

LISTED = 20
"""How many differing instances are named; ``--format json`` has them all."""


def main(argv: Sequence[str]) -> int:
    parser = Parser(prog="vakra-tui compare", description="Compare two reports on the instances that both count.")
    parser.add_argument("first", metavar="REPORT", help="a file that --out wrote, or - for stdin")
    parser.add_argument("second", metavar="REPORT")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    arguments = parser.parse_args(argv)
    first, second = read(Path(arguments.first)), read(Path(arguments.second))
    for difference in differences(first.origin, second.origin):
        narrate(f"vakra-tui compare: {difference}")
    result = compare(first.passed(), second.passed())
    with stdout() as stream:
        if arguments.format == "json":
            stream.write(msgspec.json.format(msgspec.json.encode(_json(result, first, second)), indent=1) + b"\n")
        else:
            stream.write(text(result, _name(first), _name(second)).encode() + b"\n")
    return 0


def _name(report: Summary) -> str:
    return str(report.run.get("name"))


def _json(result: Comparison, first: Summary, second: Summary) -> dict[str, object]:
    return {"first": _name(first), "second": _name(second), **msgspec.to_builtins(result)}


def text(result: Comparison, first: str, second: str) -> str:
    """The comparison for a terminal."""
    lines = [f"first: {first}", f"second: {second}", ""]
    header = f"{'capability':>10}  {'n':>6}  {'both':>6}  {'first':>6}  {'second':>6}  {'neither':>7}"
    rows = [*((str(name), pairs) for name, pairs in result.capabilities.items()), ("all", result.pairs)]
    lines += [header, *(_row(name, pairs) for name, pairs in rows), ""]
    if result.difference is None or result.ci95 is None:
        lines.append("no instance is counted in both reports")
    else:
        low, high = (100 * end for end in result.ci95)
        lines.append(f"second - first: {100 * result.difference:+.1f} points (95% {low:+.1f} to {high:+.1f})")
        lines.append(
            "McNemar: the runs differ on no instance"
            if result.p_value is None
            else f"McNemar: p = {result.p_value:.4g}"
        )
    if result.pairs.only_in_first or result.pairs.only_in_second:
        only = f"{result.pairs.only_in_first} only in the first, {result.pairs.only_in_second} only in the second"
        lines.append(f"not compared: {only}")
    for title, keys in (("only second right", result.gained), ("only first right", result.lost)):
        for capability, domain, uuid in keys[:LISTED]:
            lines.append(f"{title}: {uuid} (capability {capability}, {domain})")
        if len(keys) > LISTED:
            lines.append(f"{title}: {len(keys) - LISTED} more")
    return "\n".join(sanitize(line) for line in lines)


def _row(name: str, pairs: Pairs) -> str:
    return f"{name:>10}  {pairs.n:>6}  {pairs.both:>6}  {pairs.first:>6}  {pairs.second:>6}  {pairs.neither:>7}"
