"""The arguments of every command, and how they become options. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from vakra_tui import __version__
from vakra_tui.options import BatchOptions, Options

DESCRIPTION = "Debug and score the trajectories of tool-calling agents on the VAKRA benchmark."


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line and ends with exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def was_given(value: object) -> bool:
    """Whether an option without a default of its own was given; 0 and an empty text were."""
    return value is not None and value is not False


def share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not a share between 0 and 1")
    return number


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="?", metavar="DATA", help="dataset directory in VAKRA's layout (default: the built-in sample)"
    )
    parser.add_argument("--split", default="test", metavar="NAME", help="which split to read (default: test)")


def add_environment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--env",
        action="append",
        metavar="ENV",
        help="where tools run, in order of preference (repeatable): native (default), recorded:DIR, "
        "config:FILE (a connection YAML) or vakra:CHECKOUT",
    )


def add_selectors(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("selectors (each may be repeated)")
    group.add_argument("--capability", action="append", type=int, choices=(1, 2, 3, 4), help="only this capability")
    group.add_argument("--domain", action="append", metavar="NAME", help="only this domain")
    group.add_argument("--instance", action="append", metavar="UUID", help="only this instance; a beginning will do")
    group.add_argument("--limit", type=at_least_one, metavar="N", help="only the first N that are selected")


def add_shared(parser: argparse.ArgumentParser) -> None:
    """The options that screen and batch share."""
    add_data(parser)
    parser.add_argument(
        "--run",
        action="append",
        metavar="DIR",
        help="predictions in the submission format (repeatable); on the sample also a run's name",
    )
    add_environment(parser)
    parser.add_argument("--record", metavar="DIR", help="write every call and answer as a recorded environment")
    parser.add_argument(
        "--profile",
        choices=("paper", "vakra"),
        default="paper",
        help="paper: the published waterfall (default); vakra: the released evaluator, verdict for verdict",
    )
    add_agent(parser)
    add_judge(parser)
    parser.add_argument("--db", metavar="URL", help="session store, an SQLAlchemy URL (default: SQLite of this user)")
    add_selectors(parser)


def add_agent(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("agent")
    group.add_argument(
        "--agent",
        metavar="AGENT",
        help="let an agent make the trajectories: react, the name of a plug-in, or 'command:PROGRAM ARGUMENTS'",
    )
    group.add_argument("--model", metavar="NAME", help="model of the agent")
    group.add_argument("--base-url", metavar="URL", help="OpenAI-compatible endpoint of the agent")


def add_judge(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("judge")
    group.add_argument(
        "--judge",
        default="offline",
        metavar="JUDGE",
        help="who rules where a program cannot: offline (default), openai, recorded:FILE or none",
    )
    group.add_argument("--judge-model", metavar="NAME", help="model of the judge, for openai")
    group.add_argument("--judge-base-url", metavar="URL", help="endpoint of the judge, for openai")
    group.add_argument("--judge-concurrency", type=at_least_one, metavar="N", help="rulings asked at a time")
    group.add_argument("--max-cost", type=float, metavar="USD", help="stop asking judge or agent at this cost")
    group.add_argument(
        "--max-tokens", type=at_least_one, metavar="N", help="stop asking judge or agent at so many tokens"
    )


def main_parser(commands: Sequence[tuple[str, str]]) -> Parser:
    """The parser of the main command. ``commands`` are the other commands, each with a line of help."""
    width = max((len(name) for name, _ in commands), default=0)
    listing = "\n".join(f"  {name:<{width}}  {text}" for name, text in commands)
    parser = Parser(
        prog="vakra-tui",
        description=DESCRIPTION + " Without --batch the debugger opens.",
        epilog=f"other commands (vakra-tui COMMAND --help):\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"vakra-tui {__version__}")
    add_shared(parser)
    batch = parser.add_argument_group("batch")
    batch.add_argument("--batch", action="store_true", help="no screen: score and write a report")
    batch.add_argument("--concurrency", type=at_least_one, default=16, metavar="N", help="instances at a time (16)")
    batch.add_argument("--workers", type=at_least_one, default=1, metavar="N", help="processes (1)")
    batch.add_argument("--out", metavar="FILE", help="write the JSON report to FILE")
    batch.add_argument(
        "--format", choices=("table", "json", "jsonl"), default="table", help="what goes to stdout (table)"
    )
    batch.add_argument("--resume", action="store_true", help="take over what an earlier batch finished")
    batch.add_argument("--fail-under", type=share, metavar="SCORE", help="exit code 1 below this leaderboard score")
    batch.add_argument("--predictions-out", metavar="DIR", help="write the predictions as submission files")
    batch.add_argument(
        "--repair", action="store_true", help="search every failed trajectory for the step that broke it (paper)"
    )
    batch.add_argument(
        "--no-sessions",
        dest="sessions",
        action="store_false",
        help="do not keep the executed predictions in the session store (sessions --batch QUERY and replay find them)",
    )
    batch.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")
    batch.add_argument("--quiet", action="store_true", help="no progress and no summary")
    return parser


SEVERAL = {
    "run": "runs",
    "env": "environments",
    "capability": "capabilities",
    "domain": "domains",
    "instance": "instances",
}
"""Options that may be given several times: the word of the command line and the field of ``Options``."""


def options_of(arguments: argparse.Namespace) -> Options:
    """The shared options of parsed arguments; a command that does not offer one leaves it at its default."""
    given = vars(arguments)
    several: dict[str, Any] = {field: tuple(given[word]) for word, field in SEVERAL.items() if given.get(word)}
    return Options(**{name: given[name] for name in Options.__struct_fields__ if name in given}, **several)


def batch_options_of(arguments: argparse.Namespace) -> BatchOptions:
    return BatchOptions(
        concurrency=arguments.concurrency,
        workers=arguments.workers,
        out=arguments.out,
        format=arguments.format,
        resume=arguments.resume,
        fail_under=arguments.fail_under,
        predictions_out=arguments.predictions_out,
        dry_run=arguments.dry_run,
        sessions=arguments.sessions,
        quiet=arguments.quiet,
    )
