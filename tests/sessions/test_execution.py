"""Executing a side: openings, coercion, tables, what is never dispatched, what has no answer."""

from __future__ import annotations

import pytest
from counting import CountingEnvironment, CountingSession, make_instance

from sessions.drivers import GroundTruthDriver, RecordingDriver
from sessions.execution import execute
from sessions.trajectory import Answer, CallTool, GiveUp
from toolenv.errors import DataError, EnvironmentFailure, NotRecorded
from toolenv.model import GroundTruth, GroundTruthTurn, Instance, Json, Prediction, ToolCall


def call(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)


def prediction(*calls: ToolCall, answer: str = "done", **more: Json) -> Prediction:
    return Prediction(uuid="u-1", domain="counting", query="q", answer=answer, calls=calls, **more)


def with_truth(instance: Instance, *calls: ToolCall, answer: Json = 3) -> Instance:
    turn = GroundTruthTurn(turn_id=0, query=instance.query, answer=answer, calls=calls)
    return Instance(
        uuid=instance.uuid,
        capability=instance.capability,
        domain=instance.domain,
        turns=instance.turns,
        universe_id=instance.universe_id,
        ground_truth=GroundTruth(turns=(turn,)),
    )


OPENING = call("get_data", tool_universe_id="universe-1")


async def test_a_recording_is_executed_in_order_and_its_answer_kept() -> None:
    environment = CountingEnvironment()
    done = await execute(make_instance(), RecordingDriver(prediction(call("add", amount=2), call("read"))), environment)
    texts = [step.result.text for step in done.trajectory.steps if step.result is not None]
    assert texts == ['{"count": 2}', '{"count": 2}']
    assert done.trajectory.answer == "done"
    assert {step.actor for step in done.trajectory.steps} == {"recording"}
    assert environment.sessions[0].closed


async def test_a_session_that_is_handed_in_stays_open() -> None:
    session = CountingSession()
    await execute(make_instance(), RecordingDriver(prediction(call("read"))), session)
    assert not session.closed


async def test_capability_1_is_opened_by_the_stepper() -> None:
    environment = CountingEnvironment()
    done = await execute(make_instance(1), RecordingDriver(prediction(call("read"))), environment)
    first, second, _ = done.trajectory.steps
    assert (first.actor, first.opening, second.opening) == ("stepper", True, False)
    assert environment.sessions[0].opened == "universe-1"
    assert done.tables[0] is not None and done.tables[0].num_records == 3
    assert done.tables[1:] == (None, None)


async def test_a_side_that_opens_itself_is_opened_once() -> None:
    environment = CountingEnvironment()
    done = await execute(make_instance(1), RecordingDriver(prediction(OPENING, call("read"))), environment)
    assert [step.opening for step in done.trajectory.steps] == [True, False, False]
    assert done.trajectory.steps[0].actor == "recording"
    assert [name for name, _ in environment.sessions[0].calls] == ["get_data", "read"]


async def test_a_get_data_of_something_else_is_no_opening() -> None:
    environment = CountingEnvironment()
    other = call("get_data", tool_universe_id="universe-2")
    done = await execute(make_instance(1), RecordingDriver(prediction(other)), environment)
    assert [step.opening for step in done.trajectory.steps] == [True, False, False]
    assert len(environment.sessions[0].calls) == 2


async def test_ground_truth_in_the_older_style_is_opened_with_get_data() -> None:
    older = call("initialize_active_data", database_path="/etc/passwd")
    instance = with_truth(make_instance(1), older, call("read"), answer=[["a", 1], ["b", 2.5]])
    environment = CountingEnvironment()
    done = await execute(instance, GroundTruthDriver(instance), environment)
    assert environment.sessions[0].calls == [("get_data", {"tool_universe_id": "universe-1"}), ("read", {})]
    assert done.trajectory.steps[0].opening
    assert done.trajectory.answer == "a, 1, b, 2.5"


def test_no_ground_truth_is_said_so() -> None:
    with pytest.raises(DataError, match="u-1 has no ground truth"):
        GroundTruthDriver(make_instance())


async def test_arguments_are_coerced_and_kept_as_written() -> None:
    environment = CountingEnvironment()
    done = await execute(make_instance(), RecordingDriver(prediction(call("add", amount="100"))), environment)
    step = done.trajectory.steps[0]
    assert isinstance(step.decision, CallTool)
    assert step.decision.call.arguments == {"amount": "100"}
    assert step.executed_arguments == {"amount": 100}
    assert environment.sessions[0].calls == [("add", {"amount": 100})]


async def test_coercion_can_be_left_out() -> None:
    environment = CountingEnvironment()
    driver = RecordingDriver(prediction(call("make_table", size=2)))
    done = await execute(make_instance(), driver, environment, coerce=False)
    assert done.trajectory.steps[0].executed_arguments is None


@pytest.mark.parametrize("raw", ["[1, 2]", '{"amount": ', "", "null", '"x"'])
async def test_arguments_that_are_no_object_are_never_dispatched(raw: str) -> None:
    environment = CountingEnvironment()
    broken = ToolCall(name="add", arguments={}, raw_arguments=raw)
    done = await execute(make_instance(), RecordingDriver(prediction(broken, call("read"))), environment)
    result = done.trajectory.steps[0].result
    assert result is not None and result.failed and result.is_error and result.error_kind == "refused_arguments"
    assert [name for name, _ in environment.sessions[0].calls] == ["read"]
    assert isinstance(done.trajectory.steps[-1].decision, Answer)


async def test_an_unknown_tool_is_a_result_and_the_run_goes_on() -> None:
    done = await execute(
        make_instance(), RecordingDriver(prediction(call("raed"), call("read"))), CountingEnvironment()
    )
    first, second, _ = done.trajectory.steps
    assert first.result is not None and first.result.error_kind == "unknown_tool"
    assert isinstance(first.decision, CallTool) and first.decision.call.name == "raed"
    assert second.result is not None and not second.result.failed


@pytest.mark.parametrize(("name", "error"), [("outage", EnvironmentFailure), ("unrecorded", NotRecorded)])
async def test_no_answer_is_an_error_for_the_batch(name: str, error: type[Exception]) -> None:
    environment = CountingEnvironment()
    with pytest.raises(error):
        await execute(make_instance(), RecordingDriver(prediction(call(name))), environment)
    assert environment.sessions[0].closed


async def test_a_deadline_names_tool_arguments_and_time() -> None:
    with pytest.raises(EnvironmentFailure, match=r"Step 2, hang\(\): no answer after .* s \(the limit is 0.01 s\)"):
        driver = RecordingDriver(prediction(call("read"), call("hang")))
        await execute(make_instance(), driver, CountingEnvironment(), deadline_s=0.01)


async def test_a_prediction_that_broke_off_gives_up_with_the_runners_error() -> None:
    broken = prediction(call("read"), answer="", status="error", error="rate limit")
    done = await execute(make_instance(), RecordingDriver(broken), CountingEnvironment())
    assert done.trajectory.steps[-1].decision == GiveUp(reason="rate limit")
    assert done.trajectory.answer is None


async def test_labels_of_the_older_style_are_the_handles_of_this_very_session() -> None:
    calls = (
        ToolCall(name="initialize_active_data", arguments={}, label="starting_table_var"),
        ToolCall(name="make_table", arguments={"size": 5}, label="FILTERED_DF_0"),
        ToolCall(name="total", arguments={"handle": "$FILTERED_DF_0.data_path$"}, label="AGG_0"),
        ToolCall(name="total", arguments={"handle": "$starting_table_var.data_path$"}),
    )
    instance = with_truth(make_instance(1), *calls)
    done = await execute(instance, GroundTruthDriver(instance), CountingEnvironment())
    assert [step.result.text for step in done.trajectory.steps[2:4] if step.result] == ["10", "3"]
