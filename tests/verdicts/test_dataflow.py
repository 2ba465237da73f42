"""Facts, needed facts, hop structure, recovery, alignment and provenance on trajectories made by hand."""

from __future__ import annotations

import json

import pytest

from eval.case import analyses
from sessions.dataflow import align, analyse_prediction, origins, origins_by_step, recover, response_facts, ungrounded
from sessions.dataflow.flows import handles_of
from sessions.trajectory import CallTool, Step, Trajectory
from toolenv.model import Instance, ToolCall, ToolResult, ToolSpec, Turn
from toolenv.values import key

COUNT = ToolSpec(
    name="count",
    input_schema={
        "type": "object",
        "properties": {"publisher": {"type": "string"}, "limit": {"type": "integer", "default": -1}},
        "required": ["publisher"],
        "additionalProperties": False,
    },
)


# --- facts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("506.0", [506]),
        ("nan", [None]),
        ("inf", [float("inf")]),
        ('{"count": 3}', [3]),
        ('{"rows": [[1, "a"], [2, null]]}', [1, "a", 2, None]),
        ('{"rows": [{"name": "Ann", "age": 3}]}', ["Ann", 3]),
        ("just words", ["just words"]),
        ('"quoted"', ["quoted"]),
        ('{"broken": ', ['{"broken":']),
    ],
)
def test_every_printed_value_is_a_fact_and_no_name_is(text, printed):
    assert set(response_facts(text, "API").printed) == {key(value) for value in printed}


@pytest.mark.parametrize("text", ['{"rows": []}', "[]", "{}", "", "  ", '{"a": [], "b": {"c": []}}'])
def test_an_empty_result_is_a_fact_of_its_own(text):
    facts = response_facts(text, "API")
    assert facts.empty and not facts.printed


@pytest.mark.parametrize("text", ['{"rows": null}', "0", '{"n": 0}', '[""]'])
def test_null_zero_and_empty_text_are_values(text):
    assert not response_facts(text, "API").empty


def test_a_peek_shows_cells_and_the_number_of_rows_but_no_names_types_or_handle(bench):
    rows = bench.rows(("name", "age"), (("Ann", 1), ("Bo", 2), ("Cy", 3), ("Di", 4)))
    facts = response_facts(rows.peek("made_1"), "API", rows)
    assert set(facts.printed) == {key(v) for v in (4, "Ann", "Bo", "Cy", 1, 2, 3)}
    assert facts.lengths == (4,) and facts.records == 4


@pytest.mark.parametrize(
    "body",
    [
        {"results": [{"id": "d1", "text": "A passage.", "distance": 0.5, "metadata": {"source": "x"}}]},
        {"results": [{"text": "A passage.", "score": 7}]},
        [{"doc_id": "d1", "text": "A passage."}],
        ["A passage."],
        {"documents": [["A passage."]]},
    ],
)
def test_a_passage_is_one_fact_read_from_any_envelope(body):
    facts = response_facts(json.dumps(body), "RAG")
    assert facts.passages == ("A passage.",) and not facts.printed


def test_a_hostile_response_is_read(bench):
    for depth in (100, 500, 900, 950, 990, 5000):
        deep = "[" * depth + "7" + "]" * depth
        assert response_facts(deep, "API").printed
        assert response_facts('{"results": ' + deep.replace("7", '"A passage."') + "}", "RAG").passages
    wide = json.dumps({"rows": [[n, f"name {n}"] for n in range(50_000)]})
    assert len(response_facts(wide, "API").printed) == 100_000


# --- needed facts and recovery ---------------------------------------------------------------------------------------


def two_hops(bench, predicted, said="224"):
    first = bench.made("get_publisher", {"publisher": "DC Comics", "founded": 1934}, {"name": "Batman"})
    last = bench.made("count", {"count": 224}, {"publisher": "DC Comics"})
    return (
        bench.case([first, last], [224], predicted, said, query="How many does Batman's publisher have?"),
        first,
        last,
    )


def test_needed_are_the_last_response_and_what_flows_on(bench):
    case, _, _ = two_hops(bench, [])
    truth, _ = analyses(case)
    assert [(need.hop, need.shown) for need in truth.needs] == [(1, "DC Comics"), (2, 224)]
    assert truth.graph.chain == "API --> API"
    assert [(flow.source, flow.target, flow.value) for flow in truth.graph.flows] == [(1, 2, "DC Comics"), (2, 0, 224)]


def test_a_hop_is_recovered_by_any_tool_in_any_order(bench):
    other = bench.made("all_of", {"n": 224})
    names = bench.made("publishers", ["Marvel Comics", "dc comics"])
    case, _, _ = two_hops(bench, [other, names])
    truth, prediction = analyses(case)
    assert [(hop.state, hop.step) for hop in recover(truth, prediction)] == [("recovered", 2), ("recovered", 1)]
    assert bench.judged(case).passed is True


def test_a_missing_fact_names_its_hop(bench):
    case, _, _ = two_hops(bench, [bench.made("count", {"count": 224}, {"publisher": "DC"})])
    stage = bench.judged(case).stages[1]
    assert stage.outcome == "fail" and stage.decided_by == "offline"
    assert stage.evidence == ({"hop": 1, "tool": "get_publisher", "missing": ["DC Comics"]},)
    assert "hop 1 (get_publisher) needs 'DC Comics'" in stage.reason


def test_a_needed_number_may_be_the_length_of_a_list(bench):
    truth = bench.made("count", {"count": 3})
    listed = bench.made("names", {"names": ["a", "b", "c"]})
    case = bench.case([truth], [3], [listed], "3")
    assert bench.judged(case).passed is True


def test_a_handle_passed_on_is_no_flow_of_values(bench):
    table = bench.rows(("name",), (("Ann",), ("Bo",)))
    filtered = bench.made("filter_data", table, {"data_label": "retrieved_1"}, handle="filtered_1")
    counted = bench.made("aggregate_data", "2", {"data_label": "filtered_1"})
    case = bench.case([filtered, counted], [2], [], "2", capability=1)
    truth, _ = analyses(case)
    assert [(flow.source, flow.target, flow.kind) for flow in truth.graph.flows if flow.target == 2] == [
        (1, 2, "handle")
    ]
    assert {(need.hop, need.shown) for need in truth.needs} == {(1, 2), (2, 2)}


def test_of_a_table_the_columns_are_needed_whatever_their_names(bench):
    wanted = bench.made("retrieve_data", bench.rows(("name",), (("a",), ("b",), ("c",), ("d",))))
    wider = bench.made("filter_data", bench.rows(("x", "y"), (("d", 1), ("c", 2), ("b", 3), ("a", 4))))
    other = bench.made("filter_data", bench.rows(("x",), (("a",), ("b",), ("c",), ("e",))))
    assert bench.judged(bench.case([wanted], ["a"], [wider], "a", capability=1)).stages[1].outcome == "pass"
    stage = bench.judged(bench.case([wanted], ["a"], [other], "a", capability=1)).stages[1]
    assert stage.outcome == "fail" and "all values of column name" in stage.reason


def test_columns_of_floats_are_equal_within_the_tolerance(bench):
    one = bench.rows(("x",), ((0.1 + 0.2,), (1.0,), (None,)))
    two = bench.rows(("x",), ((1,), (None,), (0.3,)))
    far = bench.rows(("x",), ((1,), (None,), (0.30001,)))
    truth = bench.made("retrieve_data", one)
    assert bench.judged(bench.case([truth], [1], [bench.made("a", two)], "1", capability=1)).stages[1].outcome == "pass"
    assert bench.judged(bench.case([truth], [1], [bench.made("a", far)], "1", capability=1)).stages[1].outcome == "fail"


def passages(*texts):
    return {"results": [{"id": str(n), "text": text} for n, text in enumerate(texts)]}


def test_of_a_retrieval_any_passage_with_the_needed_value_will_do(bench):
    truth = bench.made("query_superhero", passages("Hellboy was made by Mike Mignola.", "Off the point."))
    good = bench.made("query_superhero", passages("MIKE MIGNOLA drew it."), {"question": "other words"})
    bad = bench.made("query_superhero", passages("Mike Mignolas drew it."))
    assert bench.judged(bench.case([truth], ["Mike Mignola"], [good], "Mike Mignola", capability=4)).passed is True
    verdict = bench.judged(bench.case([truth], ["Mike Mignola"], [bad], "Mike Mignola", capability=4))
    assert verdict.failed_stage == "tool_sequence" and "a passage with 'Mike Mignola'" in verdict.stages[1].reason


def test_a_retrieval_of_which_no_passage_holds_a_used_value_is_undecided(bench):
    truth = bench.made("query_superhero", passages("Nothing of use."))
    other = bench.made("query_superhero", passages("Something else."))
    case = bench.case([truth], ["I cannot answer."], [other], "I cannot answer.", capability=4)
    verdict = bench.judged(case)
    assert verdict.passed is None and verdict.stages[1].outcome == "undecided"


def test_a_value_flows_from_a_passage_into_an_argument(bench):
    first = bench.made(
        "query_superhero", passages("Spider-Man was introduced in 1962."), {"question": "Who came in 1962?"}
    )
    last = bench.made("get_eyes", {"eyes": "Hazel"}, {"name": "Spider-Man"})
    truth, _ = analyses(bench.case([first, last], ["Hazel"], [], "", capability=4, query="Which eyes?"))
    assert [(need.kind, need.shown) for need in truth.needs] == [("passage", "Spider-Man"), ("value", "Hazel")]
    assert truth.graph.chain == "RAG --> API"


def test_an_empty_result_is_matched_by_another_empty_result_only(bench):
    truth = bench.made("names", {"names": []})
    assert bench.judged(bench.case([truth], ["x"], [bench.made("b", [])], "x")).stages[1].outcome == "pass"
    assert bench.judged(bench.case([truth], ["x"], [bench.made("b", {"n": 0})], "x")).stages[1].outcome == "fail"


def test_get_data_of_other_capabilities_counts_for_nothing(bench):
    neutral = bench.made("get_data", {"domain": "superhero", "tools": 5})
    truth = bench.made("count", {"count": 5})
    verdict = bench.judged(bench.case([truth], [5], [neutral], "5"))
    assert verdict.failed_stage == "tool_sequence" and verdict.stages[1].reason == "no call was made"


# --- alignment -------------------------------------------------------------------------------------------------------


def aligned(bench, wanted, given, tools=(COUNT,)):
    case = bench.case(
        [bench.made("count", 1, arguments) for arguments in wanted],
        [1],
        [bench.made("count", 2, arguments) for arguments in given],
        "2",
        tools=tools,
    )
    truth, prediction = analyses(case)
    return align(truth.calls, prediction.calls, case.tools), bench.judged(case)


@pytest.mark.parametrize(
    ("given", "sieve"),
    [
        ({"publisher": "DC"}, "answer"),
        ({"publisher": "DC", "limit": -1}, "answer"),
        ({"publisher": "DC", "limit": 3}, "argument_values"),
        ({"publisher": "dc"}, "argument_values"),
        ({}, "argument_names"),
        ({"name": "DC"}, "argument_names"),
        ({"publisher": "DC", "invented": 1}, "argument_names"),
    ],
)
def test_arguments_are_compared_names_first_then_values(bench, given, sieve):
    _, verdict = aligned(bench, [{"publisher": "DC"}], [given])
    assert verdict.sieve == sieve


def test_an_argument_that_is_no_number_is_as_the_reference_wrote_it(bench):
    nan = {"publisher": "DC", "limit": [float("nan"), 1]}
    alignment, _ = aligned(bench, [nan], [{"publisher": "DC", "limit": [float("nan"), 1.0]}])
    assert [pair.level for pair in alignment.pairs] == ["same"]
    alignment, _ = aligned(bench, [nan], [{"publisher": "DC", "limit": [2, 1]}])
    assert [pair.level for pair in alignment.pairs] == ["argument_values"]


def test_an_argument_that_the_ground_truth_gives_is_missed(bench):
    _, verdict = aligned(bench, [{"publisher": "DC", "limit": 3}], [{"publisher": "DC"}])
    assert verdict.sieve == "argument_names"


def test_the_best_of_several_calls_stands_for_a_ground_truth_call(bench):
    alignment, verdict = aligned(
        bench,
        [{"publisher": "DC"}, {"publisher": "Marvel"}],
        [{}, {"publisher": "Marvel"}, {"publisher": "x"}, {"publisher": "DC"}],
    )
    assert [pair.predicted.number for pair in alignment.pairs] == [4, 2]
    assert [made.number for made in alignment.extra] == [1, 3]
    assert verdict.sieve == "answer"


def test_fewer_calls_of_a_tool_are_a_wrong_selection(bench):
    alignment, verdict = aligned(bench, [{"publisher": "DC"}] * 3, [{"publisher": "DC"}])
    assert alignment.lacking == {"count": 2} and verdict.sieve == "tool_selection"


def test_handles_are_compared_by_the_tables_behind_them(bench):
    rows, same, other = (bench.rows(("a",), ((value,), (2,))) for value in (1, 1, 3))
    truth = [bench.made("filter_data", rows, {"v": 1}, handle="f_1"), bench.made("sum", 3, {"data_label": "f_1"})]

    def sieve(table):
        given = [bench.made("filter_data", table, {"v": 1}, handle="f_9"), bench.made("sum", 4, {"data_label": "f_9"})]
        return bench.judged(bench.case(truth, [3], given, "4", capability=1)).sieve

    assert sieve(same) == "answer"
    assert sieve(other) == "argument_values"


def test_the_question_of_a_retriever_is_not_compared_but_its_other_arguments_are(bench):
    def sieve(arguments):
        truth = bench.made("query_superhero", passages("Ann."), {"question": "Who?", "n_results": 3})
        given = bench.made("query_superhero", passages("Bo."), arguments)
        return bench.judged(bench.case([truth], ["Ann"], [given], "Bo", capability=4)).sieve

    assert sieve({"question": "In other words?", "n_results": 3}) == "answer"
    assert sieve({"question": "Who?", "n_results": 5}) == "argument_values"


def test_the_handles_before_a_call_are_those_of_the_calls_before_it(bench):
    names = ["f_1", None, "f_2", "f_1", "f_3"]
    given = [bench.made("filter_data", 1, {"v": n}, handle=name) for n, name in enumerate(names)]
    _, prediction = analyses(bench.case([], [1], given, "4", capability=1))
    known: dict[str, int] = {}
    for (made, handles), name in zip(handles_of(prediction.calls), names, strict=True):
        assert {handle: maker.number for handle, maker in handles.items()} == known
        assert len(handles) == len(known) and handles.get("f_9") is None and "f_9" not in handles
        if name is not None:
            known[name] = made.number


# --- provenance ------------------------------------------------------------------------------------------------------


def trajectory(*calls, query="How many heroes does Marvel Comics have?", context=()):
    turns = tuple(Turn(turn_id=n, query=q, answer=a) for n, (q, a) in enumerate(context))
    instance = Instance(uuid="u", capability=2, domain="superhero", turns=(*turns, Turn(turn_id=9, query=query)))
    steps = tuple(
        Step(
            actor="recording",
            decision=CallTool(call=ToolCall(name=name, arguments=arguments)),
            result=ToolResult(text=text, handle=handle),
        )
        for name, arguments, text, handle in calls
    )
    return Trajectory(instance=instance, steps=steps)


def seen(past, tools=(), **arguments):
    return [
        (origin.seen, origin.step if origin.turn is None else origin.turn)
        for origin in origins(past, ToolCall(name="count", arguments=arguments), tools)
    ]


def test_an_argument_is_traced_to_where_it_was_first_seen():
    past = trajectory(
        ("a", {}, '{"name": "Hellboy", "id": 77}', None),
        (
            "b",
            {},
            '{"handle": "filtered_1", "num_records": 5, "key_details": [{"name": "hero_id", "first_3_values": [8]}]}',
            "filtered_1",
        ),
        context=[("Who is Thor?", ["A god of 1962"])],
    )
    assert seen(past, name="marvel comics") == [("query", None)]
    assert seen(past, name="Thor") == [("context", 1)]
    assert seen(past, name="A god of 1962") == [("context", 1)]
    assert seen(past, name="Hellboy", id=77) == [("response", 1), ("response", 1)]
    assert seen(past, data_label="filtered_1") == [("handle", 2)]
    assert seen(past, key_name="hero_id", value=8, n=5) == [("response", 2)] * 3
    assert seen(past, name="Bob", n=12345) == [("nowhere", None)] * 2
    assert ungrounded(past, ToolCall(name="count", arguments={"name": "Bob", "id": 77})) == ("name = 'Bob'",)


def places(past, tools=(), **arguments):
    """Of the first argument: the places of its value, the most plausible first."""
    origin = origins(past, ToolCall(name="count", arguments=arguments), tools)[0]
    return [(each.seen, each.step if each.turn is None else each.turn) for each in (origin, *origin.others)]


def peek(handle, **columns):
    details = [{"name": name, "first_3_values": values} for name, values in columns.items()]
    return json.dumps({"handle": handle, "num_records": 18, "key_details": details})


def test_the_latest_response_that_gives_a_value_is_its_source_and_the_others_are_told():
    past = trajectory(
        ("a", {}, '{"name": "Hellboy"}', None),
        ("b", {}, '{"name": "Hellboy", "id": 77}', None),
        ("c", {}, "Hellboy is a hero.", None),
    )
    assert places(past, name="Hellboy") == [("response", 2), ("response", 1)]


def test_a_call_that_was_given_a_value_only_repeats_it():
    past = trajectory(
        ("a", {}, '{"name": "Hellboy"}', None),
        ("b", {"name": "Hellboy"}, '{"name": "Hellboy", "id": 77}', None),
    )
    assert places(past, name="Hellboy") == [("response", 1)]
    made_up = trajectory(("b", {"name": "Zed"}, '{"name": "Zed"}', None))
    assert places(made_up, name="Zed") == [("response", 1)], "the only place there is"


def test_a_short_number_comes_from_the_response_that_tells_it_and_not_from_a_large_one():
    large = peek("opened", **{f"column_{n}": [n, n + 1, n + 2] for n in range(20)})
    past = trajectory(
        ("get", {}, large, "opened"),
        ("count", {}, "18", None),
        ("get", {}, peek("sorted", **{f"column_{n}": [n, 18, n] for n in range(20)}), "sorted"),
        query="What of the 18?",
    )
    assert places(past, value=18) == [("response", 2), ("query", None), ("response", 3), ("response", 1)]
    assert places(past, value=21) == [("response", 1)]


def test_a_column_is_named_by_the_table_that_the_call_works_on():
    past = trajectory(
        ("get", {}, peek("opened", hero_id=[1]), "opened"),
        ("sort", {}, peek("sorted", hero_id=[1]), "sorted"),
    )
    assert places(past, key_name="hero_id", data_label="opened")[0] == ("response", 1)
    assert places(past, key_name="hero_id", data_label="sorted")[0] == ("response", 2)
    assert places(past, key_name="hero_id") == [("response", 2), ("response", 1)]


def test_the_dialogue_comes_before_the_responses_and_of_its_turns_the_nearest():
    past = trajectory(
        ("a", {}, '{"name": "Thor"}', None),
        query="And Thor?",
        context=[("Who is Thor?", ["A god"]), ("Is Thor a god?", ["yes"])],
    )
    assert places(past, name="Thor") == [("query", None), ("context", 2), ("context", 1), ("response", 1)]


def test_a_small_number_that_nobody_showed_is_no_sign_of_anything():
    past = trajectory(query="Which heroes are there?")
    assert seen(past, limit=3, position=1, id=77) == [("schema", None), ("schema", None), ("nowhere", None)]
    assert ungrounded(past, ToolCall(name="count", arguments={"limit": 3})) == ()


def test_what_the_schema_names_needs_no_origin():
    assert seen(trajectory(), (COUNT,), limit=-1, on=True, off=None) == [("schema", None)] * 3


def test_a_question_in_own_words_is_traced_by_its_names():
    past = trajectory(("a", {}, '{"publisher": "Dark Horse Comics"}', None), query="Who started it?")
    assert seen(past, question="By whom was Dark Horse Comics founded?")[0][0] == "response"
    assert seen(past, question="Who invented penicillin first?")[0][0] == "nowhere"
    assert seen(past, question="By whom was Krypton Comics founded?")[0][0] == "nowhere"


def test_failed_responses_and_later_ones_are_no_origin():
    past = trajectory(("a", {"name": "Zed"}, '{"x": "Zed"}', None))
    assert origins_by_step(past)[0][0].seen == "nowhere"


def test_analysis_of_a_trajectory_without_calls(bench):
    case = bench.case([], [1], [], "")
    prediction = analyse_prediction(case.prediction)
    assert not prediction.succeeded and prediction.graph.hops == ()


@pytest.mark.parametrize("name", ["task_3_superhero_count", "count_v1_superhero_count_get"])
def test_spellings_of_one_tool_are_one_tool(bench, name):
    truth, predicted = bench.made("count", 1, {"publisher": "DC"}), bench.made(name, 2, {"publisher": "DC"})
    assert bench.judged(bench.case([truth], [1], [predicted], "2", tools=(COUNT,))).sieve == "answer"
    assert bench.judged(bench.case([predicted], [2], [truth], "1", tools=(COUNT,))).sieve == "answer"
