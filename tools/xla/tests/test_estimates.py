"""Trial compiles get the estimates of the same instructions in the same memories."""

from __future__ import annotations

import re

import pytest

from mallocmuzero_xla.compiler.estimates import Estimates, matching

MODULE = """HloModule m, is_scheduled=true

%fused (p.1: f32[8], p.2: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0:T(256)} parameter(0)
  %p.2 = f32[8]{0:T(256)} parameter(1)
  ROOT %add.3 = f32[8]{0:T(256)} add(%p.1, %p.2), metadata={op_name="a"}
}

%same_with_other_names (q: f32[8], r: f32[8]) -> f32[8] {
  %q = f32[8]{0:T(256)} parameter(0)
  %r = f32[8]{0:T(256)} parameter(1)
  ROOT %sum = f32[8]{0:T(256)} add(%q, %r)
}

%body (s: (f32[8])) -> (f32[8]) {
  %s = (f32[8]{0:T(256)}) parameter(0)
  %e = f32[8]{0:T(256)S(1)} get-tuple-element(%s), index=0
  %in_loop = f32[8]{0:T(256)} fusion(%e, %e), calls=%fused, backend_config={IN_LOOP}
  ROOT %t = (f32[8]{0:T(256)}) tuple(%in_loop)
}

ENTRY %main (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0:T(256)} parameter(0)
  %b = f32[8]{0:T(256)} parameter(1)
  %first = f32[8]{0:T(256)S(1)} fusion(%a, %b), calls=%fused, backend_config={FIRST}
  %second = f32[8]{0:T(256)} fusion(%first, /*index=1*/%b), calls=%CALLED, backend_config={SECOND}
  %loop = (f32[8]{0:T(256)}) while(%second), condition=%body, body=%body
  ROOT %out = f32[8]{0:T(256)} get-tuple-element(%loop), index=0
}
"""


def estimate(cycles: int) -> str:
    return f'"window_config":{{"estimated_cycles":"{cycles}","is_mask":false}},"rest":[]'


def module(first: str = "", second: str = "", in_loop: str = "", called: str = "fused") -> str:
    text = MODULE.replace("IN_LOOP", in_loop).replace("FIRST", first).replace("SECOND", second)
    return text.replace("CALLED", called)


@pytest.fixture
def estimates() -> Estimates:
    found = Estimates()
    found.learn(module(estimate(10), estimate(20), estimate(30)))
    return found


def found_in(text: str) -> list[int]:
    return [int(cycles) for cycles in re.findall(r'"estimated_cycles":"(\d+)"', text)]


def test_a_text_of_the_same_placement_gets_all_estimates(estimates: Estimates) -> None:
    filled = estimates.fill(module('"rest":[]', '"rest":[]'))
    assert found_in(filled.text) == [30, 10, 20]
    assert filled.guessed == ()
    assert '{"window_config":{"estimated_cycles":"10"},"rest":[]}' in filled.text
    assert '{"window_config":{"estimated_cycles":"30"}}' in filled.text


def test_names_order_and_metadata_do_not_matter(estimates: Estimates) -> None:
    text = module(called="same_with_other_names").replace("%second", "%renamed.7")
    filled = estimates.fill(text.replace(', metadata={op_name="a"}', ""))
    assert filled.guessed == ()
    assert found_in(filled.text) == [30, 10, 20]


def test_the_order_of_instructions_inside_does_not_matter(estimates: Estimates) -> None:
    lines = {
        "p": "  %p = f32[8]{0} parameter(0)",
        "q": "  %q = f32[8]{0} parameter(1)",
    }
    texts = [
        "%sum {\n"
        + "\n".join(lines[name] for name in order)
        + "\n  ROOT %r = f32[8]{0} subtract(%p, %q)\n}\n\n"
        + "ENTRY %main {\n  %a = f32[8]{0} parameter(0)\n"
        + "  ROOT %x = f32[8]{0} fusion(%a, %a), kind=kLoop, calls=%sum, "
        + f"backend_config={{{estimate(cycles)}}}\n}}"
        for order, cycles in (("pq", 10), ("qp", 10))
    ]
    estimates.learn(texts[0])
    assert estimates.compare(texts[1]) == (1, 0)
    # The roles of the operands do matter.
    swapped = texts[1].replace("subtract(%p, %q)", "subtract(%q, %p)")
    assert estimates.compare(swapped) == (0, 0)


def test_what_is_alone_in_a_module_is_known_by_its_memories(estimates: Estimates) -> None:
    alone = (
        "%f {\n  %p = f32[8]{0} parameter(0)\n  ROOT %r = f32[8]{0} tanh(%p)\n}\n\n"
        "ENTRY %main {\n  %a = f32[8]{0} parameter(0)\n"
        "  ROOT %ISOLATED__ = f32[8]{0} fusion(%a), kind=kLoop, calls=%f\n}"
    )
    elsewhere = alone.replace("%ISOLATED__ = f32[8]{0}", "%ISOLATED__ = f32[8]{0:S(1)}")
    assert not estimates.knows_alone(alone)
    estimates.learn_alone(alone, 7)
    assert estimates.knows_alone(alone)
    assert not estimates.knows_alone(elsewhere)
    filled = estimates.fill(alone.replace("ISOLATED__", "fusion.3"))
    assert found_in(filled.text) == [7]
    # The whole compile had to take other tiles.
    estimates.learn(alone.replace("calls=%f", f"calls=%f, backend_config={{{estimate(9)}}}"))
    assert found_in(estimates.fill(alone).text) == [9]
    assert matching(alone.replace("ISOLATED__", "fusion.3"), [alone, elsewhere]) == [True, False]


def test_another_memory_of_an_operand_is_a_guess_from_the_nearest(estimates: Estimates) -> None:
    text = module().replace("%second = f32[8]{0:T(256)}", "%second = f32[8]{0:T(256)S(1)}")
    filled = estimates.fill(text)
    # It differs from %first and from the old %second in one shape each, from %in_loop in two.
    assert filled.guessed == ("second",)
    assert found_in(filled.text) == [30, 10, 10]


def test_another_computation_is_a_guess_by_its_name(estimates: Estimates) -> None:
    text = module(called="same_with_other_names").replace("add(%q", "max(%q")
    filled = estimates.fill(text)
    assert filled.guessed == ("second",)
    assert found_in(filled.text) == [30, 10, 20]
    filled = estimates.fill(text.replace("%second", "%renamed.7"))
    assert filled.guessed == ("renamed.7",)
    assert found_in(filled.text) == [30, 10]


def as_the_binary_prints(text: str) -> str:
    """Returns the text without signatures of computations; see compile --text."""
    return re.sub(r"^((?:ENTRY )?%\S+) \(.*\{$", r"\1 {", text, flags=re.MULTILINE)


def test_texts_that_the_binary_prints_have_the_same_estimates(estimates: Estimates) -> None:
    printed = as_the_binary_prints(module(estimate(10), estimate(20), estimate(30)))
    assert "ENTRY %main {" in printed
    assert estimates.compare(printed) == (3, 0)
    # The compiler's own dump, of a trial compile, also has attributes that the binary leaves out.
    learnt = Estimates()
    learnt.learn(printed)
    dump = module().replace("parameter(0)", "parameter(0), sharding={replicated}")
    dump = dump.replace("calls=%fused", 'calls=%fused, frontend_attributes={a="b"}')
    filled = learnt.fill(dump)
    assert filled.guessed == ()
    assert found_in(filled.text) == [30, 10, 20]


def test_ends_of_asynchronous_instructions_have_one_name(estimates: Estimates) -> None:
    estimates.learn("ENTRY %main {\n  %done = f32[8] async-done(%start)\n}")
    filled = estimates.fill("ENTRY %main {\n  %done = f32[8] dynamic-slice-done(%start)\n}")
    assert filled.guessed == ()


def test_compare_counts_the_known_and_the_different(estimates: Estimates) -> None:
    assert estimates.compare(module(estimate(10), estimate(20), estimate(30))) == (3, 0)
    assert estimates.compare(module(estimate(10), estimate(21), estimate(30))) == (3, 1)
    moved = module(estimate(10), estimate(21), estimate(30))
    moved = moved.replace("%first = f32[8]{0:T(256)S(1)}", "%first = f32[8]{0:T(256)}")
    assert estimates.compare(moved)[0] < 3
