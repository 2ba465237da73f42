"""Reading an answer: a prepared text in which marks are plain and what is quoted from the question is set aside."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from eval.offline.numbers import AnswerNumber, numbers
from toolenv.model import Json
from toolenv.policy import is_refusal, refusal_phrase
from toolenv.values import atoms, normal_text

QUOTED_WORDS = 3
"""From how many words on a quoted piece of the question is set aside; a quoted name may be the answer itself."""

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»`", '"') | {"−": "-", "–": "-", "—": "-", "⁄": "/"})
_BULLET = re.compile(r"^\s*(?:[-*•‣◦·+]|\(?\d{1,3}[.)])\s+(?=\S)")
# A run of underscores is looked at once, from its first: an answer may hold a long one inside a word.
_BOLD = re.compile(r"\*+|(?<!_)__++(?=\W|$)|(?<!\w)__+")
_QUOTATION = re.compile(r'"([^"\n]{2,})"')

_LEAD_IN = re.compile(
    r"^(?:(?:so|well|sure|ok|okay|thus|therefore|in short|overall|final answer|answers?|results?)[,:!.]?\s+"
    r"|(?:based on|according to|from|using)\b[^,:\n]{0,80}[,:]\s*"
    r"|(?:here (?:is|are)|these are|this is|it is|it's|they are|there (?:is|are)|that is)\s+(?:the following\s*)?:?\s*"
    r"|(?:the\s+)?(?:final\s+)?(?:answers?|results?|values?|items?|names?)\s+"
    r"(?:is|are|consists? of|include|includes|would be|was|were)(?:\s+as follows)?\s*:?\s*"
    r"|(?:the\s+)?(?:final\s+)?(?:answers?|results?|values?|output)\s*[:=]\s*)"
)
_FAREWELL = re.compile(
    r"(?:^|(?<=[.!?:\s]))(?:please\s+)?"
    r"(?:let me know|feel free|hope this helps|i hope|if you (?:need|have|want|would))\b[^\n]*$"
)


@dataclass(frozen=True)
class Reading:
    """An answer as the rules read it.

    ``text`` is normalised line by line (NFKC, blanks and case folded), bold marks and curly quotes made plain quotes,
    and pieces of the question set aside. ``payload`` is what is left of it after the lead-in; ``bullets`` are
    its bulleted lines without their bullet. ``wording`` is the prepared refusal that the policy asks for, if any.
    """

    raw: str
    text: str
    payload: str
    bullets: tuple[str, ...]
    wording: str = ""

    @cached_property
    def numbers(self) -> list[AnswerNumber]:
        return numbers(self.text)

    @cached_property
    def refusal(self) -> str | None:
        """The words by which the answer declines, the policy's own wording included; None where it does not."""
        if self.wording and self.wording in self.text:
            return self.wording
        return refusal_phrase(self.text)

    @property
    def is_empty(self) -> bool:
        return not self.raw.strip()


_THOUGHTS = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS_END = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)


def without_thoughts(answer: str) -> str:
    """An answer without the thoughts that some models print before it; they assert nothing."""
    return _THOUGHTS_END.sub("", _THOUGHTS.sub(" ", answer)) if "<" in answer else answer


def prepared(text: str) -> str:
    """A text as answers and due values are compared: normalised by line, typographic marks made plain."""
    folded = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    lines = (normal_text(line) for line in folded.splitlines())
    return "\n".join(line for line in lines if line)


def declines(answer: Json, wording: str | None) -> bool:
    """Whether an answer (a text, or a list or an object of one) declines, by known words or by the policy's own."""
    if is_refusal(answer):
        return True
    values = list(atoms(answer)) if wording else []
    return len(values) == 1 and isinstance(values[0], str) and prepared(wording or "") in prepared(values[0])


def read_answer(
    answer: str, questions: Sequence[str], wording: str | None = None, due: Collection[str] = ()
) -> Reading:
    """Read an answer.

    ``questions`` are the texts of the user's turns, ``wording`` is the policy's refusal, ``due`` are prepared texts
    that are never set aside though the question says them too.
    """
    answer = without_thoughts(answer)
    lines = []
    bullets = []
    written = _without_table_heads(prepared(answer).split("\n"))
    bulleted = sum(_BULLET.match(line) is not None for line in written) > 1
    for line in written:
        found = _BULLET.match(line) if bulleted else None
        content = _BOLD.sub('"', line[found.end() :] if found else line).strip()
        if found:
            bullets.append(content)
        lines.append(content)
    asides = [_BOLD.sub('"', prepared(question)) for question in questions]
    text = _FAREWELL.sub("", _set_aside("\n".join(lines), asides, due)).strip()
    kept = tuple(_set_aside(bullet, asides, due) for bullet in bullets)
    return Reading(raw=answer, text=text, payload=payload_of(text), bullets=kept, wording=prepared(wording or ""))


_TABLE_RULE = re.compile(r"(?=[\s:|-]*?--)[\s:|-]++")


def _without_table_heads(lines: list[str]) -> list[str]:
    """The lines without the heads of tables in Markdown; the rows of a table become bullets of their cells."""
    rules = {index for index, line in enumerate(lines) if "|" in line and _TABLE_RULE.fullmatch(line)}
    left = [line for index, line in enumerate(lines) if index not in rules and index + 1 not in rules]
    if not rules:
        return left
    return [
        "- " + "; ".join(c.strip() for c in line.strip("|").split("|")) if line[:1] == "|" else line for line in left
    ]


def _set_aside(text: str, questions: Sequence[str], due: Collection[str]) -> str:
    for question in questions:
        bare = question.rstrip(" ?.!")
        if bare in text and len(bare.split()) >= QUOTED_WORDS:
            text = re.sub(rf'"?{re.escape(bare)}[?.!]*"?', " ", text)

    def aside(found: re.Match[str]) -> str:
        piece = found.group(1).strip(" ?.!,")
        long = len(piece.split()) >= QUOTED_WORDS and piece not in due
        return " " if long and any(piece in question for question in questions) else found.group()

    return _QUOTATION.sub(aside, text)


def json_of(raw: str) -> Json:
    """The list or object that an answer is, also one in a code fence or in Python's notation of it; else None."""
    text = raw.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    if text[:1] not in "[{" or text[-1:] not in "]}":
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def payload_of(text: str) -> str:
    """What is asserted after the lead-in."""
    while True:
        found = _LEAD_IN.match(text)
        if not found or not found.end():
            return text.strip()
        text = text[found.end() :].strip()


_FILLING = (
    "a an the this that these those here there it its is are was were be as and or of in on at to for from by with "
    "i we you my your our they them their data result results answer answers value values response responses tool "
    "tools table tables database documents document information based according retrieved found returned gathered "
    "given provided query question follows following which what looked up step steps available using used final so "
    "then have has had been will would can far about please sure okay ok note"
)
_FILLER = frozenset(_FILLING.split())
_CUT_OFF = re.compile(
    r"(?:\b(?:is|are|was|were|the|a|an|of|to|by|and|or|with|in|for|that|as|be|include|includes)|[:,=])$"
)


def telling_words(text: str) -> set[str]:
    """The words and lone signs of a prepared text that are no filler."""
    words = re.findall(r"[^\W_][\w'-]*|[^\w\s\"'.,:;!?()\[\]]", text)
    return {word for word in words if word not in _FILLER}


def asserts_nothing(reading: Reading, questions: Sequence[str]) -> bool:
    """Whether nothing is said after the lead-in: only filler is left, or the text breaks off before its point."""
    left = telling_words(reading.payload)
    if not left:
        return True
    if _CUT_OFF.search(reading.text.rstrip(' "')) is None:
        return False
    asked = set(re.findall(r"[^\W_][\w'-]*", " ".join(prepared(question) for question in questions)))
    return all(word in asked for word in left)
