"""Rulings read back from a file: ``--judge recorded:FILE``.

The file holds JSON lines ``{"run"?, "uuid", "gate", "ruling", "reason"}`` (contract, "The model judge"). A line
without ``run`` holds for every run; a line that names the run wins over one that does not; of several for the same
question the last one counts.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from eval.case import Case
from eval.model import Gate, Outcome, Ruling
from toolenv.decoding import decoded_file, what_is_wrong
from toolenv.errors import DataError
from toolenv.files import endless

GATES: tuple[str, ...] = get_args(Gate)
_MAX_SHOWN_PROBLEMS = 20


class RecordedJudge:
    """Answers from recorded rulings alone.

    A question that the file does not answer is *undecided*: a recording that has no opinion is not a judge that
    could not be reached, so it neither counts against the trajectory (the range shows it) nor hides the instance.

    ``run`` names the run whose rulings are meant when a case does not say (``Case.run`` empty); None leaves such a
    case to the lines without ``run``. Raises ``DataError`` when the file cannot be read or when no line of it is
    usable; single bad lines are skipped and named in ``problems``.
    """

    kind = "recorded"

    def __init__(self, path: Path | str, run: str | None = None) -> None:
        self._path = Path(path)
        self._run = run
        self._rulings: dict[tuple[str | None, str, str], Ruling] = {}
        self._problems: list[str] = []
        self._bad_lines = 0
        self._load()

    @property
    def problems(self) -> tuple[str, ...]:
        """One sentence for each line that could not be used (the first twenty, then how many more)."""
        more = self._bad_lines - len(self._problems)
        extra = (f"{self._path.name}: {more} more lines cannot be used.",) if more > 0 else ()
        return (*self._problems, *extra)

    def __len__(self) -> int:
        return len(self._rulings)

    async def rule(self, gate: Gate, case: Case) -> Ruling:
        return self.ruling(gate, case.run or self._run, case.instance.uuid)

    def ruling(self, gate: Gate, run: str | None, uuid: str) -> Ruling:
        """The recorded ruling of one question, undecided where there is none."""
        for name in (run, None):
            found = self._rulings.get((name, uuid, gate))
            if found is not None:
                return found
        return Ruling(outcome="undecided", reason=f"{self._path.name} has no ruling of '{gate}' for this instance")

    def _load(self) -> None:
        for number, line in enumerate(self._lines(), start=1):
            line = line.removeprefix(codecs.BOM_UTF8)
            if not line.strip():
                continue
            try:
                key, ruling = _read_line(line)
            except DataError as error:
                self._bad_lines += 1
                if len(self._problems) < _MAX_SHOWN_PROBLEMS:
                    self._problems.append(f"{self._path.name} line {number}: {error}")
                continue
            self._rulings[key] = ruling
        if self._bad_lines and not self._rulings:
            raise DataError(f"{self._problems[0]} No line of this file is a ruling.")

    def _lines(self) -> Iterator[bytes]:
        try:
            kind = endless(self._path)
            if kind is not None:
                # Rulings are read more than once: by every worker, and for the digest that a resume goes by.
                raise DataError(f"The rulings in {self._path} cannot be read: it is {kind}, not a file.")
            with self._path.open("rb") as file:
                yield from file
        except OSError as error:
            raise DataError(f"The rulings in {self._path} cannot be read: {error.strerror or error}.") from error


def _read_line(line: bytes) -> tuple[tuple[str | None, str, str], Ruling]:
    try:
        record: Any = decoded_file(line)
    except ValueError as error:
        raise DataError(f"it {what_is_wrong(error)}.") from error
    if not isinstance(record, dict):
        raise DataError("not a JSON object.")
    run, uuid, gate, outcome = (record.get(key) for key in ("run", "uuid", "gate", "ruling"))
    reason = record.get("reason") or ""
    if run is not None and not isinstance(run, str):
        raise DataError("'run' is not a text.")
    if not isinstance(uuid, str) or not uuid:
        raise DataError("'uuid' is missing.")
    if gate not in GATES:
        raise DataError(f"'gate' is not one of {', '.join(GATES)}.")
    if outcome not in ("pass", "fail"):
        raise DataError("'ruling' is neither 'pass' nor 'fail'.")
    if not isinstance(reason, str):
        raise DataError("'reason' is not a text.")
    passed: Outcome = "pass" if outcome == "pass" else "fail"
    return (run, uuid, gate), Ruling(outcome=passed, decided_by="recorded", reason=reason)
