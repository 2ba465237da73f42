"""Reading filter expressions: tokens, the tree that they make, and what completes a half-written one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sessions.filters.predicates import Completion, FilterError, Predicate, read_argument

T = TypeVar("T")

MAX_LENGTH = 4000
"""Characters in one expression; longer ones are refused before they are read."""

MAX_DEPTH = 100
"""How deeply parentheses and negations may nest."""

TOKEN = re.compile(
    r"""\s*(?:(?P<sign>[()&|!])|(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<word>[^\s()&|!"']+))"""
)


class Token(NamedTuple):
    """``kind`` is ``sign``, ``word`` or ``quoted``; quoted text is unescaped."""

    kind: str
    text: str
    position: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of an expression. Raises ``FilterError`` at a quote that is never closed."""
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = TOKEN.match(text, position)
        if match is None:
            position += len(text[position:]) - len(text[position:].lstrip())
            raise FilterError(f"A quote is not closed at character {position + 1}.", position)
        kind = str(match.lastgroup)
        written = match.group(kind)
        yield Token(kind, _unescaped(written) if kind == "quoted" else written, match.start(kind))
        position = match.end()


def _unescaped(quoted: str) -> str:
    return re.sub(r"\\([\"'\\])", r"\1", quoted[1:-1])


class Filter(Generic[T]):
    """A read expression. ``matches`` evaluates it; ``late`` is true when it asks for something of a result."""

    def __init__(self, text: str, test: Callable[[T], bool], late: bool) -> None:
        self.text = text
        self.late = late
        self._test = test

    def matches(self, subject: T) -> bool:
        return self._test(subject)

    def __repr__(self) -> str:
        return f"Filter({self.text!r})"


class Language(Generic[T]):
    """A set of predicates over one kind of subject; higher floors register theirs.

    ``text_predicate`` is the name of the one that a bare word stands for.
    """

    def __init__(self, predicates: Sequence[Predicate[T]], text_predicate: str) -> None:
        self.predicates: dict[str, Predicate[T]] = {}
        self.text_predicate = text_predicate
        for predicate in predicates:
            self.register(predicate)

    def register(self, predicate: Predicate[T]) -> None:
        """Add a predicate. Raises ``ValueError`` for a name that is taken."""
        if predicate.name in self.predicates:
            raise ValueError(f"there is already a predicate ~{predicate.name}")
        self.predicates[predicate.name] = predicate

    def extended(self, *predicates: Predicate[T]) -> Language[T]:
        """A language with more predicates; this one stays as it is."""
        return Language((*self.predicates.values(), *predicates), self.text_predicate)

    def parse(self, text: str) -> Filter[T]:
        """Read an expression; an empty one matches everything. Raises ``FilterError``."""
        if len(text) > MAX_LENGTH:
            raise FilterError(f"A filter is at most {MAX_LENGTH} characters long.", MAX_LENGTH)
        reader = _Reader(self, list(tokens(text)), len(text))
        test = reader.whole()
        return Filter(text.strip(), test, reader.late)

    def complete(self, text: str, subjects: Sequence[T] = ()) -> list[Completion]:
        """What can follow ``text``: predicate names for a begun ``~``, arguments after one that takes choices."""
        try:
            read = list(tokens(text))
        except FilterError:
            return []
        begun = not text[-1:].isspace()
        last = read[-1] if read and begun and read[-1].kind == "word" else None
        before = read[:-1] if last is not None else read
        if before and before[-1].kind == "word" and before[-1].text.startswith("~"):
            predicate = self.predicates.get(before[-1].text[1:])
            if predicate is not None and predicate.argument != "none":
                return _arguments(predicate, last.text if last else "", subjects)
        if last is None:
            return [Completion(text=f"~{name}", meaning=each.meaning) for name, each in sorted(self.predicates.items())]
        if not last.text.startswith("~"):
            return []
        return [
            Completion(text=f"~{name}", meaning=each.meaning, replaces=len(last.text))
            for name, each in sorted(self.predicates.items())
            if name.startswith(last.text[1:])
        ]


def _arguments(predicate: Predicate[T], begun: str, subjects: Sequence[T]) -> list[Completion]:
    choices = predicate.choices(subjects) if callable(predicate.choices) else predicate.choices
    return [
        Completion(text=_quoted(choice), meaning=predicate.meaning, replaces=len(begun))
        for choice in choices
        if choice.casefold().startswith(begun.casefold())
    ]


def _quoted(text: str) -> str:
    if re.fullmatch(r"""[^\s()&|!"'~]+""", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Reader(Generic[T]):
    """Recursive descent over the tokens: alternatives of conjunctions of tests."""

    def __init__(self, language: Language[T], read: list[Token], length: int) -> None:
        self.language = language
        self.read = read
        self.at = 0
        self.length = length
        self.late = False

    def whole(self) -> Callable[[T], bool]:
        if not self.read:
            return lambda subject: True
        test = self.alternatives(0)
        if self.at < len(self.read):
            token = self.read[self.at]
            raise FilterError(f"Nothing can stand at {token.text!r}, character {token.position + 1}.", token.position)
        return test

    def alternatives(self, depth: int) -> Callable[[T], bool]:
        if depth > MAX_DEPTH:
            raise FilterError(f"A filter nests at most {MAX_DEPTH} levels deep.", self.position)
        tests = [self.conjunction(depth)]
        while self.sign("|"):
            tests.append(self.conjunction(depth))
        return tests[0] if len(tests) == 1 else lambda subject: any(test(subject) for test in tests)

    def conjunction(self, depth: int) -> Callable[[T], bool]:
        tests = [self.single(depth)]
        while self.sign("&") or self.begins():
            tests.append(self.single(depth))
        return tests[0] if len(tests) == 1 else lambda subject: all(test(subject) for test in tests)

    def single(self, depth: int) -> Callable[[T], bool]:
        if depth > MAX_DEPTH:
            raise FilterError(f"A filter nests at most {MAX_DEPTH} levels deep.", self.position)
        if self.sign("!"):
            inner = self.single(depth + 1)
            return lambda subject: not inner(subject)
        if self.sign("("):
            inner = self.alternatives(depth + 1)
            if not self.sign(")"):
                raise FilterError("A parenthesis is not closed.", self.position)
            return inner
        if self.at >= len(self.read) or self.read[self.at].kind == "sign":
            raise FilterError(f"Something is missing at character {self.position + 1}.", self.position)
        token = self.read[self.at]
        self.at += 1
        if token.kind == "word" and token.text.startswith("~"):
            return self.predicate(token)
        return self.bound(self.language.predicates[self.language.text_predicate], token.text, token.position)

    def predicate(self, token: Token) -> Callable[[T], bool]:
        predicate = self.language.predicates.get(token.text[1:])
        if predicate is None:
            raise FilterError(
                f"There is no {token.text!r}; a filter can ask ~{', ~'.join(sorted(self.language.predicates))}.",
                token.position,
            )
        if predicate.argument == "none":
            self.late = self.late or predicate.late
            return lambda subject: predicate.test(subject, None)
        if self.at >= len(self.read) or self.read[self.at].kind == "sign":
            raise FilterError(f"{token.text} needs something after it.", self.position)
        argument = self.read[self.at]
        self.at += 1
        return self.bound(predicate, argument.text, argument.position)

    def bound(self, predicate: Predicate[T], text: str, position: int) -> Callable[[T], bool]:
        argument: Any = read_argument(predicate, text, position)
        self.late = self.late or predicate.late
        return lambda subject: predicate.test(subject, argument)

    def sign(self, wanted: str) -> bool:
        if self.at < len(self.read) and self.read[self.at].kind == "sign" and self.read[self.at].text == wanted:
            self.at += 1
            return True
        return False

    def begins(self) -> bool:
        """Whether another test begins here, joined by nothing but white space."""
        if self.at >= len(self.read):
            return False
        token = self.read[self.at]
        return token.kind != "sign" or token.text in "(!"

    @property
    def position(self) -> int:
        return self.read[self.at].position if self.at < len(self.read) else self.length
