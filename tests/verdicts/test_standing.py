"""What stands in what is found as if every printed value were looked for in every text."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sessions.dataflow.facts import ResponseFacts, response_facts
from sessions.dataflow.flows import _carried
from sessions.dataflow.printed import Printed, Written
from sessions.dataflow.searched import SearchedText
from toolenv.values import Atom, Key, key, keys_equal, occurs

SOME = (
    "a",
    "ab",
    "AB",
    "a_b",
    "b a",
    "1",
    "16",
    "16.0",
    "1,234",
    "007",
    "5%",
    "x-1",
    "\u00e9",
    "\ufb01n",
    "-",
    ".",
    "",
)
WORDS = st.sampled_from(SOME)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join) | st.text(alphabet="ab1 -._,\u00e9\u0130", max_size=12)
NUMBERS = (
    st.integers(-20, 20)
    | st.sampled_from([10**15, 10**15 + 1, 2**53 + 1, 10**400, 1234])
    | st.sampled_from([16.0, 0.1 + 0.2, 0.3, 1e-12, 1234.0, float("nan"), float("inf"), float("-inf"), 1e16])
    | st.tuples(st.sampled_from([0.3, 7.25, 1e16, 1e17]), st.integers(-15, 15)).map(lambda n: n[0] * (1 + n[1] * 1e-10))
)
ATOMS: st.SearchStrategy[Atom] = TEXTS | NUMBERS | st.booleans() | st.none()


def printed_of(values: list[Atom]) -> Printed:
    printed = Printed()
    for value in values:
        printed.setdefault(key(value), value)
    return printed


@given(values=st.lists(ATOMS, max_size=30), written=st.lists(ATOMS, max_size=5))
def test_what_stands_in_written_values(values: list[Atom], written: list[Atom]) -> None:
    printed, used = printed_of(values), Written(written)
    one_by_one = [(k, shown) for k, shown in printed.items() if k in used]
    assert repr(used.standing(printed)) == repr(one_by_one)


@given(text=TEXTS)
def test_many_texts_are_looked_up_instead_of_looked_for(text: str) -> None:
    printed, used = printed_of([f"{one} {other}" for one in SOME for other in SOME]), Written([text])
    assert used.standing(printed) == [(k, shown) for k, shown in printed.items() if k in used]


@given(atom=ATOMS, text=TEXTS)
def test_a_prepared_text_answers_as_the_text_itself(atom: Atom, text: str) -> None:
    prepared = SearchedText(text)
    assert prepared.holds(atom) == occurs(atom, text)
    assert prepared.holds(atom) == occurs(atom, text)


@given(values=st.lists(ATOMS, max_size=20), passages=st.lists(TEXTS, max_size=2), atom=ATOMS)
def test_what_a_value_carries(values: list[Atom], passages: list[str], atom: Atom) -> None:
    found = ResponseFacts(printed=printed_of(values), passages=tuple(passages))
    assert repr(list(_carried(found, atom, Written((atom,))))) == repr(list(carried_one_by_one(found, atom)))


def carried_one_by_one(found: ResponseFacts, atom: Atom) -> Iterator[tuple[Key, Atom]]:
    if found.passages:
        if any(occurs(atom, passage) for passage in found.passages):
            yield key(atom), atom
        return
    whole = key(atom)
    if whole in found.printed:
        yield whole, found.printed[whole]
    elif isinstance(atom, str):
        yield from ((k, shown) for k, shown in found.printed.items() if k in Written((atom,)))
    elif isinstance(atom, float) or isinstance(whole, float):
        near = [(k, shown) for k, shown in found.printed.items() if keys_equal(k, whole)]
        yield from near[:1]


def test_a_short_text_costs_the_same_in_a_response_of_any_length() -> None:
    """Counted: how often a printed value is asked for by its key."""

    class Counting(Printed):
        asked = 0

        def __contains__(self, wanted: object) -> bool:
            Counting.asked += 1
            return super().__contains__(wanted)

    counts = []
    for size in (1_000, 100_000):
        values = response_facts("[" + ",".join(f'"name {n % 7} {n}"' for n in range(size)) + "]", "API").printed
        printed = Counting(values)
        Counting.asked = 0
        assert Written(["where is name 3 10 today"]).standing(printed) == [("name 3 10", "name 3 10")]
        counts.append(Counting.asked)
    assert counts[1] <= 2 * counts[0]
