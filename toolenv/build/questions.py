"""The files that ``vakra-tui build`` reads: questions with their SQL, and documents.

Each is a JSON array of objects, JSON lines, or, where its name ends in ``.yaml`` or ``.yml``, a YAML list of mappings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from toolenv.build.source import Become, Passage, Question
from toolenv.decoding import YAML_CONSTRUCTION, decoded, without_lone_surrogates
from toolenv.errors import DataError
from toolenv.files import refuse_endless
from toolenv.model import Json, Value

_QUESTION_KEYS = ("question", "query", "utterance")
_SQL_KEYS = ("SQL", "sql", "gold_sql")


class StatedFact(Value, frozen=True):
    """A question that a document's author put to it, and the answer."""

    doc_id: str
    question: str
    answer: str


def read_questions(path: Path) -> list[Question]:
    """The questions of records ``{"question", "SQL"}``; BIRD's own files are of this form.

    ``key`` names what a record becomes, ``become`` (a list of ``tool``, ``endpoint``, ``slot``, ``sel``) says what that
    is to be; without them it becomes all that it can. Raises ``DataError`` that names the file and the record.
    """
    questions = []
    for number, record in enumerate(read_records(path), 1):
        text = next((record[k] for k in _QUESTION_KEYS if isinstance(record.get(k), str)), None)
        sql = next((record[k] for k in _SQL_KEYS if isinstance(record.get(k), str)), None)
        if not text or not text.strip() or not sql or not sql.strip():
            raise DataError(f"{path}: record {number} must have a text under 'question' and one under 'SQL'")
        become, key = record.get("become"), record.get("key")
        if become is not None and (not isinstance(become, list) or not all(w in get_args(Become) for w in become)):
            raise DataError(f"{path}: record {number}: 'become' is a list of {', '.join(get_args(Become))}")
        if key is not None and (not isinstance(key, str) or not key):
            raise DataError(f"{path}: record {number}: 'key' is a text")
        wanted = tuple(become) if become is not None else None
        questions.append(Question(question=" ".join(text.split()), sql=sql, key=key, become=wanted))
    if not questions:
        raise DataError(f"{path} holds no question")
    return questions


def read_documents(path: Path) -> tuple[list[Passage], list[StatedFact]]:
    """The passages of records ``{"doc_id", "text"}``, and the facts stated with them.

    A passage may bring ``"questions": [{"question", "answer"}]`` that it answers; one with ``"shared": true`` tells on
    purpose what the database tells too. Raises ``DataError`` that names the file and the record.
    """
    passages: list[Passage] = []
    facts: list[StatedFact] = []
    seen: set[str] = set()
    for number, record in enumerate(read_records(path), 1):
        doc_id, text = record.get("doc_id", record.get("id")), record.get("text")
        if not isinstance(doc_id, str | int) or not isinstance(text, str) or not text.strip():
            raise DataError(f"{path}: record {number} must have a 'doc_id' and a text under 'text'")
        key = str(doc_id)
        if key in seen:
            raise DataError(f"{path}: record {number} has the doc_id {key!r}, which an earlier one has")
        seen.add(key)
        passages.append(Passage(doc_id=key, text=" ".join(text.split()), shared=record.get("shared") is True))
        for fact in record.get("questions") or ():
            if not isinstance(fact, dict) or not all(isinstance(fact.get(k), str) for k in ("question", "answer")):
                raise DataError(f"{path}: record {number}: each of its 'questions' must have a question and an answer")
            facts.append(StatedFact(doc_id=key, question=fact["question"], answer=fact["answer"]))
    if not passages:
        raise DataError(f"{path} holds no document")
    return passages, facts


def read_records(path: Path) -> list[Mapping[str, Json]]:
    """The records of a file, half a surrogate pair read as U+FFFD.

    Raises ``DataError`` that names the file and what is wrong with it.
    """
    text = read_text(path)
    found = read_yaml(path, text) if path.suffix.lower() in (".yaml", ".yml") else _read_json(path, text)
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise DataError(f"{path} must hold a list of objects, or one object a line")
    return [without_lone_surrogates(record) for record in found]


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark. Raises ``DataError`` that names the file and what is wrong."""
    try:
        refuse_endless(path)
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from error


def read_yaml(path: Path, text: str) -> Any:
    """The content of a YAML text. Raises ``DataError`` that names the file and the place."""
    import yaml

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, *YAML_CONSTRUCTION) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise DataError(f"{path} is not YAML{where}: {getattr(error, 'problem', None) or error}") from error


def _read_json(path: Path, text: str) -> Any:
    try:
        if text.lstrip().startswith("["):
            return decoded(text)
        return [decoded(line) for line in text.split("\n") if line.strip()]
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
