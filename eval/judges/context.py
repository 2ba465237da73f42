"""Fits the material of a question into a judge's context, and tells what had to be left out."""

from __future__ import annotations

from collections.abc import Sequence

from eval.model import Evidence
from toolenv.model import Value

CUT_EVIDENCE = "context cut"
"""Key of the evidence entry that says what a judge did not see."""

_TAIL_SHARE = 4
"""A quarter of what is kept of a long text is its end."""


class Section(Value, frozen=True):
    """A piece of material: ``label`` as the judge reads it; ``step`` (1-based) where it belongs to one call."""

    label: str
    text: str
    step: int | None = None


class Cut(Value, frozen=True):
    """A section of which ``kept`` of its ``of`` characters were shown."""

    section: str
    step: int | None
    kept: int
    of: int


def fit(sections: Sequence[Section], characters: int) -> tuple[tuple[Section, ...], tuple[Cut, ...]]:
    """The sections within ``characters`` in all: short ones stay whole, long ones share what is left evenly.

    What is cut loses its middle, for a response names its columns at its head and its totals at its end.
    """
    limit = _fair_limit([len(section.text) for section in sections], characters)
    kept: list[Section] = []
    cuts: list[Cut] = []
    for section in sections:
        if len(section.text) <= limit:
            kept.append(section)
            continue
        tail = limit // _TAIL_SHARE
        head = limit - tail
        left_out = len(section.text) - limit
        end = section.text[len(section.text) - tail :]
        text = f"{section.text[:head]}\n[... {left_out} characters left out ...]\n{end}"
        kept.append(Section(label=section.label, text=text, step=section.step))
        cuts.append(Cut(section=section.label, step=section.step, kept=limit, of=len(section.text)))
    return tuple(kept), tuple(cuts)


def cut_evidence(cuts: Sequence[Cut]) -> tuple[Evidence, ...]:
    """One evidence entry that says what was cut, in words and piece by piece; none where nothing was cut."""
    if not cuts:
        return ()
    words = "; ".join(f"{cut.kept} of {cut.of} characters of {cut.section} were shown" for cut in cuts)
    listed = [{"section": cut.section, "step": cut.step, "kept": cut.kept, "of": cut.of} for cut in cuts]
    return ({CUT_EVIDENCE: words, "cuts": listed},)


def _fair_limit(lengths: Sequence[int], total: int) -> int:
    """The largest length to which each text may be limited so that all of them fit into ``total``."""
    left = total
    for count, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        if length * count > left:
            return max(0, left // count)
        left -= length
    return max(lengths, default=0)
