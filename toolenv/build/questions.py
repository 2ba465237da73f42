"""The files that ``vakra-tui build`` reads: questions with their SQL, and documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolenv.build.source import Passage, Question
from toolenv.errors import DataError
from toolenv.model import Json, Value

_QUESTION_KEYS = ("question", "query", "utterance")
_SQL_KEYS = ("SQL", "sql", "gold_sql")


class StatedFact(Value, frozen=True):
    """A question that a document's author put to it, and the answer."""

    doc_id: str
    question: str
    answer: str


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON array (or JSON lines) of ``{"question", "SQL"}``; BIRD's own files are of this form.

    Raises ``DataError`` that names the file and the record.
    """
    questions = []
    for number, record in enumerate(_records(path), 1):
        text = next((record[k] for k in _QUESTION_KEYS if isinstance(record.get(k), str)), None)
        sql = next((record[k] for k in _SQL_KEYS if isinstance(record.get(k), str)), None)
        if not text or not text.strip() or not sql or not sql.strip():
            raise DataError(f"{path}: record {number} must have a text under 'question' and one under 'SQL'")
        questions.append(Question(question=" ".join(text.split()), sql=sql))
    if not questions:
        raise DataError(f"{path} holds no question")
    return questions


def read_documents(path: Path) -> tuple[list[Passage], list[StatedFact]]:
    """The passages of a JSON array (or JSON lines) of ``{"doc_id", "text"}``, and the facts stated with them.

    A passage may bring ``"questions": [{"question", "answer"}]`` that it answers. Raises ``DataError`` that names
    the file
    and the record.
    """
    passages: list[Passage] = []
    facts: list[StatedFact] = []
    seen: set[str] = set()
    for number, record in enumerate(_records(path), 1):
        doc_id, text = record.get("doc_id", record.get("id")), record.get("text")
        if not isinstance(doc_id, str | int) or not isinstance(text, str) or not text.strip():
            raise DataError(f"{path}: record {number} must have a 'doc_id' and a text under 'text'")
        key = str(doc_id)
        if key in seen:
            raise DataError(f"{path}: record {number} has the doc_id {key!r}, which an earlier one has")
        seen.add(key)
        passages.append(Passage(doc_id=key, text=" ".join(text.split())))
        for fact in record.get("questions") or ():
            if not isinstance(fact, dict) or not all(isinstance(fact.get(k), str) for k in ("question", "answer")):
                raise DataError(f"{path}: record {number}: each of its 'questions' must have a question and an answer")
            facts.append(StatedFact(doc_id=key, question=fact["question"], answer=fact["answer"]))
    if not passages:
        raise DataError(f"{path} holds no document")
    return passages, facts


def _records(path: Path) -> list[Mapping[str, Json]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from error
    try:
        if text.lstrip().startswith("["):
            found = json.loads(text)
        else:
            found = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise DataError(f"{path} must hold a JSON array of objects, or one object a line")
    return found
