"""What asks for the same thing in another order stays in one split."""

from __future__ import annotations

from toolenv.build.families import families, signature

ONE = "select count(*) from person as t1 join enlisted as t2 on t1.name = t2.name where t2.organ = :organ"
TURNED = "select count(*) from enlisted as t1 join person as t2 on t1.name = t2.name where t1.organ = :organ"
OTHER = "select count(*) from person as t1 where t1.name = :name"


def test_the_order_of_tables_is_no_difference() -> None:
    assert signature(ONE) == signature(TURNED)
    assert signature(ONE) != signature(OTHER)


def test_names_in_the_response_and_joined_columns_are_no_difference() -> None:
    named = ONE.replace("count(*)", "count(t1.name) as number")
    assert signature(named) == signature(TURNED.replace("count(*)", "count(t1.name)"))


def test_other_conditions_are_a_difference() -> None:
    assert signature(ONE) != signature(ONE.replace("t2.organ =", "t2.organ <>"))


def test_templates_of_one_question_are_one_family() -> None:
    found = families([("how many?", ONE), ("how many?", OTHER), ("which?", "select a from b as t1")])
    assert found[signature(ONE)] == found[signature(OTHER)]
    assert found[signature("select a from b as t1")] == "select a from b as t1"


def test_families_do_not_depend_on_the_order_of_questions() -> None:
    asked = [("a", ONE), ("b", OTHER), ("a", OTHER), ("c", "select a from b as t1")]
    assert families(asked) == families(asked[::-1])
