"""Which step a search blames, what it makes of the rest, what it costs."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from broken_sample import Sample

from eval.case import Case
from eval.environments import EnvironmentChain
from eval.judge import JudgeFailure
from eval.judges import NoJudge
from eval.model import Gate, Ruling, Verdict
from eval.offline import OfflineJudge
from eval.paper import PaperProfile
from eval.profile import Item, ScoringContext, Unit
from eval.repair import Progress, RepairResult, search
from eval.report import line
from eval.scored import Scored, decode, encode
from eval.scores import tally
from eval.truths import GroundTruths
from sessions.branches import Tree
from sessions.submissions import Run
from toolenv.dataset import Dataset
from toolenv.environment import TableView, ToolEnvironment, ToolSession
from toolenv.model import Instance, Json, Prediction, ToolCall, ToolResult, ToolSpec
from toolenv.native import NativeEnvironment
from toolenv.recorded import RecordedEnvironment
from vakra_tui.sample import sample_runs

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "check_repair.py"
expected_step = runpy.run_path(str(SCRIPT))["expected_step"]
"""What a comparison of the calls as they are written names, without any of the search's code."""

NOBLE_GAS = "noble gas has the greatest"
"""A task of three calls: a filter, a sort, a look at the first row."""

Change = Callable[..., ToolCall]


class Counting:
    """An environment that notes every call that reaches it, by session."""

    kind = "native"
    name = "counting"

    def __init__(self, inner: ToolEnvironment) -> None:
        self.inner = inner
        self.sessions: list[list[str]] = []

    @property
    def calls(self) -> int:
        return sum(map(len, self.sessions))

    def fingerprint(self) -> str | None:
        return None

    def serves(self, capability: int, domain: str) -> bool:
        return self.inner.serves(capability, domain)

    async def open(self, instance: Instance) -> ToolSession:
        self.sessions.append([])
        return CountedSession(await self.inner.open(instance), self.sessions[-1])

    async def close(self) -> None:
        await self.inner.close()


class CountedSession:
    def __init__(self, inner: ToolSession, calls: list[str]) -> None:
        self.inner, self.calls = inner, calls

    async def list_tools(self) -> Sequence[ToolSpec]:
        return await self.inner.list_tools()

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        self.calls.append(json.dumps([name, arguments], sort_keys=True))
        return await self.inner.call(name, arguments)

    async def table(self, handle: str) -> TableView | None:
        return await self.inner.table(handle)

    async def fork(self) -> ToolSession:
        return CountedSession(await self.inner.fork(), self.calls)

    async def close(self) -> None:
        await self.inner.close()

    def on_tools_changed(self, listener: Callable[[], None]) -> None:
        self.inner.on_tools_changed(listener)


def kinds(found: RepairResult) -> tuple[str, str | None, int | None]:
    replacement = found.earliest.replacement if found.earliest is not None else None
    return found.outcome, replacement.kind if replacement is not None else None, found.step


def test_a_wrong_value_is_named_and_the_rest_is_mapped_onto_its_table(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(instance, lambda calls: [change(calls[0], value="halogen"), *calls[1:]], "Astatine")
    found = sample.searched(instance, wrong)
    assert kinds(found) == ("replacement", "arguments", 1)
    assert found.earliest is not None and found.earliest.replacement is not None
    assert found.earliest is found.smallest
    assert found.earliest.replacement.arguments == ("value",)
    assert found.earliest.replacement.re_answered
    assert found.earliest.verdict.passed is True
    assert [step.actor for step in found.earliest.executed.trajectory.steps] == [
        "stepper",
        "ground_truth",
        "recording",
        "recording",
        "ground_truth",
    ]


def test_a_missing_call_takes_over_the_tables_that_pass_through_it(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)

    def without_sorting(calls: list[ToolCall]) -> Sequence[ToolCall]:
        looked = ToolCall(name=calls[2].name, arguments={**calls[2].arguments, "data_label": "filtered_data_1"})
        return [calls[0], looked]

    found = sample.searched(instance, sample.prediction(instance, without_sorting, "Helium"))
    assert kinds(found) == ("replacement", "insert", 2)
    assert found.tool == "sort_data"
    assert found.earliest is not None
    last = found.earliest.executed.trajectory.steps[-2]
    assert "Radon" in (last.result.text if last.result is not None else "")


def test_a_failed_call_s_table_is_the_one_its_replacement_makes(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)

    def misnamed(calls: list[ToolCall]) -> Sequence[ToolCall]:
        arguments = dict(calls[1].arguments)
        arguments["sort_by"] = arguments.pop("key_name")
        return [calls[0], ToolCall(name=calls[1].name, arguments=arguments), calls[2]]

    found = sample.searched(instance, sample.prediction(instance, misnamed, "Xenon"))
    assert kinds(found) == ("replacement", "arguments", 2)


def test_a_wrong_answer_after_right_calls_is_the_answer_s_fault(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    found = sample.searched(instance, sample.prediction(instance, answer="I cannot answer."))
    assert kinds(found) == ("replacement", "answer", 4)
    assert found.spent.executions == 0
    assert found.repair is not None and found.repair.executed.trajectory.answer == "Radon"


def test_a_call_that_failed_comes_before_the_answer_that_was_given_without_it(sample: Sample) -> None:
    """The sorted table's peek shows the right value already, so that the answer alone would do; the call is earlier."""
    instance = sample.instance(1, NOBLE_GAS)

    def misnamed(calls: list[ToolCall]) -> Sequence[ToolCall]:
        arguments = dict(calls[2].arguments)
        arguments["column"] = arguments.pop("key_name")
        looked = [ToolCall(name=calls[2].name, arguments=arguments)]
        return [*calls[:2], *looked]

    found = sample.searched(instance, sample.prediction(instance, misnamed, "I cannot answer."))
    assert kinds(found) == ("replacement", "arguments", 3)


def test_two_faults_need_a_prefix(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(
        instance,
        lambda calls: [change(calls[0], value="halogen"), change(calls[1], ascending=True), calls[2]],
        "Fluorine",
    )
    found = sample.searched(instance, wrong)
    assert (found.outcome, found.prefix, found.step) == ("prefix", 2, 1)
    assert found.prefixed is not None and found.prefixed.verdict.passed is True


def test_nothing_in_common_is_a_wrong_plan(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    found = sample.searched(instance, sample.prediction(instance, lambda calls: [calls[2]], "Neon"))
    assert found.outcome in ("plan", "prefix")
    assert found.prefix == 3 or found.outcome == "prefix"
    nothing = sample.searched(instance, without_calls(sample, instance))
    assert nothing.outcome == "plan" and nothing.sentence.startswith("the plan itself is wrong")


def without_calls(sample: Sample, instance: Instance) -> Prediction:
    return msgspec.structs.replace(sample.prediction(instance), calls=(), answer="Neon")


def test_what_passes_is_not_searched(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    found = sample.searched(instance, sample.prediction(instance))
    assert found.outcome == "not failed" and found.spent.tried == 0


def test_a_search_is_deterministic_and_tells_its_progress(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(instance, lambda calls: [calls[0], change(calls[1], ascending=True), calls[2]], "Helium")
    heard: list[Progress] = []
    first = sample.searched(instance, wrong, progress=heard.append)
    second = sample.searched(instance, wrong, offload=True)
    assert (first.sentence, first.spent) == (second.sentence, second.spent)
    assert heard and all(event.tried <= event.total for event in heard)


def test_calls_that_are_known_are_never_run_again(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    counting = Counting(sample.environment)
    wrong = sample.prediction(instance, lambda calls: [change(calls[0], value="halogen"), *calls[1:]], "Astatine")

    async def run() -> tuple[RepairResult, int]:
        case = await sample.case(instance, wrong, counting)
        before = counting.calls
        found = await search(case, counting, judge=OfflineJudge())
        return found, counting.calls - before

    found, calls = asyncio.run(run())
    assert calls == found.spent.executions
    # The repaired line is the ground truth's own: nothing is new, and one session of its own confirms it.
    assert calls == 4
    assert all(len(set(session)) == len(session) for session in counting.sessions)


def test_a_search_can_be_cancelled_and_leaves_no_session_open(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(instance, lambda calls: [change(calls[0], value="halogen"), *calls[1:]], "Astatine")

    async def run() -> None:
        case = await sample.case(instance, wrong)

        def stop(event: Progress) -> None:
            task.cancel()

        task = asyncio.ensure_future(search(case, sample.environment, judge=OfflineJudge(), progress=stop))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_search_ends_at_its_limit(sample: Sample, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["eval.repair.trials"], "LIMIT", 0)
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(instance, lambda calls: [change(calls[0], value="halogen"), *calls[1:]], "Astatine")
    assert sample.searched(instance, wrong).outcome == "stopped"


def test_hostile_calls_are_searched_like_others(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    deep: Json = "x"
    for _ in range(700):
        deep = [deep]
    odd = [
        ToolCall(name="", arguments={}),
        ToolCall(name="filter_data", arguments={}, raw_arguments="{not json"),
        ToolCall(name="filter_data", arguments={"data_label": {"\0table": "retrieved_data_1"}, "value": "\ud800"}),
        ToolCall(name="get_data", arguments={"tool_universe_id": "nobody's"}),
        ToolCall(name="sort_data", arguments={"data_label": "filtered_data_1~2"}),
    ]
    for calls in ([*odd], [ToolCall(name="filter_data", arguments={"value": deep})]):
        found = sample.searched(instance, sample.prediction(instance, lambda _, calls=calls: calls, "no"))  # type: ignore[misc]
        assert found.sentence
        assert found.outcome in ("plan", "prefix", "replacement", "stopped")


def test_without_a_judge_the_offline_rules_judge_repairs(sample: Sample) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    found = sample.searched(instance, without_calls(sample, instance), judge=NoJudge())
    assert found.outcome == "plan" and found.prefixed is not None


def test_a_repair_is_a_branch_that_shares_its_beginning(sample: Sample, change: Change) -> None:
    instance = sample.instance(1, NOBLE_GAS)
    wrong = sample.prediction(instance, lambda calls: [calls[0], change(calls[1], ascending=True), calls[2]], "Helium")

    async def run() -> None:
        case = await sample.case(instance, wrong)
        found = await search(case, sample.environment, judge=OfflineJudge())
        assert found.repair is not None and found.repair.fork_at == 2
        tree = Tree(instance=instance)
        for step in case.prediction.trajectory.steps:
            tree = tree.appended(0, step)
        grown, number = found.repair.as_branch(tree)
        assert grown.steps(number) == found.repair.executed.trajectory.steps
        assert grown.branch(number).fork_at == 2
        assert grown.steps(0) == tree.steps(0)
        assert found.repair.prediction.answer == "Radon"

    asyncio.run(run())


def test_a_judge_that_fails_during_a_search_costs_its_result_alone(sample: Sample) -> None:
    class OutOfBudget:
        kind = "openai"

        async def rule(self, gate: Gate, case: Case) -> Ruling:
            raise JudgeFailure("the budget is used up")

    run = Run.open(sample_runs()["flawed"], sample.dataset)
    context = ScoringContext(
        dataset=sample.dataset,
        run=run,
        environments=EnvironmentChain([sample.environment]),
        judge=OutOfBudget(),
        truths=GroundTruths(),
    )
    verdicts: dict[bool, list[Verdict]] = {False: [], True: []}
    for repair, found in verdicts.items():
        for position, ref in enumerate(sample.dataset.refs(1)):
            item = Item(position=position, instance=ref, prediction=run.get(ref))
            found += asyncio.run(PaperProfile(repair=repair).score(Unit(items=(item,)), context))
    assert [msgspec.structs.replace(verdict, repair=None) for verdict in verdicts[True]] == verdicts[False]
    outcomes = [verdict.repair["outcome"] for verdict in verdicts[True] if verdict.passed is False and verdict.repair]
    assert "failed" in outcomes


def results_of(dataset: Dataset, run: Run, chain: EnvironmentChain) -> list[tuple[Instance, Scored, RepairResult]]:
    async def score() -> list[tuple[Instance, Scored, RepairResult]]:
        told: dict[str, RepairResult] = {}
        profile = PaperProfile(on_repair=lambda item, found: told.update({item.uuid: found}))
        context = ScoringContext(
            dataset=dataset, run=run, environments=chain, judge=OfflineJudge(), truths=GroundTruths()
        )
        results = []
        for position, ref in enumerate(dataset.refs()):
            prediction = run.get(ref)
            if prediction is None:
                continue
            item = Item(position=position, instance=ref, prediction=prediction)
            (verdict,) = await profile.score(Unit(items=(item,)), context)
            if verdict.passed is False:
                results.append((dataset.load(ref), Scored(verdict=verdict), told[ref.uuid]))
        return results

    return asyncio.run(score())


def named_as_expected(results: Sequence[tuple[Instance, Scored, RepairResult]], run: Run) -> list[str]:
    """What is named otherwise than the comparison of the calls as written says, where one change was made."""
    wrong = []
    by_uuid = {ref.uuid: ref for ref in run.refs()}
    for instance, _, found in results:
        expected, changes = expected_step(instance, run.load(by_uuid[instance.uuid]))
        if changes == 1 and found.outcome == "replacement" and found.step != expected:
            wrong.append(f"{instance.uuid}: {expected} expected, {found.sentence}")
    return wrong


def test_every_failure_of_the_sample_s_flawed_run_is_explained(sample: Sample) -> None:
    run = Run.open(sample_runs()["flawed"], sample.dataset)
    results = results_of(sample.dataset, run, EnvironmentChain([sample.environment]))
    assert len(results) > 40
    assert named_as_expected(results, run) == []
    assert all(found.outcome in ("replacement", "prefix") for _, _, found in results)
    assert all(found.repair is not None and found.repair.verdict.passed is True for _, _, found in results)


def test_the_report_counts_repairs_by_step_and_tool(sample: Sample) -> None:
    run = Run.open(sample_runs()["flawed"], sample.dataset)
    results = results_of(sample.dataset, run, EnvironmentChain([sample.environment]))
    lines = [decode(encode(scored)) for _, scored, _ in results]
    form = tally(lines).repairs()
    assert form["searched"] == len(lines)
    assert sum(group["n"] for group in form["steps"].values()) == sum(group["n"] for group in form["tools"].values())
    assert list(form["steps"])[-1] == "answer"
    assert form["executions"] == sum(found.spent.executions for _, _, found in results)
    assert tally([]).repairs() == {}
    assert all("repair" in line(scored.verdict) for scored in lines)


@pytest.mark.shared
def test_known_changes_of_the_material_are_named(shared: Path) -> None:
    folder = shared / "data"
    dataset = Dataset.open(folder / "mini")
    run = Run.open(folder / "runs" / "r1", dataset)
    chain = EnvironmentChain([RecordedEnvironment(folder / "recorded"), NativeEnvironment(dataset)])
    results = results_of(dataset, run, chain)
    labels = [json.loads(text) for text in (folder / "runs" / "labels.jsonl").read_text("utf-8").splitlines()]
    kind = {label["uuid"]: label["kind"] for label in labels if label["run"] == "r1"}
    known = {"wrong_value", "wrong_tool", "missing_hop", "hallucinated_argument", "missing_argument"}
    known |= {"right_calls_wrong_answer"}
    strict = [result for result in results if kind[result[0].uuid] in known]
    assert len(strict) > 80
    assert named_as_expected(strict, run) == []
    for instance, _, found in results:
        assert found.sentence
        assert found.spent.executions <= 8 * (
            len(instance.ground_truth.evaluated.calls if instance.ground_truth else ()) + 12
        )
