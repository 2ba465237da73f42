"""Whether a passage of the offered collections answers what a ground truth asks the dashboards."""

from __future__ import annotations

from collections.abc import Iterator

from sessions.dataflow.calls import MadeCalls
from toolenv.build.decontamination import AskedFact, asked_fact, leaks
from toolenv.build.source import Passage
from toolenv.dataset import Dataset
from toolenv.documents.passages import DocumentFile
from toolenv.model import Instance
from toolenv.policy import applicability_of, policy_of
from toolenv.values import atoms, decode

_MOST_VALUES = 200


class Collections:
    """The passages of a dataset's collections, read once."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._passages: dict[str, tuple[Passage, ...]] = {}

    def overlaps(self, instance: Instance, calls: MadeCalls) -> Iterator[str]:
        """A sentence for every passage that names an entity of an API hop together with what the hop gives.

        Where a policy forbids the documents or sends to the dashboards first, no passage offers another way. Raises
        ``EnvironmentFailure`` for documents that cannot be read.
        """
        policy = policy_of(instance)
        if (policy.forbidden == "RAG" or policy.preferred == "API") and applicability_of(instance) == "applies":
            return
        facts: list[AskedFact] = []
        for call in calls.calls:
            if call.source == "API" and call.scored and not call.failed:
                values = list(atoms(decode(call.text)))[:_MOST_VALUES]
                facts.append(asked_fact(call.call.name, call.arguments.values(), [values]))
        for name in self._dataset.collections(instance.domain) if facts else ():
            for leak in leaks(self._of(name), facts):
                yield f"passage {leak.doc_id} of {name} gives {leak.answer!r} as {leak.hop} does"

    def _of(self, name: str) -> tuple[Passage, ...]:
        if name not in self._passages:
            path = self._dataset.documents(name)
            found = DocumentFile(path).passages() if path is not None else ()
            self._passages[name] = tuple(Passage(doc_id=passage.id, text=passage.text) for passage in found)
        return self._passages[name]
