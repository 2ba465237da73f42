"""Following values: facts, needed facts, hop structure, recovery, alignment of calls, argument provenance."""

from __future__ import annotations

from sessions.dataflow.alignment import AlignedPair, Alignment, ArgumentDifference, align
from sessions.dataflow.calls import MadeCall, MadeCalls, is_opening, made_calls
from sessions.dataflow.facts import ResponseFacts, facts_of, response_facts
from sessions.dataflow.flows import ANSWER, Flow, Hop, HopGraph, hop_graph, is_telling
from sessions.dataflow.prediction import PredictionAnalysis, analyse_prediction
from sessions.dataflow.provenance import ArgumentOrigin, origins, origins_by_step, ungrounded
from sessions.dataflow.recovery import FoundNeed, HopRecovery, recover
from sessions.dataflow.truth import GroundTruthAnalysis, Need, TruthHop, analyse_truth

__all__ = [
    "ANSWER",
    "AlignedPair",
    "Alignment",
    "ArgumentDifference",
    "ArgumentOrigin",
    "Flow",
    "FoundNeed",
    "GroundTruthAnalysis",
    "Hop",
    "HopGraph",
    "HopRecovery",
    "MadeCall",
    "MadeCalls",
    "Need",
    "PredictionAnalysis",
    "ResponseFacts",
    "TruthHop",
    "align",
    "analyse_prediction",
    "analyse_truth",
    "facts_of",
    "hop_graph",
    "is_opening",
    "is_telling",
    "made_calls",
    "origins",
    "origins_by_step",
    "recover",
    "response_facts",
    "ungrounded",
]
