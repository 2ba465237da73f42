"""Policies: every kind of text, applicability, adherence, refusals (policies contract)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenv.domains import confusable_with, topic_groups, topic_of
from toolenv.model import Instance, ToolCall, Turn
from toolenv.policy import (
    Policy,
    applicability,
    applicability_of,
    is_refusal,
    parse,
    policy_of,
    refusal_phrase,
    source_of,
    violation,
)

MOVIES = "Movies, TV & Entertainment, Social Media"
LAW = "Government, Law & Public Services, Human Capital"
SPORTS = "Sports & Athletics"
REFUSE = " If you don't have enough information to complete the task, respond with '{}'"


def made(name: str) -> ToolCall:
    return ToolCall(name=name, arguments={})


API, RAG, NEUTRAL = made("get_team"), made("query_superhero"), made("get_data")

TEXTS: list[tuple[str, str, tuple[str, ...]]] = [
    (
        f"If a user's query pertains to {MOVIES}, which is/are about films, make sure you try answering it by only "
        "using document retrievers. Do not use other types of tools.",
        "only_documents",
        (MOVIES,),
    ),
    (
        f"Whenever something the user asks pertains to {SPORTS}, which are about matches, teams and rules, please make "
        "sure you do not use document retrievers to try answering it. Use other types of tools.",
        "no_documents",
        (SPORTS,),
    ),
    (
        f"If a question of the user pertains to {LAW}, which is/are about crime, or {MOVIES}, which is/are about films "
        "and answers, make sure you do not use document retrievers to try answering it. Use other types of tools.",
        "no_documents",
        (LAW, MOVIES),
    ),
    (
        f"If a user's query pertains to {SPORTS} and {MOVIES}, which is/are about fun, make sure you first try "
        "answering it without invoking document retrievers.",
        "other_first",
        (SPORTS, MOVIES),
    ),
    (
        f"If a user's query pertains to {SPORTS}, which is/are about fun, first try to answer it using document "
        "retrievers. If that does not work, use other types of tools.",
        "documents_first",
        (SPORTS,),
    ),
    (f"Only use retrivers for {MOVIES} related questions.", "only_documents", (MOVIES,)),
    (f"only use retrievers for {SPORTS}, {LAW} related questions", "only_documents", (SPORTS, LAW)),
    ("Use document retrievers to answer questions. Do not use any other type of tool.", "only_documents", ()),
    ("Do not use document retrievers to answer questions. Use other types of tools.", "no_documents", ()),
    ("First try to answer questions without invoking document retrievers.", "other_first", ()),
    ("When answering, first try answering questions using document retrievers.", "documents_first", ()),
]


@pytest.mark.parametrize(("text", "kind", "groups"), TEXTS)
def test_every_kind_is_read(text: str, kind: str, groups: tuple[str, ...]) -> None:
    policy = parse(text)
    assert policy.kind == kind
    assert policy.topics == groups
    assert policy.scoped is bool(groups)
    assert policy.unknown_topics == ()
    assert policy.unrecognised == ""
    assert policy.refusal is None


@pytest.mark.parametrize(("text", "kind", "groups"), TEXTS)
@pytest.mark.parametrize("wording", ["Sorry, I cannot answer your query!", "I don't know.", "I'm unable to answer."])
def test_a_refusal_wording_may_follow(text: str, kind: str, groups: tuple[str, ...], wording: str) -> None:
    policy = parse(text.rstrip(".") + "." + REFUSE.format(wording))
    assert policy.kind == kind
    assert policy.topics == groups
    assert policy.refusal == wording
    assert is_refusal(policy.refusal)
    assert policy.unrecognised == ""


@pytest.mark.parametrize(("text", "kind", "groups"), TEXTS)
def test_layout_and_typography_do_not_matter(text: str, kind: str, groups: tuple[str, ...]) -> None:
    for spelling in (text.replace(" ", "\n  "), text.replace("'", "\u2019"), text.upper(), text.replace(" ", "\u00a0")):
        policy = parse(spelling)
        assert (policy.kind, policy.topics, policy.unrecognised) == (kind, groups, "")


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (", you should only be using document retrievers. Do not use other types of tools.", "only_documents"),
        (", you are not allowed to use document retrievers. Use other types of tools.", "no_documents"),
        (", then do not use any document retrievers. Use other types of tools.", "no_documents"),
        (" make sure to only use document retrievers. Do not use other types of tools.", "only_documents"),
        (
            ", first try without invoking document retrievers. Only if that fails, use document retrievers.",
            "other_first",
        ),
        (", try to first answer using document retrievers before any other tool.", "documents_first"),
    ],
)
@pytest.mark.parametrize(
    "opening", ["If a user's query pertains to", "Whenever a query pertains to any of the topics:"]
)
def test_other_ways_to_say_a_rule(opening: str, rule: str, kind: str) -> None:
    policy = parse(f"{opening} {SPORTS}, which is/are about teams, games and answers{rule}")
    assert (policy.kind, policy.topics, policy.unknown_topics, policy.unrecognised) == (kind, (SPORTS,), (), "")


@pytest.mark.parametrize(
    "text", ["", "   \n", REFUSE.format("I don't know."), 'If you cannot answer, say "No answer available."']
)
def test_no_policy(text: str) -> None:
    policy = parse(text)
    assert policy.kind == "none"
    assert applicability(policy, "superhero") == "none"
    assert violation(policy, "none", (), RAG) is None


@pytest.mark.parametrize(
    "text",
    [
        "Be nice.",
        "If it rains, do not use document retrievers.",
        "For questions about food use document retrievers. Do not use any other type of tool.",
        f"If a user's query pertains to {SPORTS}, be brief.",
        "Do not use document retrievers. Only use document retrievers.",
        "x" * 20_000,
    ],
)
def test_what_is_no_known_kind_is_reported_and_never_guessed(text: str) -> None:
    policy = parse(text)
    assert policy.kind == "unknown"
    assert policy.unrecognised
    assert applicability(policy, "superhero") == "unknown"
    assert violation(policy, "unknown", (), API)
    assert violation(policy, "unknown", (), NEUTRAL) is None


def test_a_strange_sentence_beside_a_known_one_is_reported() -> None:
    policy = parse("Do not use document retrievers to answer questions. Use other types of tools. Reply in French.")
    assert policy.kind == "no_documents"
    assert policy.unrecognised == "Reply in French."


def test_unknown_groups_and_domains_leave_applicability_unknown() -> None:
    text = "If a user's query pertains to {}, which is/are about x, make sure you do not use document retrievers."
    strange = parse(text.format("Space & Exploration"))
    assert strange.topics == ()
    assert strange.unknown_topics == ("Space & Exploration",)
    assert applicability(strange, "superhero") == "unknown"
    both = parse(text.format(f"Space & Exploration, which is/are about y, and {MOVIES}"))
    assert both.topics == (MOVIES,)
    assert both.unknown_topics == ("Space & Exploration",)
    assert applicability(both, "superhero") == "applies"
    assert applicability(both, "hockey") == "unknown"
    known = parse(text.format(MOVIES))
    assert applicability(known, "superhero") == "applies"
    assert applicability(known, "hockey") == "does_not_apply"
    assert applicability(known, "a_domain_of_nobody") == "unknown"
    everywhere = parse("Do not use document retrievers to answer questions. Use other types of tools.")
    assert applicability(everywhere, "a_domain_of_nobody") == "applies"


def test_a_dataset_may_bring_its_own_groups() -> None:
    own = {"moons": "Rivers, Lakes & Water", "superhero": "Rivers, Lakes & Water"}
    text = (
        "If a user's query pertains to Rivers, Lakes & Water, which is/are about x, make sure you do not use document "
        "retrievers to try answering it. Use other types of tools."
    )
    instance = Instance(
        uuid="u", capability=4, domain="moons", turns=(Turn(turn_id=0, query="q"),), policy=text, topics=own
    )
    assert policy_of(instance).topics == ("Rivers, Lakes & Water",)
    assert applicability_of(instance) == "applies"
    assert applicability(parse(text, own), "superhero", own) == "applies", "the dataset's own table goes first"
    assert applicability(parse(text, own), "hockey", own) == "does_not_apply"


@pytest.mark.parametrize(
    ("kind", "call", "broken"),
    [
        ("only_documents", API, True),
        ("only_documents", RAG, False),
        ("no_documents", RAG, True),
        ("no_documents", API, False),
        ("only_documents", NEUTRAL, False),
        ("no_documents", NEUTRAL, False),
    ],
)
def test_forbidden_sources(kind: Any, call: ToolCall, broken: bool) -> None:
    policy = Policy(text="", kind=kind)
    assert (violation(policy, "applies", (), call) is not None) is broken
    assert (violation(policy, "unknown", (), call) is not None) is broken
    assert violation(policy, "does_not_apply", (), call) is None
    if broken:
        assert call.name in str(violation(policy, "applies", (API, RAG), call))


def test_try_first_looks_at_the_first_call_alone() -> None:
    policy = Policy(text="", kind="documents_first")
    assert violation(policy, "applies", (), API)
    assert violation(policy, "applies", (NEUTRAL,), API)
    assert violation(policy, "applies", (), RAG) is None
    assert violation(policy, "applies", (RAG,), API) is None
    assert violation(policy, "applies", (API,), API) is None, "the first call was the one that broke it"
    assert violation(Policy(text="", kind="other_first"), "applies", (NEUTRAL,), RAG)


@given(st.lists(st.sampled_from([API, RAG, NEUTRAL]), max_size=6))
def test_gate_zero_is_the_fold_of_one_rule(calls: list[ToolCall]) -> None:
    for kind, forbidden in (("only_documents", API), ("no_documents", RAG)):
        policy = Policy(text="", kind=kind)
        found = [violation(policy, "applies", calls[:place], call) for place, call in enumerate(calls)]
        assert any(found) == (forbidden in calls)
    first = next((call for call in calls if call != NEUTRAL), None)
    broken = [violation(Policy(text="", kind="documents_first"), "applies", calls[:n], c) for n, c in enumerate(calls)]
    assert sum(reason is not None for reason in broken) == (1 if first == API else 0)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("query_superhero", "RAG"),
        ("retriever_clapnq_beer_factory", "RAG"),
        ("task_4_beer_factory_query_beer_factory", "RAG"),
        ("task_4_beer_factory_get_brand", "API"),
        ("get_data", "neutral"),
        ("initialize_active_data", "neutral"),
        ("get_query_count", "API"),
        ("filter_data", "API"),
        ("", "API"),
    ],
)
def test_sources(name: str, source: str) -> None:
    assert source_of(name) == source


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, I cannot answer your query!",
        "I don't know.",
        "I don\u2019t know the answer",
        "No answer available.",
        "I'm unable to answer.",
        "Insufficient information to respond.",
        "It could not be determined.",
        "I couldn't reliably find that.",
        "We are not able to provide this.",
        "no answer can be given",
        "I do not have enough data",
        ["I cannot answer"],
        {"answer": "I cannot answer"},
    ],
)
def test_refusals(text: Any) -> None:
    assert is_refusal(text)


@pytest.mark.parametrize(
    "text", ["42", "Nobody knows the man found it", "", None, 5, ["a", "I cannot answer"], "Can answer"]
)
def test_no_refusals(text: Any) -> None:
    assert not is_refusal(text)


def test_the_phrase_is_given_back() -> None:
    assert refusal_phrase("Well, I cannot answer your query!") == "cannot answer"
    assert refusal_phrase("It is 5") is None


@given(st.text(max_size=200))
def test_any_text_is_read_without_an_error(text: str) -> None:
    policy = parse(text)
    assert applicability(policy, "superhero") in ("applies", "does_not_apply", "unknown", "none")
    is_refusal(text)


@given(
    st.lists(st.sampled_from(topic_groups()), min_size=1, max_size=4, unique=True),
    st.sampled_from([", ", " and ", " or ", " / ", "; "]),
)
def test_groups_may_be_joined_in_any_way(groups: list[str], joiner: str) -> None:
    policy = parse(f"Only use retrivers for {joiner.join(groups)} related questions.")
    assert set(policy.topics) == set(groups)
    assert policy.unknown_topics == ()


def test_hostile_texts_do_not_hang() -> None:
    for text in (
        "if not " * 1400,
        "pertains to " * 800,
        "'" * 9_999,
        "if you cannot answer " * 400 + "say '",
        ", and" * 1900,
    ):
        parse(text)
    is_refusal("cannot " * 100_000)


def test_published_facts() -> None:
    assert topic_of("superhero") == MOVIES
    assert topic_of("nobody") is None
    assert len(topic_groups()) == 12
    assert list(topic_groups()) == sorted(topic_groups(), key=lambda name: (-len(name), name))
    assert confusable_with("nobody") == ()
    assert "student_loan" not in confusable_with("student_loan")


@pytest.mark.shared
def test_the_facts_are_those_of_the_published_tables(shared: Path) -> None:
    tables = shared / "data" / "vakra"
    for domain, topic in json.loads((tables / "domain_topics.json").read_text()).items():
        assert topic_of(domain) == topic
    for domain, others in json.loads((tables / "domain_negatives.json").read_text()).items():
        assert set(confusable_with(domain)) | {domain} == set(others)


@pytest.mark.shared
def test_the_policies_of_real_data_are_understood(shared: Path) -> None:
    names = {"only_api": "no_documents", "only_rag": "only_documents"}
    seen = 0
    for path in (shared / "data" / "mini" / "test" / "capability_4_multiturn" / "output").glob("*.json"):
        for record in json.loads(path.read_text()):
            policy = parse(record["additional_instructions"])
            assert policy.unrecognised == ""
            if record.get("policy"):
                seen += 1
                assert policy.kind == names[record["policy"]["kind"]]
                assert policy.topics == (record["policy"]["topic"],)
                assert (applicability(policy, record["domain"]) == "applies") is record["policy"]["applies"]
    assert seen > 20
