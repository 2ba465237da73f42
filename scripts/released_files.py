"""Comparing the profile with what the released evaluator wrote about the same records.

A results file of the release gives every figure of a dialogue: exact match, answer, groundedness, score and steps. The
judges' part in it is read back from the file, so that what is compared is everything that the judges do not decide:
whether they are asked at all, and what follows from their rulings.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from eval.case import Case
from eval.judges.recorded import RecordedJudge
from eval.model import Gate, Outcome, Ruling
from eval.vakra.dialogues import Dialogue, Malformed, Matched, Unanswered, paired, replay
from eval.vakra.scoring import DialogueScore, score
from eval.vakra.summary import summary_of
from toolenv.environment import ToolEnvironment
from toolenv.model import CAPABILITY_DIRS, Instance, Json, Turn, Value

Figures = Mapping[str, float | None]


class Comparison(Value, frozen=True):
    """What a comparison with one results file or one case found.

    ``differences`` are figures in which the release and the profile disagree, ``other_rulings`` those in which the
    recorded rulings say something else than the judge behind the results file, ``left_out`` what was not compared.
    """

    name: str
    dialogues: int = 0
    figures: int = 0
    differences: tuple[str, ...] = ()
    other_rulings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


class _FileJudge:
    """Rules what a results file says; a question that the release did not ask is undecided, and so stands out.

    Where ``recorded`` rulings say otherwise, that is kept in ``others``.
    """

    kind = "recorded"

    def __init__(self, turns: Mapping[str, Figures], recorded: RecordedJudge | None = None) -> None:
        self._turns = turns
        self._recorded = recorded
        self.others: list[str] = []

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        uuid = case.instance.uuid
        value = self._turns.get(uuid, {}).get("answer_score" if gate == "consistent" else "groundedness_score")
        outcome: Outcome = "undecided" if value is None else "pass" if value == 1 else "fail"
        ruled = (await self._recorded.rule(gate, case)).outcome if self._recorded is not None else outcome
        if ruled != outcome:
            self.others.append(f"{case.instance.domain} {uuid} {gate}: the results say {outcome}, the rulings {ruled}")
        return Ruling(outcome=outcome, decided_by="recorded", reason="as released")


async def compare_results(material: Path) -> list[Comparison]:
    """Compare with every file of ``data/released_results``, and its judge with the rulings of ``data/runs``."""
    from toolenv.dataset import Dataset
    from toolenv.native import NativeEnvironment
    from toolenv.recorded import RecordedEnvironment

    data = material / "data"
    dataset = Dataset.open(data / "mini")
    environments: Mapping[bool, ToolEnvironment] = {
        True: NativeEnvironment(dataset),
        False: RecordedEnvironment(data / "recorded"),
    }
    found = []
    for path in sorted((data / "released_results").glob("*.json")):
        run, folder = path.stem.split("_", 1)
        capability = next(number for number, name in CAPABILITY_DIRS.items() if name == folder)
        recorded = RecordedJudge(data / "runs" / "rulings.jsonl", run)
        comparison = Comparison(name=path.stem)
        for domain, released in json.loads(path.read_text(encoding="utf-8"))["domains"].items():
            turns = {dialogue["uuid"]: dialogue for dialogue in released["dialogues"]}
            wanted = {*turns, *released["missing_prediction_uuids"]}
            truths = _records(data / "mini" / "test" / folder / "output" / f"{domain}.json")
            truths = [record for record in truths if record["uuid"] in wanted]
            predictions = _records(data / "runs" / run / folder / f"{domain}.json")
            first = next(iter(dataset.universes(domain)), "") if capability == 1 else ""
            figures = {uuid: _figures(one) for uuid, one in turns.items()}
            judge = _FileJudge(figures, recorded)
            replayed = _Domain(run, domain, capability, first, environments[capability == 1])
            part = await replayed.compared(paired(truths, predictions), figures, judge)
            summary = _compared_summary(released["summary"], truths, part.scores, domain)
            comparison = _joined(comparison, part.comparison, summary)
        found.append(comparison)
    return found


async def compare_cases(material: Path) -> list[Comparison]:
    """Compare with every case of ``data/evaluator_cases`` whose tools can be had."""
    from toolenv.recorded import RecordedEnvironment

    folder = material / "data" / "evaluator_cases"
    recorded = RecordedEnvironment(material / "data" / "recorded")
    found = []
    with tempfile.TemporaryDirectory() as made:
        native = _golden_environment(material / "golden", Path(made))
        for path in ("capability_1.json", "capability_2_and_4.json"):
            for case in json.loads((folder / path).read_text(encoding="utf-8")):
                environment: ToolEnvironment = native if case["cap"] == 1 else recorded
                found.append(await compare_case(case, environment))
    return found


async def compare_case(case: Mapping[str, Json], environment: ToolEnvironment) -> Comparison:
    """One case: the release's figures, or the record that it stopped at."""
    name, truths = str(case["tag"]), list(case["gt"])
    domain = _Domain(name, "superhero", int(case["cap"]), _first_uuid(truths), environment)
    dialogues = paired(truths, list(case["pred"]))
    if "result" not in case:
        part = await domain.compared(dialogues, {}, _FileJudge({}))
        stopped = part.comparison.left_out
        wrong = () if any("cannot score" in sentence for sentence in stopped) else ("the release stops here",)
        return Comparison(name=name, dialogues=1, figures=1, differences=wrong, left_out=stopped)
    result = case["result"]
    scores = dict(result["scores"])
    turns = {
        dialogue.uuid: {**_turn_figures(turn), "score": scores[dialogue.uuid]}
        for dialogue, turn in zip(dialogues, result["turns"], strict=True)
    }
    part = await domain.compared(dialogues, turns, _FileJudge(turns))
    if part.comparison.left_out:
        return msgspec.structs.replace(part.comparison, name=name)
    return _joined(
        Comparison(name=name), part.comparison, _compared_summary(result["summary"], truths, part.scores, "")
    )


class _Part(Value, frozen=True):
    comparison: Comparison
    scores: Mapping[str, float | None]


class _Domain:
    """One domain of one run, replayed in a session of its own."""

    def __init__(self, run: str, domain: str, capability: int, first: str, environment: ToolEnvironment) -> None:
        self._run = run
        self._domain = domain
        self._capability = capability
        self._first = first
        self._environment = environment

    async def compared(
        self, dialogues: Sequence[Dialogue], released: Mapping[str, Figures], judge: _FileJudge
    ) -> _Part:
        session = await self._environment.open(self._instance(self._first))
        try:
            outcomes = await replay(session, self._capability, dialogues)
        finally:
            await session.close()
        scores: dict[str, float | None] = {}
        figures, differences, left_out = 0, [], []
        for outcome in outcomes:
            uuid = outcome.dialogue.uuid
            if isinstance(outcome, Malformed):
                left_out.append(f"{uuid}: the release cannot score this record: {outcome.reason}")
            elif isinstance(outcome, Unanswered):
                left_out.append(f"{uuid}: {outcome.side} not executed: {outcome.cause.reason}")
            else:
                done = await score(outcome, self._instance(uuid), self._run, judge)
                scores[uuid] = done.score
                ours = _own_figures(done)
                for name, value in released.get(uuid, {}).items():
                    figures += 1
                    if ours[name] != value:
                        differences.append(self._sentence(outcome, name, value, ours[name]))
        comparison = Comparison(
            name=self._domain,
            dialogues=len(scores),
            figures=figures,
            differences=tuple(differences),
            other_rulings=tuple(judge.others),
            left_out=tuple(left_out),
        )
        return _Part(comparison=comparison, scores=scores)

    def _instance(self, uuid: str) -> Instance:
        universe = uuid if self._capability == 1 else None
        turns = (Turn(turn_id=0, query=""),)
        return Instance(uuid=uuid, capability=self._capability, domain=self._domain, turns=turns, universe_id=universe)

    def _sentence(self, matched: Matched, name: str, released: float | None, ours: float | None) -> str:
        lacking = f"; lacking {matched.missing[0][:160]!r}" if matched.missing else ""
        return f"{self._domain} {matched.dialogue.uuid} {name}: released {released}, here {ours}{lacking}"


def _own_figures(done: DialogueScore) -> Figures:
    def figure(ruling: Ruling | None) -> float | None:
        return None if ruling is None or ruling.outcome == "undecided" else float(ruling.outcome == "pass")

    return {
        "score": done.score,
        "exactmatch_score": float(done.exact),
        "answer_score": figure(done.answer),
        "groundedness_score": figure(done.grounded),
        "gt_steps": done.truth_steps,
        "pred_steps": done.predicted_steps,
        "extra_steps": done.extra_steps,
    }


def _figures(dialogue: Mapping[str, Json]) -> Figures:
    turn = dialogue["details"]["per_turn"][0]
    return {**_turn_figures(turn["metadata"]), "score": dialogue["score"]}


def _turn_figures(turn: Mapping[str, Json]) -> dict[str, float | None]:
    names = ("exactmatch_score", "answer_score", "groundedness_score", "gt_steps", "pred_steps", "extra_steps")
    return {name: turn[name] for name in names}


def _compared_summary(
    released: Mapping[str, float], truths: Sequence[Json], scores: Mapping[str, float | None], domain: str
) -> Comparison:
    ours = msgspec.to_builtins(summary_of(len(truths), [value or 0.0 for value in scores.values()]))
    differences = [
        f"{domain} summary {name}: released {value}, here {ours[name]}"
        for name, value in released.items()
        if abs(ours[name] - value) > 1e-9
    ]
    return Comparison(name=domain, figures=len(released), differences=tuple(differences))


def _joined(*parts: Comparison) -> Comparison:
    return Comparison(
        name=parts[0].name,
        dialogues=sum(part.dialogues for part in parts),
        figures=sum(part.figures for part in parts),
        differences=tuple(sentence for part in parts for sentence in part.differences),
        other_rulings=tuple(sentence for part in parts for sentence in part.other_rulings),
        left_out=tuple(sentence for part in parts for sentence in part.left_out),
    )


def _golden_environment(golden: Path, made: Path) -> ToolEnvironment:
    """The databases and universes of the recorded answers, laid out as a dataset."""
    from toolenv.dataset import Dataset
    from toolenv.native import NativeEnvironment

    (made / "configs").mkdir()
    (made / "configs" / "mcp_tool_universe_id_mapping.yaml").symlink_to((golden / "universes.yaml").resolve())
    (made / "databases").symlink_to((golden / "db").resolve())
    folder = made / "test" / CAPABILITY_DIRS[1] / "output"
    folder.mkdir(parents=True)
    (folder / "superhero.json").write_text("[]", encoding="utf-8")
    return NativeEnvironment(Dataset.open(made))


def _records(path: Path) -> list[Json]:
    found = json.loads(path.read_text(encoding="utf-8"))
    return found if isinstance(found, list) else []


def _first_uuid(truths: Sequence[Json]) -> str:
    return next((str(record["uuid"]) for record in truths if record.get("uuid")), "")
