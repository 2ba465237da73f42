"""The check of a dataset: every ground truth is executed twice, once as itself and once as a prediction, and scored."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

from eval.case import Case
from eval.checks.findings import CheckReport, Finding, Kind
from eval.checks.questions import alike, given_away, repeated
from eval.checks.sources import Collections
from eval.checks.ties import EndpointTies, order_decided
from eval.environments import EnvironmentChain
from eval.model import Verdict
from eval.offline import OfflineJudge
from eval.paper import execute_prediction, execute_truth
from eval.truths import Truth
from eval.waterfall import BEYOND_PEEK, evaluate
from toolenv.dataset import Dataset, InstanceRef
from toolenv.errors import DataError, EnvironmentFailure
from toolenv.model import Instance, Json, Prediction
from toolenv.policy import source_of
from toolenv.recorded.aliases import own_name
from toolenv.values import ValueIndex, atoms, decode, key, shortened

RUN = "oracle"


async def check_dataset(
    dataset: Dataset,
    environments: EnvironmentChain,
    refs: Sequence[InstanceRef] | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> CheckReport:
    """Check instances (all, unless ``refs`` are given) and the questions among each other.

    What an environment cannot answer is a finding of its own; nothing is raised for it.
    """
    chosen = list(dataset.refs()) if refs is None else list(refs)
    findings = [_about(None, "unusable record", "", problem) for problem in dataset.problems]
    instances: list[Instance] = []
    checker = _Checker(dataset, environments)
    executed = passed = 0
    try:
        for number, ref in enumerate(chosen, 1):
            try:
                instance = dataset.load(ref)
            except DataError as error:
                findings.append(_about(ref, "unusable record", ref.domain, str(error)))
                continue
            instances.append(instance)
            found, outcome = await checker.check(instance)
            findings += found
            executed += outcome is not None
            passed += outcome is True
            progress(number, len(chosen))
    finally:
        checker.close()
    same = list(repeated(instances))
    findings += same
    twice = {finding.uuid for finding in same}
    findings += [finding for finding in alike(instances) if finding.uuid not in twice]
    return CheckReport(instances=len(chosen), executed=executed, passed=passed, findings=tuple(findings))


def oracle_text(answer: Json) -> str:
    """A reference answer as an agent would write it: one value plainly, several as a JSON list."""
    if isinstance(answer, list) and len(answer) == 1 and not isinstance(answer[0], list | dict):
        answer = answer[0]
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


class _Checker:
    def __init__(self, dataset: Dataset, environments: EnvironmentChain) -> None:
        self._environments = environments
        self._judge = OfflineJudge()
        self._ties = EndpointTies(dataset)
        self._collections = Collections(dataset)

    def close(self) -> None:
        self._ties.close()

    async def check(self, instance: Instance) -> tuple[list[Finding], bool | None]:
        """What is found on one instance, and whether its oracle passes (None: it could not be executed)."""
        if instance.ground_truth is None:
            return [_on(instance, "no ground truth", "there is nothing to check")], None
        try:
            environment = self._environments.serving(instance)
            truth = await execute_truth(instance, environment)
            if truth.analysis.failed is not None:
                failed = truth.analysis.failed
                detail = f"call {failed.number} ({failed.call.name}) answers {shortened(failed.text, 200)!r}"
                return [_on(instance, "ground truth fails", detail)], None
            verdict = await self._verdict(instance, truth)
            return list(self._findings(instance, truth, verdict)), verdict.passed is True
        except (EnvironmentFailure, DataError) as error:
            return [_on(instance, "cannot be executed", str(error))], None

    async def _verdict(self, instance: Instance, truth: Truth) -> Verdict:
        """The oracle's verdict: the ground truth's own calls and answer, executed afresh as a prediction."""
        assert instance.ground_truth is not None
        turn = instance.ground_truth.evaluated
        prediction = Prediction(
            uuid=instance.uuid,
            domain=instance.domain,
            query=instance.query,
            answer=oracle_text(turn.answer),
            calls=turn.calls,
            capability=instance.capability,
            turn_id=turn.turn_id,
        )
        predicted = await execute_prediction(instance, prediction, self._environments.serving(instance))
        case = Case(
            run=RUN,
            instance=instance,
            truth=truth.executed,
            prediction=predicted,
            tools=truth.tools,
            truth_analysis=truth.analysis,
        )
        return await evaluate(case, judge=self._judge)

    def _findings(self, instance: Instance, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
        calls = truth.analysis.calls
        names = {tool.name for tool in truth.tools}
        for made in calls.calls:
            if made.scored and own_name(made.call.name, instance.domain, names) not in names:
                yield _on(instance, "tool is not exposed", f"{made.call.name} is not among the {len(names)} tools")
        yield from self._judged(instance, truth, verdict)
        flows = truth.analysis.graph.flows if instance.capability > 2 else ()
        carried = [
            [f.value for f in flows if f.source == made.number and f.target > 0 and f.kind == "value"]
            for made in calls.calls
        ]
        told = given_away(instance, carried)
        if told is not None:
            yield _on(instance, "answer is in the question", f"the question holds {told}")
        ties = order_decided(calls) if instance.capability == 1 else self._ties.found(instance.domain, calls)
        for sentence in ties:
            yield _on(instance, "order decides the answer", sentence)
        if instance.capability == 4 and any(source_of(made.call.name) == "API" for made in calls.calls):
            for sentence in self._collections.overlaps(instance, calls):
                yield _on(instance, "sources overlap", sentence)

    def _judged(self, instance: Instance, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
        if verdict.passed is True:
            return
        stage = next((s for s in verdict.stages if s.stage == verdict.failed_stage), None)
        reason = stage.reason if stage is not None else str(verdict.reason)
        rulings = stage.rulings if stage is not None and stage.rulings is not None else {}
        grounded, consistent = rulings.get("grounded"), rulings.get("consistent")
        if BEYOND_PEEK in verdict.marks and grounded is not None and grounded.outcome != "pass":
            yield _on(instance, "answer is longer than what is shown", grounded.reason or reason)
        elif (
            grounded is not None and grounded.outcome == "fail" and (consistent is None or consistent.outcome == "pass")
        ):
            yield _on(instance, "answer is not reachable", grounded.reason or reason)
        elif verdict.passed is None and not _is_shown(truth):
            yield _on(instance, "answer is not reachable", f"no response shows all of it; {reason}")
        elif verdict.passed is None:
            yield _on(instance, "oracle is undecided", f"{verdict.failed_stage}: {reason}")
        else:
            yield _on(instance, "oracle does not pass", f"{verdict.failed_stage}: {reason}")


def _is_shown(truth: Truth) -> bool:
    """Whether every value of the answer is printed by some call of the ground truth."""
    shown = ValueIndex(key(atom) for made in truth.analysis.calls.scored for atom in atoms(decode(made.text)))
    return all(shown.has(atom) for atom in atoms(truth.analysis.answer))


def _on(instance: Instance, kind: Kind, detail: str) -> Finding:
    return Finding(kind=kind, uuid=instance.uuid, capability=instance.capability, domain=instance.domain, detail=detail)


def _about(ref: InstanceRef | None, kind: Kind, domain: str, detail: str) -> Finding:
    return Finding(
        kind=kind,
        uuid=ref.uuid if ref is not None else "",
        capability=ref.capability if ref is not None else None,
        domain=domain,
        detail=detail,
    )
