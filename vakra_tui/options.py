"""The options that screen and batch share, as plain values: cheap to make, to send to another process and to print."""

from __future__ import annotations

from typing import Literal

from toolenv.model import Value

Profile = Literal["paper", "vakra"]


class Options(Value, frozen=True):
    """What the command line said. ``data`` is None for the built-in sample; texts are as they were typed.

    ``environments`` and ``judge`` keep the form ``kind`` or ``kind:argument``. ``agent`` is ``react``, a plug-in's name
    or ``command:PROGRAM``. ``produced`` is the file with what an agent did, which is scored as a further run.
    """

    data: str | None = None
    split: str = "test"
    runs: tuple[str, ...] = ()
    environments: tuple[str, ...] = ("native",)
    record: str | None = None
    profile: Profile = "paper"
    judge: str = "offline"
    judge_model: str | None = None
    judge_base_url: str | None = None
    judge_concurrency: int | None = None
    max_cost: float | None = None
    max_tokens: int | None = None
    capabilities: tuple[int, ...] = ()
    domains: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    limit: int | None = None
    db: str | None = None
    agent: str | None = None
    model: str | None = None
    base_url: str | None = None
    produced: str | None = None
    repair: bool = False


class BatchOptions(Value, frozen=True):
    """What only the batch is told. ``fail_under`` is a share between 0 and 1, ``sessions`` keeps what is executed."""

    concurrency: int = 16
    workers: int = 1
    out: str | None = None
    format: Literal["table", "json", "jsonl"] = "table"
    resume: bool = False
    fail_under: float | None = None
    predictions_out: str | None = None
    dry_run: bool = False
    sessions: bool = True
    quiet: bool = False
