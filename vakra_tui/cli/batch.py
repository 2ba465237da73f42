"""``vakra-tui --batch``: score runs and write reports, without a screen."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolenv.errors import DataError, StoreError
from toolenv.files import followed
from vakra_tui.cli.codes import INTERRUPTED, UNUSABLE, exit_code
from vakra_tui.cli.production import expected, produce, working_folder
from vakra_tui.cli.progress import Progress
from vakra_tui.cli.streams import OutputGone, narrate, stdout
from vakra_tui.cli.supervision import Stop, supervised
from vakra_tui.options import BatchOptions, Options
from vakra_tui.text import sanitize
from vakra_tui.wiring import Wiring

if TYPE_CHECKING:
    from eval.engine import RunPlan, Scorer
    from eval.profile import Item
    from eval.report import ReportInfo
    from sessions.submissions import Run
    from toolenv.openai_compat.sending import Waiting
    from vakra_tui.scoring import Rulings

SHOWN_PROBLEMS = 20
DISTINCT_CAUSES = 500

WAITS_SECONDS = 5.0
"""A wait for the judge is told at most this often."""


class WaitNarration:
    """Says on stderr who keeps the batch waiting, and why."""

    def __init__(self, who: str) -> None:
        self._who = who
        self._told = -WAITS_SECONDS

    def heard(self, waiting: Waiting) -> None:
        now = time.monotonic()
        if now - self._told >= WAITS_SECONDS:
            self._told = now
            narrate(f"{self._who}: waiting {waiting.seconds:.0f} s ({waiting.reason})")


def run(options: Options, batch: BatchOptions) -> int:
    """Run a batch to its exit code. Raises ``VakraError`` where the command or its data cannot be used."""
    plans: list[RunPlan] = []

    with working_folder() as folder:

        def leave() -> None:
            for plan in plans:
                plan.results.flush()
            shutil.rmtree(folder, ignore_errors=True)

        return supervised(lambda stop: asyncio.run(_run(options, batch, stop, plans, folder)), last=leave)


class StoreWaitNarration:
    """Says once on stderr that another process keeps the store busy."""

    def __init__(self) -> None:
        self._told = False

    def heard(self, seconds: float) -> None:
        if seconds >= 1 and not self._told:
            self._told = True
            narrate("waiting for the session store, which another process is using")


async def _run(options: Options, batch: BatchOptions, stop: Stop, plans: list[RunPlan], folder: Path) -> int:
    options = _checked(options, batch)
    wiring = _with_store(options, batch)
    if not batch.quiet:
        wiring.on_wait = WaitNarration("judge").heard
        wiring.on_agent_wait = WaitNarration("agent").heard
    try:
        if options.agent is not None and batch.dry_run:
            with stdout() as stream:
                stream.write(sanitize(expected(wiring)).encode() + b"\n")
        elif options.agent is not None and not await produce(wiring, batch, stop, folder):
            return INTERRUPTED
        infos = [wiring.report_info(index) for index in range(len(wiring.runs))]
        problems = _say_problems(wiring)
        if batch.dry_run:
            return _dry_run(wiring)
        finished = await _score(wiring, infos, batch, stop, plans)
        if batch.resume and not batch.quiet:
            taken_over = sum(plan.results.taken_over for plan in plans)
            narrate(f"{taken_over} of {sum(len(plan.items) for plan in plans)} were stored already and are taken over")
        if not finished:
            done = sum(plan.results.done for plan in plans)
            total = sum(len(plan.items) for plan in plans)
            narrate(
                f"interrupted: {done} of {total} are finished and stored, no report is written; go on with --resume"
            )
            return INTERRUPTED
        _say_unscored(plans)
        code = exit_code(
            [plan.results.tally for plan in plans],
            problems=problems or _damaged(plans),
            fail_under=batch.fail_under,
            interrupted=False,
        )
        try:
            _write(wiring, infos, plans, batch)
        except OutputGone:
            return code or UNUSABLE
        return code
    finally:
        for plan in plans:
            plan.results.close()
        await wiring.close()


def _checked(options: Options, batch: BatchOptions) -> Options:
    """The options with what the sample adds. Raises ``DataError`` for options that do not go together."""
    if not options.runs and options.data is None and options.agent is None:
        from vakra_tui.sample import sample_runs

        options = msgspec.structs.replace(options, runs=tuple(sorted(sample_runs())))
    if not options.runs and options.agent is None:
        raise DataError("nothing to score: name the predictions with --run DIR, or an agent with --agent")
    if options.record is not None and batch.workers > 1:
        raise DataError("--record keeps one file a domain and needs --workers 1")
    if batch.out is not None and (not batch.out or Path(batch.out).is_dir()):
        raise DataError(f"--out {batch.out!r} is a folder; name a file")
    if batch.out is not None and not followed(Path(batch.out)).parent.is_dir():
        raise DataError(f"the folder of --out {batch.out} is not there")
    return options


def _with_store(options: Options, batch: BatchOptions) -> Wiring:
    """The wiring with its store open; one in memory where the user's own cannot be had and nobody asked for one."""
    wiring = Wiring(options, batch=True)
    if batch.dry_run:
        return wiring
    wiring.on_store_wait = StoreWaitNarration().heard
    try:
        wiring.store  # noqa: B018 - opened here, so that a failure is met before anything runs
        if wiring.taken_in:
            narrate(f"{wiring.taken_in} results that could not be stored before are in the store now")
    except StoreError as error:
        if batch.resume or options.db is not None:
            raise
        narrate(f"vakra-tui: {str(error).rstrip('.')}; nothing is kept for --resume")
        wiring = Wiring(msgspec.structs.replace(options, db="sqlite://"), batch=True)
    return wiring


def _say_problems(wiring: Wiring) -> bool:
    """Name unusable files and records on stderr; whether there are any."""
    of_runs = itertools.chain(*(run.problems for run in wiring.runs))
    of_judge: Sequence[str] = getattr(wiring.judge, "problems", ())
    found = list(dict.fromkeys([*wiring.dataset.problems, *of_runs, *of_judge]))
    for problem in found[:SHOWN_PROBLEMS]:
        narrate(f"vakra-tui: {problem}")
    if len(found) > SHOWN_PROBLEMS:
        narrate(f"vakra-tui: {len(found) - SHOWN_PROBLEMS} more problems, see the notes of the report")
    return bool(found)


def _say_unscored(plans: Sequence[RunPlan]) -> None:
    """One line for every different cause of unscored instances; a test set without ground truth is not told again."""
    causes: Counter[str] = Counter()
    for plan in plans:
        if any(reason != "no ground truth" for reason in plan.results.tally.unscored):
            for scored in plan.results.spool:
                verdict = scored.verdict
                if verdict.status == "unscored" and verdict.reason != "no ground truth":
                    cause = f"{verdict.reason}: {verdict.detail.replace(verdict.uuid, '...')}"
                    causes[cause if cause in causes or len(causes) < DISTINCT_CAUSES else "other causes"] += 1
    for cause, count in causes.most_common(SHOWN_PROBLEMS):
        narrate(f"vakra-tui: {count} unscored, {cause}")
    if len(causes) > SHOWN_PROBLEMS:
        narrate(f"vakra-tui: {len(causes) - SHOWN_PROBLEMS} more causes of unscored instances, see the report")


def _damaged(plans: Sequence[RunPlan]) -> bool:
    """Name what was found damaged in an environment's material; whether there is anything."""
    from eval.engine import ENVIRONMENT_NOTE

    found = dict.fromkeys(note for plan in plans for note in plan.results.notes if note.startswith(ENVIRONMENT_NOTE))
    for note in list(found)[:SHOWN_PROBLEMS]:
        narrate(f"vakra-tui: {note}")
    return bool(found)


def _dry_run(wiring: Wiring) -> int:
    for run, name in zip(wiring.runs, wiring.run_names, strict=True):
        items = wiring.items(run)
        pairs = [item for item in items if item.instance is not None and item.prediction is not None]
        missing = sum(item.prediction is None for item in items)
        text = f"{name}: {len(pairs)} to score, {missing} missing, {len(items) - len(pairs) - missing} extra"
        with stdout() as stream:
            stream.write(sanitize(f"{text}; {_expected_calls(wiring, run, pairs)}").encode() + b"\n")
    return 0


def _expected_calls(wiring: Wiring, run: Run, pairs: Sequence[Item]) -> str:
    """What the judge would be asked, in words; nothing is executed for it."""
    if wiring.judge.kind != "openai":
        return "0 model calls, 0 tokens"
    from eval.judges.estimate import Estimate, expected

    total = Estimate()
    for item in pairs:
        assert item.instance is not None and item.prediction is not None
        instance, prediction = wiring.dataset.load(item.instance), run.load(item.prediction)
        total += expected(instance, prediction, wiring.judge_settings)
    return (
        f"about {total.calls} model calls (at most {total.most_calls}), "
        f"about {total.input_tokens} tokens to the judge and {total.output_tokens} from it"
    )


async def _score(
    wiring: Wiring, infos: Sequence[ReportInfo], batch: BatchOptions, stop: Stop, plans: list[RunPlan]
) -> bool:
    from eval.collecting import rare_collections
    from eval.engine import Engine, RunPlan
    from eval.results import Results
    from eval.resume import register_of, scope_of, settings_of
    from vakra_tui.scoring import scorer

    rulings = {info.run_name: wiring.human_rulings(index) for index, info in enumerate(infos)}
    local, items = scorer(wiring, rulings, keep=_kept(wiring, batch))
    for info, run_items in zip(infos, items, strict=True):
        scope = scope_of(info, wiring.decisive())
        register = register_of(info.dataset_fingerprint, info.run_fingerprint or "")
        wiring.store.put_results(register, [(scope, settings_of(info))])
        results = Results(len(run_items), store=wiring.store, scope=scope)
        plans.append(RunPlan(items=run_items, results=results, rulings=rulings[info.run_name]))
    progress = Progress(sum(len(run_items) for run_items in items), quiet=batch.quiet)
    chosen = _pool(wiring, rulings, batch) if batch.workers > 1 else local
    try:
        engine = Engine(
            wiring.profile,
            plans,
            chosen,
            concurrency=batch.concurrency,
            resume=batch.resume,
            on_done=progress.add,
        )
        with rare_collections():
            return await engine.run(stop.event())
    finally:
        await chosen.close()
        progress.close()


def _kept(wiring: Wiring, batch: BatchOptions) -> bool:
    """Whether executed predictions are kept: never in a store that is gone with this process."""
    return batch.sessions and wiring.options.db != "sqlite://"


def _pool(wiring: Wiring, rulings: Rulings, batch: BatchOptions) -> Scorer:
    from eval.workers import WorkerPool
    from vakra_tui.scoring import worker_payload, worker_scorer

    cache = wiring.ruling_cache if wiring.judge.kind == "openai" else None
    payload = worker_payload(wiring.options, rulings, batch.workers, keep=_kept(wiring, batch))
    return WorkerPool(worker_scorer, payload, batch.workers, cache)


def _write(wiring: Wiring, infos: Sequence[ReportInfo], plans: Sequence[RunPlan], batch: BatchOptions) -> None:
    """Files first: a reader of stdout that leaves early must not cost a report."""
    from eval.report import head, named_for_run, replacing, write, write_lines

    if batch.predictions_out is not None:
        _write_predictions(wiring, Path(batch.predictions_out), plans)
    heads = [head(info, plan.results.tally, plan.results.notes) for info, plan in zip(infos, plans, strict=True)]
    for info, report_head, plan in zip(infos, heads, plans, strict=True):
        if batch.out is not None:
            path = named_for_run(Path(batch.out), info.run_name, wiring.run_names)
            with replacing(path) as stream:
                write(stream, report_head, plan.results.spool)
            if not batch.quiet:
                narrate(f"report: {path}")
    for info, report_head, plan in zip(infos, heads, plans, strict=True):
        if batch.format == "table" and batch.quiet:
            continue
        with stdout() as stream:
            if batch.format == "json":
                write(stream, report_head, plan.results.spool)
            elif batch.format == "jsonl":
                write_lines(stream, plan.results.spool)
            else:
                from vakra_tui.cli.summary import render

                text = render(info, plan.results.tally, report_head["notes"], plan.results.spool)
                stream.write(text.encode() + b"\n")


def _write_predictions(wiring: Wiring, folder: Path, plans: Sequence[RunPlan]) -> None:
    """The scored predictions as submission files; with several runs a folder each."""
    from sessions.submissions import write_submission

    for run, name, plan in zip(wiring.runs, wiring.run_names, plans, strict=True):
        place = folder if len(plans) == 1 else folder / name
        write_submission(place, (run.load(item.prediction) for item in plan.items if item.prediction is not None))
