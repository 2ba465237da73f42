"""A dataset in VAKRA's own layout: its instances by reference, loaded one at a time, and where their world lies.

    DATA/<split>/<capability folder>/{input,output}/<domain>.json
    DATA/databases/<domain>/<domain>.sqlite
    DATA/configs/mcp_tool_universe_id_mapping.yaml     (or environment/configs/ of a checkout)
    DATA/configs/retriever_domains.json, domain_topics.json
    DATA/documents/<domain>_docs.json, DATA/endpoints/<domain>.json, DATA/indexed_documents/

Input and output are paired by uuid; either may be missing. Of records with one uuid the last counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from toolenv.dataset.fingerprint import fingerprint_of
from toolenv.dataset.indexing import RecordCounts, index_by_uuid
from toolenv.dataset.layout import capability_folders, domain_files, is_domain_name
from toolenv.dataset.record_file import RecordFile, Span
from toolenv.dataset.records import instance_from
from toolenv.dataset.universes import ListedUniverses, UniverseFile, style_of_calls, universe_from
from toolenv.decoding import decoded_file
from toolenv.domains import confusable_with
from toolenv.errors import DataError
from toolenv.model import CAPABILITY_DIRS, Instance, Json, Universe, Value

_UNIVERSES: Final = "mcp_tool_universe_id_mapping.yaml"
_CONFIG_FOLDERS: Final = ("configs", "environment/configs")
_NO_RECORD: Final = "there is no such instance in this dataset"


class InstanceRef(Value, frozen=True):
    """One instance of a dataset, cheap to hold. ``position`` counts the instances of its domain's file from 0."""

    capability: int
    domain: str
    uuid: str
    position: int


class _Place(Value, frozen=True):
    """Where the records of an instance lie; None for a side that is missing."""

    input: tuple[RecordFile, Span] | None = None
    output: tuple[RecordFile, Span] | None = None


class Dataset:
    """See the module. Open one with ``Dataset.open``; safe to read from several threads.

    ``problems`` are sentences about files and records that could not be used; ``notes`` are about what was odd but
    does no harm (ignored files, replaced duplicates).
    """

    def __init__(self, path: Path, split: str) -> None:
        self.path = path
        self.split = split
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._places: dict[InstanceRef, _Place] = {}
        self._refs: tuple[InstanceRef, ...] = ()
        self._by_group: dict[tuple[int, str], tuple[InstanceRef, ...]] = {}
        self._by_uuid: dict[str, list[InstanceRef]] = {}
        self._counts: dict[tuple[int, str], RecordCounts] = {}
        self._files: list[Path] = []
        self._torn: list[Path] = []
        self._universes: dict[str, Mapping[str, Universe]] = {}

    @classmethod
    def open(cls, path: Path | str, split: str = "test") -> Dataset:
        """Index a dataset. Raises DataError when the folder is not there or has no records in this layout.

        What is wrong with single files and records is said in ``problems``; the rest loads.
        """
        folder = Path(path)
        if not folder.exists():
            raise DataError(f"{folder} is not there; DATA must be a folder in VAKRA's layout.")
        if not folder.is_dir():
            raise DataError(f"{folder} is a file; DATA must be a folder in VAKRA's layout.")
        if not is_domain_name(split):
            raise DataError(f"{split!r} cannot be the name of a split.")
        dataset = cls(folder, split)
        dataset._index()
        return dataset

    # --- instances ----------------------------------------------------------------------------------------------------

    def refs(self, capability: int | None = None, domain: str | None = None) -> Sequence[InstanceRef]:
        """The instances, in the order of capability, domain and file; of one capability or domain where given."""
        if capability is not None and domain is not None:
            return self._by_group.get((capability, domain), ())
        if capability is None and domain is None:
            return self._refs
        return tuple(
            ref
            for ref in self._refs
            if (capability is None or ref.capability == capability) and (domain is None or ref.domain == domain)
        )

    def find(self, uuid_or_prefix: str) -> list[InstanceRef]:
        """The instances of a uuid, or else all whose uuid begins so; the empty text finds none."""
        exact = self._by_uuid.get(uuid_or_prefix)
        if exact is not None:
            return list(exact)
        return [ref for ref in self._refs if ref.uuid.startswith(uuid_or_prefix)] if uuid_or_prefix else []

    def with_uuid(self, uuid: str) -> Sequence[InstanceRef]:
        """The instances of exactly this uuid."""
        return tuple(self._by_uuid.get(uuid, ()))

    def load(self, ref: InstanceRef) -> Instance:
        """Decode one instance. Raises DataError when its file changed or it is not in the dataset."""
        instance = instance_from(ref.capability, ref.domain, ref.uuid, *self.raw(ref))
        topics = self.topics()
        return msgspec.structs.replace(instance, topics=topics) if topics and instance.policy else instance

    def raw(self, ref: InstanceRef) -> tuple[Mapping[str, Json] | None, Mapping[str, Json] | None]:
        """The input and the output record of an instance as they are in the files; None for a missing one."""
        place = self._places.get(ref)
        if place is None:
            raise DataError(f"{ref.uuid} ({CAPABILITY_DIRS.get(ref.capability)}, {ref.domain}): {_NO_RECORD}.")
        records = (None if side is None else side[0].read(side[1]) for side in (place.input, place.output))
        first, second = records
        return first, second

    @property
    def record_files(self) -> tuple[Path, ...]:
        """The files that instances and ground truths were read from."""
        return tuple(self._files)

    @property
    def torn_files(self) -> tuple[Path, ...]:
        """Those that end before their content does."""
        return tuple(self._torn)

    def files_of(self, ref: InstanceRef) -> tuple[Path, ...]:
        """The files that hold the records of an instance; none where it is not in the dataset."""
        place = self._places.get(ref)
        sides = (place.input, place.output) if place is not None else ()
        return tuple(side[0].path for side in sides if side is not None)

    def counts(self, capability: int, domain: str) -> RecordCounts:
        """How many records the ground-truth file of a domain holds, usable or not."""
        return self._counts.get((capability, domain), RecordCounts(records=0, without_uuid=0, duplicates=0))

    @property
    def duplicates(self) -> int:
        """The number of ground-truth records that a later record of the same uuid replaced."""
        return sum(counts.duplicates for counts in self._counts.values())

    # --- the world of an instance -------------------------------------------------------------------------------------

    def database(self, domain: str) -> Path:
        """Where a domain's database lies, whether it is there or not."""
        return self.path / "databases" / _checked(domain) / f"{domain}.sqlite"

    def documents(self, domain: str) -> Path | None:
        """The documents of a domain, or None where there are none."""
        return _existing(self.path / "documents" / f"{_checked(domain)}_docs.json")

    def endpoints(self, domain: str) -> Path | None:
        """The dashboard endpoints of a domain, or None where there are none."""
        return _existing(self.path / "endpoints" / f"{_checked(domain)}.json")

    def indexed_documents(self) -> Path | None:
        """The ChromaDB folder, or None where there is none."""
        folder = self.path / "indexed_documents"
        return folder if folder.is_dir() else None

    def collections(self, domain: str) -> tuple[str, ...]:
        """The document collections offered with a domain: the dataset's table, else the published one, else its own."""
        listed = self._retriever_domains.get(domain)
        if listed is None:
            listed = (domain, *confusable_with(domain))
        return tuple(dict.fromkeys(listed))

    def topics(self) -> Mapping[str, str]:
        """The dataset's own table of topic groups by domain; empty where it has none."""
        return self._own_topics

    def universe(self, uuid: str) -> Universe | None:
        """The tool universe of an id: from the mapping files, else from the ground truth that opens it itself.

        Raises DataError when its entry is of odd form.
        """
        for file in self._universe_files:
            found = file.get(uuid)
            if found is not None:
                return found
        for ref in self._by_uuid.get(uuid, ()):
            if ref.capability == 1:
                return self._universe_of_truth(ref)
        return None

    def universes(self, domain: str) -> Mapping[str, Universe]:
        """The usable universes of a domain in the mapping's order; what is wrong with others is in ``problems``.

        Where the mapping has none for the domain: those that its ground truths open themselves.
        """
        found = self._universes.get(domain)
        if found is None:
            found = self._universes[domain] = self._read_universes(domain)
        return found

    def _read_universes(self, domain: str) -> Mapping[str, Universe]:
        ids = dict.fromkeys(uuid for file in self._universe_files for uuid in file.ids(domain))
        return ListedUniverses(tuple(ids), self._usable_universe) if ids else self._universes_of_truths(domain)

    def _usable_universe(self, uuid: str) -> Universe | None:
        try:
            return self.universe(uuid)
        except DataError as error:
            self._say(str(error))
            return None

    def _universes_of_truths(self, domain: str) -> dict[str, Universe]:
        """The universes that the ground truths of a domain open themselves, for a dataset without a mapping."""
        found: dict[str, Universe] = {}
        for ref in self.refs(1, domain):
            try:
                universe = self._universe_of_truth(ref)
            except DataError as error:
                self._say(str(error))
                continue
            if universe is not None:
                found[ref.uuid] = universe
        return found

    def fingerprint(self) -> str:
        """A digest of the content of everything that decides instances and answers, wherever the folder lies."""
        return self._fingerprint

    # --- indexing -----------------------------------------------------------------------------------------------------

    def _index(self) -> None:
        root = self.path / self.split
        folders = capability_folders(root, self.split) if root.is_dir() else {}
        if not folders:
            raise DataError(self._no_layout())
        for capability, folder in folders.items():
            label = f"{self.split}/{folder.name}"
            inputs = self._side(folder / "input", f"{label}/input")
            outputs = self._side(folder / "output", f"{label}/output")
            for domain in sorted({*inputs, *outputs}):
                self._index_domain(
                    capability, domain, inputs.get(domain), outputs.get(domain), f"{label}/input", f"{label}/output"
                )
        self._refs = tuple(ref for refs in self._by_group.values() for ref in refs)
        by_uuid: dict[str, list[InstanceRef]] = defaultdict(list)
        for ref in self._refs:
            by_uuid[ref.uuid].append(ref)
        self._by_uuid = dict(by_uuid)

    def _no_layout(self) -> str:
        wanted = f"{self.split}/capability_<n>_.../{{input,output}}/<domain>.json"
        others = sorted(
            child.name
            for child in self.path.iterdir()
            if child.is_dir() and is_domain_name(child.name) and _is_split(child)
        )
        if others:
            return f"{self.path} has no split {self.split!r}; it has {', '.join(others)} (choose with --split)."
        if _is_split(self.path):
            return f"{self.path} is a split of a dataset; DATA is the folder above it ({self.path.parent})."
        return f"{self.path} is not a dataset in VAKRA's layout: there is no {wanted}."

    def _side(self, folder: Path, label: str) -> dict[str, Path]:
        if not folder.is_dir():
            return {}
        found = domain_files(folder, label)
        self.problems.extend(found.problems)
        self.notes.extend(found.ignored)
        return found.files

    def _index_domain(
        self, capability: int, domain: str, input_path: Path | None, output_path: Path | None, *labels: str
    ) -> None:
        sides: list[dict[str, tuple[RecordFile, Span]]] = []
        for path, label, is_output in ((input_path, labels[0], False), (output_path, labels[1], True)):
            if path is None:
                sides.append({})
                continue
            self._files.append(path)
            file, found, counts = index_by_uuid(path, f"{label}/{path.name}")
            self.problems.extend(file.problems)
            self.notes.extend(file.notes)
            if file.torn:
                self._torn.append(path)
            sides.append({uuid: (file, span) for uuid, span in found.items()})
            if is_output or output_path is None:
                self._counts[(capability, domain)] = counts
        inputs, outputs = sides
        refs = []
        for position, uuid in enumerate(dict.fromkeys((*outputs, *inputs))):
            ref = InstanceRef(capability=capability, domain=domain, uuid=uuid, position=position)
            self._places[ref] = _Place(input=inputs.get(uuid), output=outputs.get(uuid))
            refs.append(ref)
        if refs:
            self._by_group[(capability, domain)] = tuple(refs)

    # --- configuration ------------------------------------------------------------------------------------------------

    @cached_property
    def _universe_files(self) -> tuple[UniverseFile, ...]:
        files = []
        for folder in _CONFIG_FOLDERS:
            path = self.path / folder / _UNIVERSES
            if path.is_file():
                file = UniverseFile(path, f"{folder}/{_UNIVERSES}")
                for problem in file.problems:
                    self._say(problem)
                files.append(file)
        return tuple(files)

    @cached_property
    def _retriever_domains(self) -> Mapping[str, tuple[str, ...]]:
        table: dict[str, tuple[str, ...]] = {}
        for domain, names in self._configuration("retriever_domains.json").items():
            if isinstance(names, list) and all(isinstance(name, str) and is_domain_name(name) for name in names):
                table[domain] = tuple(names)
            else:
                self._say(f"configs/retriever_domains.json: the entry {domain!r} is no list of domain names.")
        return table

    @cached_property
    def _own_topics(self) -> Mapping[str, str]:
        table = self._configuration("domain_topics.json")
        for domain, topic in table.items():
            if not isinstance(topic, str):
                self._say(f"configs/domain_topics.json: the entry {domain!r} is no topic group's name.")
        return {domain: topic for domain, topic in table.items() if isinstance(topic, str)}

    def _configuration(self, name: str) -> Mapping[str, Json]:
        path = self.path / "configs" / name
        if not path.is_file():
            return {}
        try:
            value = decoded_file(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            self._say(f"configs/{name} cannot be read as JSON.")
            return {}
        if not isinstance(value, dict):
            self._say(f"configs/{name} is not a JSON object.")
            return {}
        return value

    def _universe_of_truth(self, ref: InstanceRef) -> Universe | None:
        instance = self.load(ref)
        calls = instance.ground_truth.evaluated.calls if instance.ground_truth is not None else ()
        if not calls or calls[0].name != "initialize_active_data":
            return None
        made = universe_from(ref.uuid, ref.domain, calls[0].arguments, style_of_calls(iter(calls)))
        if isinstance(made, str):
            raise DataError(f"{ref.uuid}: the ground truth's initialize_active_data {made}.")
        return made

    @cached_property
    def _fingerprint(self) -> str:
        domains = sorted({ref.domain for ref in self._refs})
        collections = sorted({name for domain in domains for name in self.collections(domain)})
        paths = [
            *self._files,
            *(file.path for file in self._universe_files),
            *(self.path / "configs" / name for name in ("retriever_domains.json", "domain_topics.json")),
            *(self.database(domain) for domain in domains),
            *(path for domain in domains if (path := self.endpoints(domain)) is not None),
            *(path for name in collections if (path := self.documents(name)) is not None),
        ]
        return fingerprint_of(self.path, paths)

    def _say(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _is_split(folder: Path) -> bool:
    """Whether a folder holds capability folders with an input or an output side (those of a run have neither)."""
    folders = capability_folders(folder, folder.name).values()
    return any((place / side).is_dir() for place in folders for side in ("input", "output"))


def _checked(domain: str) -> str:
    if not is_domain_name(domain):
        raise DataError(f"{domain!r} cannot be the name of a domain.")
    return domain


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
