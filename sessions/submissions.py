"""Runs: predictions in the public submission format, indexed by offset and decoded one at a time; and their writer.

RUN/<capability folder>/<domain>.json    or flat, RUN/<domain>.json (the capability is then that of the uuid)
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from toolenv.dataset import Dataset, InstanceRef
from toolenv.dataset.fingerprint import fingerprint_of
from toolenv.dataset.indexing import index_by_uuid
from toolenv.dataset.layout import capability_folders, domain_files
from toolenv.dataset.record_file import RecordFile, Span
from toolenv.dataset.records import prediction_from
from toolenv.errors import DataError
from toolenv.files import followed, written_whole
from toolenv.model import CAPABILITY_DIRS, Instance, Json, Prediction, Value


class PredictionRef(Value, frozen=True):
    """One prediction of a run. ``capability`` is None where neither the folder nor the dataset tells it.

    ``position`` counts the predictions of its file from 0. ``duplicate`` is true where this record replaced an
    earlier one of the same uuid.
    """

    uuid: str
    domain: str
    capability: int | None
    position: int = 0
    duplicate: bool = False


class Run:
    """The predictions of one folder. Open one with ``Run.open``; safe to read from several threads.

    ``problems`` are sentences about files and records that could not be used; ``notes`` are about what was odd but
    does no harm (ignored files, replaced duplicates). ``duplicates`` is the number of replaced records.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = followed(path).name
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.duplicates = 0
        self._places: dict[PredictionRef, tuple[RecordFile, Span]] = {}
        self._by_instance: dict[tuple[int | None, str, str], PredictionRef] = {}
        self._files: list[Path] = []
        self._torn: list[Path] = []

    @classmethod
    def open(cls, path: Path | str, dataset: Dataset | None = None) -> Run:
        """Index a run. Raises DataError when the folder is not there or holds no prediction file at all."""
        folder = Path(path)
        if not folder.exists():
            raise DataError(f"{folder} is not there; --run takes a folder of prediction files.")
        if not folder.is_dir():
            raise DataError(f"{folder} is a file; --run takes the folder that holds it.")
        run = cls(folder)
        run._index(dataset)
        if not run._files:
            raise DataError(without_predictions(folder))
        return run

    def refs(self) -> Sequence[PredictionRef]:
        """The prediction that counts of each uuid, in the order of folder, domain and file."""
        return self._refs

    def get(self, ref: InstanceRef) -> PredictionRef | None:
        """The prediction for an instance, or None where the run has none."""
        return self._by_instance.get((ref.capability, ref.domain, ref.uuid))

    def load(self, ref: PredictionRef) -> Prediction:
        """Decode one prediction. Raises DataError when its file changed or it is not in the run."""
        file, span = self._place(ref)
        record = file.read(span)
        return prediction_from(ref.capability, ref.domain, ref.uuid, record if isinstance(record, dict) else {})

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the predictions were read from."""
        return tuple(self._files)

    @property
    def torn_files(self) -> tuple[Path, ...]:
        """Those that end before their content does."""
        return tuple(self._torn)

    def keep_from(self, former: Run, paths: Iterable[Path]) -> None:
        """Name the predictions of files that cannot be read now as a former reading of the run did, and no others.

        Such predictions cannot be loaded until their file is read again.
        """
        wanted = set(paths)
        for key, ref in list(self._by_instance.items()):
            place = self._places.get(ref)
            if place is not None and place[0].path in wanted:
                del self._by_instance[key], self._places[ref]
        for key, ref in former._by_instance.items():
            place = former._places.get(ref)
            if place is not None and place[0].path in wanted and key not in self._by_instance:
                self._by_instance[key] = ref
                self._places[ref] = place

    def file_of(self, ref: PredictionRef) -> Path | None:
        """The file that holds a prediction, None where it is not in the run."""
        place = self._places.get(ref)
        return place[0].path if place is not None else None

    def raw(self, ref: PredictionRef) -> Json:
        """The record of a prediction as it is in the file."""
        file, span = self._place(ref)
        return file.read(span)

    def unanswered(self, ref: PredictionRef) -> str | None:
        """Why a prediction says nothing about whoever made it, or None; a folder's records always say something."""
        return None

    def fingerprint(self) -> str:
        """A digest of the content of the prediction files, wherever the folder lies."""
        return self._fingerprint

    def _place(self, ref: PredictionRef) -> tuple[RecordFile, Span]:
        place = self._places.get(ref)
        if place is None:
            raise DataError(f"{ref.uuid} ({ref.domain}): there is no such prediction in the run {self.name}.")
        return place

    @cached_property
    def _refs(self) -> tuple[PredictionRef, ...]:
        return tuple(self._by_instance.values())

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint_of(self.path, self._files)

    def _index(self, dataset: Dataset | None) -> None:
        flat = domain_files(self.path, ".")
        folders = capability_folders(self.path, self.name)
        groups: list[tuple[int | None, str, Mapping[str, Path]]] = []
        for number, folder in folders.items():
            found = domain_files(folder, folder.name)
            self.problems.extend(found.problems)
            self.notes.extend(found.ignored)
            groups.append((number, f"{folder.name}/", found.files))
        self.problems.extend(flat.problems)
        self.notes.extend(flat.ignored)
        groups.append((None, "", flat.files))
        for capability, prefix, files in groups:
            for domain, path in files.items():
                self._files.append(path)
                self._index_file(capability, domain, path, f"{prefix}{path.name}", dataset)

    def _index_file(self, capability: int | None, domain: str, path: Path, label: str, dataset: Dataset | None) -> None:
        file, found, counts = index_by_uuid(path, label)
        self.problems.extend(file.problems)
        self.notes.extend(file.notes)
        self.duplicates += counts.duplicates
        if file.torn:
            self._torn.append(path)
        repeated = file.repeated
        for position, (uuid, span) in enumerate(found.items()):
            known = capability if capability is not None else _capability_of(uuid, domain, dataset)
            key = (known, domain, uuid)
            earlier = self._by_instance.pop(key, None)
            if earlier is not None:
                self.duplicates += 1
                self._places.pop(earlier)
                self.notes.append(f"{label} has the uuid {uuid} once more; this last record counts.")
            ref = PredictionRef(
                uuid=uuid,
                domain=domain,
                capability=known,
                position=position,
                duplicate=earlier is not None or uuid in repeated,
            )
            self._places[ref] = (file, span)
            self._by_instance[key] = ref


def _capability_of(uuid: str, domain: str, dataset: Dataset | None) -> int | None:
    if dataset is None:
        return None
    found = [ref.capability for ref in dataset.with_uuid(uuid) if ref.domain == domain]
    return found[0] if found else None


SHOWN_RUNS = 5
"""Folders that a sentence names."""


def without_predictions(folder: Path) -> str:
    """The sentence on a folder that is no run, with the folders below it that may be meant."""
    said = f"{folder} holds no predictions; a run is <capability folder>/<domain>.json or <domain>.json."
    below = _with_files(folder)
    if not below:
        return said
    more = f" and {len(below) - SHOWN_RUNS} more" if len(below) > SHOWN_RUNS else ""
    return f"{said} Below it, these may be runs: {', '.join(below[:SHOWN_RUNS])}{more}."


def _with_files(folder: Path) -> list[str]:
    """The folders below one that hold files of domains; none where that cannot be seen."""
    found: list[str] = []
    for place in sorted(folder.iterdir()):
        try:
            if place.is_dir() and (domain_files(place, place.name).files or capability_folders(place, place.name)):
                found.append(place.name)
        except DataError:  # it cannot be listed, so nothing can be said of it
            continue
    return found


def unfit(prediction: Prediction, instance: Instance) -> str | None:
    """Why a record cannot stand for the evaluated turn of its instance, or None where it can.

    Such a record is a wrong answer and not a broken run: the runner's error, no turn or several, or another turn's
    id. The evaluated turn is the last one; its id in the input and in the ground truth may differ, and either will
    do.
    """
    if prediction.turns == 0:
        why = f" ({prediction.error})" if prediction.error else ""
        return f"the runner reports the status {prediction.status!r}{why} and the record has no output turn"
    if prediction.turns > 1:
        return f"the record has {prediction.turns} output turns, where exactly one is due"
    due = {instance.turns[-1].turn_id}
    if instance.ground_truth is not None:
        due.add(instance.ground_truth.evaluated.turn_id)
    if prediction.turn_id not in due:
        wanted = " or ".join(str(turn_id) for turn_id in sorted(due))
        return f"the record answers turn {prediction.turn_id}, where turn {wanted} is to be answered"
    return None


# --- writing ---------------------------------------------------------------------------------------------------------


def submission_record(prediction: Prediction) -> dict[str, Json]:
    """One record of the public format.

    A call whose arguments are no object was never run and has no place in the format, so it is left out: written with
    an empty object it would run when the record is executed.
    """
    return {
        "uuid": prediction.uuid,
        "domain": prediction.domain,
        "status": "success" if prediction.status == "success" else "error",
        "error": prediction.error,
        "duration_s": float(prediction.duration_s),
        "output": [
            {
                "turn_id": prediction.turn_id,
                "query": prediction.query,
                "answer": prediction.answer,
                "sequence": {
                    "tool_call": [
                        {"name": call.name, "arguments": dict(call.arguments)}
                        for call in prediction.calls
                        if call.raw_arguments is None
                    ]
                },
            }
        ],
    }


def write_submission(folder: Path, predictions: Iterable[Prediction]) -> list[Path]:
    """Write predictions as ``<capability folder>/<domain>.json`` and return the files, in the order of their names.

    A prediction without a capability goes into the flat ``<domain>.json``. Each file appears whole or not at all, in
    UTF-8 without a byte order mark, records in the order given.
    """
    groups: dict[tuple[int | None, str], list[dict[str, Json]]] = defaultdict(list)
    for prediction in predictions:
        groups[(prediction.capability, prediction.domain)].append(submission_record(prediction))
    written = []
    for (capability, domain), records in groups.items():
        place = folder if capability is None else folder / CAPABILITY_DIRS[capability]
        path = place / f"{domain}.json"
        write_text_atomically(path, json.dumps(records, indent=1, ensure_ascii=False) + "\n")
        written.append(path)
    return sorted(written)


def write_text_atomically(path: Path, text: str) -> None:
    """Write a text file so that a reader finds the old or the new content, never a part. Raises DataError."""
    try:
        with written_whole(path) as stream:
            stream.write(text.encode("utf-8", "replace"))
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}.") from error
