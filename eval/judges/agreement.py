"""How far a person and a judge agree on the same gate of the same instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from eval.judges.human import overridden
from eval.model import Ruling
from toolenv.model import Value


class Agreement(Value, frozen=True):
    """Agreement of paired rulings on one gate.

    ``n`` counts the pairs in which both said pass or fail; ``not_compared`` those in which the judge left it
    undecided. ``agreement`` is the share of equal rulings, ``kappa`` Cohen's: None without pairs, and kappa also
    None where both always gave one and the same outcome (chance agreement is then complete and it is undefined).
    ``confusion`` maps ``"<person>/<judge>"`` to its count.
    """

    n: int
    agreement: float | None
    kappa: float | None
    confusion: Mapping[str, int]
    not_compared: int = 0


def agreement(rulings: Iterable[Ruling]) -> Agreement:
    """Compare the person's with the judge's outcome of every ruling that carries both."""
    pairs: Counter[tuple[str, str]] = Counter()
    not_compared = 0
    for ruling in rulings:
        judged = overridden(ruling)
        if judged is None:
            continue
        if judged.outcome in ("pass", "fail"):
            pairs[ruling.outcome, judged.outcome] += 1
        else:
            not_compared += 1
    n = pairs.total()
    confusion = {f"{person}/{judge}": pairs[person, judge] for person in ("pass", "fail") for judge in ("pass", "fail")}
    if not n:
        return Agreement(n=0, agreement=None, kappa=None, confusion=confusion, not_compared=not_compared)
    equal = (pairs["pass", "pass"] + pairs["fail", "fail"]) / n
    person_pass = (pairs["pass", "pass"] + pairs["pass", "fail"]) / n
    judge_pass = (pairs["pass", "pass"] + pairs["fail", "pass"]) / n
    chance = person_pass * judge_pass + (1 - person_pass) * (1 - judge_pass)
    kappa = None if chance >= 1 else (equal - chance) / (1 - chance)
    return Agreement(n=n, agreement=equal, kappa=kappa, confusion=confusion, not_compared=not_compared)
